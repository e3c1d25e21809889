import {
  CharacterKinds,
  codesOf,
  isAscii,
  NOTHING,
  textOf,
  unicodePattern,
} from "./character-kinds.ts";

/**
 * The text with every hidden character shown: `rm -rf <U+202E>`. Otherwise a text could read
 * differently from what it says, for example backwards.
 *
 * Characters that join or style an emoji stay, and so do those that join letters in Arabic and
 * Indic scripts.
 */
export function visibleText(text: string): string {
  if (isAscii(text)) return text;
  const kinds = KINDS.of(text);
  let shown = "";
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const kind = kinds[at] as number;
    if ((kind & HIDDEN) === 0 || mayStay(kind, kinds, at)) continue;
    const point = text.codePointAt(at) as number;
    if (from < at) shown += text.slice(from, at);
    shown += codeOf(point);
    if (point > 0xffff) at += 1;
    from = at + 1;
  }
  return from === 0 ? text : shown + text.slice(from);
}

/** The same for a call: other spaces than the usual ones are shown too, because a shell takes them for letters. */
export function visibleCall(text: string): string {
  return visibleText(text.replace(/(?![ \u3000])\p{Zs}/gu, visibleCode));
}

/** A character by its number: `<U+202E>`. */
export function visibleCode(character: string): string {
  return codeOf(character.codePointAt(0) ?? 0);
}

/** Whether a text has no control characters and no hidden ones. */
export function isPlain(text: string): boolean {
  return !/\p{Cc}/u.test(text) && visibleText(text) === text;
}

function codeOf(point: number): string {
  const known = CODES.get(point);
  if (known !== undefined) return known;
  const code = `<U+${point.toString(16).toUpperCase().padStart(4, "0")}>`;
  CODES.set(point, code);
  return code;
}

/** The codes that were asked for. There are some thousand hidden and control characters. */
const CODES = new Map<number, string>();

/** Whether a hidden character joins or styles its neighbours. */
function mayStay(kind: number, kinds: Uint8Array, at: number): boolean {
  // An emoji may also be cut at the edge of a text, because models send texts in parts.
  const before = at === 0 ? BEFORE_JOINER : (kinds[at - 1] as number);
  if ((kind & STYLE) !== 0) return (before & STYLED) !== 0;
  if ((kind & (JOINER | NON_JOINER)) === 0) return false;
  if ((before & JOINED_LETTER) !== 0) return true;
  if ((kind & JOINER) === 0 || (before & BEFORE_JOINER) === 0) return false;
  return at + 1 === kinds.length || ((kinds[at + 1] as number) & PICTURE) === PICTURE;
}

/** Flags of a character. It may have several. */
const KNOWN = 1;
const HIDDEN = 2;
/** Says whether the character before it is an emoji or a sign. */
const STYLE = 4;
/** Joins emoji or letters. */
const JOINER = 8;
/** Keeps letters apart. */
const NON_JOINER = 16;
/** A letter of a script whose letters are joined. */
const JOINED_LETTER = 32;
const STYLED = 64;
const BEFORE_JOINER = 128;
const PICTURE = STYLED | BEFORE_JOINER;

const JOINED_SCRIPTS = unicodePattern(NOTHING, {
  source: String.raw`[\p{scx=Arab}\p{scx=Beng}\p{scx=Deva}\p{scx=Gujr}\p{scx=Guru}\p{scx=Knda}\p{scx=Mlym}\p{scx=Orya}\p{scx=Sinh}\p{scx=Taml}\p{scx=Telu}]`,
  flags: "u",
});
const UNSEEN = unicodePattern(NOTHING, {
  source: String.raw`[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}\u2800\uFFF9-\uFFFB]`,
  flags: "u",
});

const KINDS = new CharacterKinds((character) => {
  const is = (pattern: RegExp, kind: number) => (pattern.test(character) ? kind : 0);
  return (
    KNOWN |
    is(UNSEEN(character), HIDDEN) |
    is(/[\uFE0E\uFE0F]/, STYLE) |
    is(/\u200D/, JOINER) |
    is(/\u200C/, NON_JOINER) |
    is(JOINED_SCRIPTS(character), JOINED_LETTER) |
    is(/[\p{Extended_Pictographic}0-9#*]/u, STYLED) |
    is(/\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F/u, BEFORE_JOINER)
  );
});

/** The replacement of each UTF-16 unit: 0 for those that stay. */
type UnitTable = Uint16Array;

/** Makes `breaks` line feeds, and each control character except tabs and line feeds `\u{FFFD}`. */
export function controlTable(breaks: string): UnitTable {
  const table = new Uint16Array(0x10000);
  table.fill(REPLACEMENT, 0, 0x20).fill(REPLACEMENT, 0x7f, 0xa0);
  for (const sign of "\t\n") table[sign.charCodeAt(0)] = 0;
  for (const sign of breaks) table[sign.charCodeAt(0)] = LINE_FEED;
  return table;
}

/** The text with its units replaced. A `\r\n` is one line feed. */
export function withoutControls(text: string, table: UnitTable): string {
  let length = 0;
  while (length < text.length && table[text.charCodeAt(length)] === 0) length += 1;
  if (length === text.length) return text;
  const codes = codesOf(text);
  let before = 0;
  for (let at = length; at < codes.length; at += 1) {
    const unit = codes[at] as number;
    if (unit === LINE_FEED && before === RETURN) length -= 1;
    const other = table[unit] as number;
    codes[length] = other === 0 ? unit : other;
    length += 1;
    before = unit;
  }
  return textOf(codes, length);
}

const LINE_FEED = "\n".charCodeAt(0);
const RETURN = "\r".charCodeAt(0);
const REPLACEMENT = 0xfffd;
