import { CharacterKinds, sizeAt } from "../../core/character-kinds.ts";
import { isAscii, NOTHING, unicodePattern } from "../../core/unicode-pattern.ts";
import { hashWith } from "../../search/text-units.ts";
import { NAME_LENGTH_MAX } from "./plain-words.ts";
import { bytesFor, WordSet } from "./word-bytes.ts";

export interface JoinedWords {
  /** What is part of a word. One space takes the place of everything else. */
  readonly of: keyof typeof LEAST;
  /** Makes words of the pairs of characters in scripts without spaces: "東京都" becomes "東京 京都 都". */
  readonly pairs: boolean;
  /** Keeps only the first of equal words. */
  readonly once?: boolean;
}

/** The words of a text in any script, with one space between them. */
export function joinedWords(text: string, { of, pairs, once = false }: JoinedWords): string {
  const least = LEAST[of];
  const kinds = KINDS.of(text);
  const bytes = bytesFor(bytesMax(text));
  const known = once ? new WordSet(bytes) : undefined;
  let length = 0;
  let start = 0;
  let hash = 0;
  let wasPair = false;
  for (let at = 0; at <= text.length; at += 1) {
    const kind = at < text.length ? (kinds[at] as number) : END;
    const isPair = pairs && kind === UNSPACED_KIND;
    if (length > start && (kind < least || isPair || wasPair)) {
      length = known?.has(start, length, hash) ? start : put(bytes, length, SPACE_UNIT);
      start = length;
      hash = 0;
    }
    wasPair = isPair;
    if (kind < least) continue;
    const next = isPair ? at + sizeAt(text, at) : at + 1;
    const hasSecond = isPair && next < text.length && kinds[next] === UNSPACED_KIND;
    const end = hasSecond ? next + sizeAt(text, next) : next;
    for (let place = at; place < end; place += 1) {
      const unit = text.charCodeAt(place);
      length = put(bytes, length, unit);
      if (once) hash = hashWith(hash, unit);
    }
    at = next - 1;
  }
  return bytes.toString("utf16le", 0, Math.max(0, length - 2));
}

/** The text with the parts of each name behind it: "userName" becomes "userName user Name". */
export function withNameParts(text: string): string {
  const kinds = KINDS.of(text);
  if (!kinds.some((_, at) => isHump(kinds, at))) return text;
  const bytes = bytesFor(bytesMax(text));
  let length = 0;
  let start = 0;
  let humps = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const kind = at < text.length ? (kinds[at] as number) : END;
    if (kind >= LETTER) {
      if (isHump(kinds, at)) humps += 1;
    } else {
      const isName = humps > 0 && at - start <= NAME_LENGTH_MAX;
      for (let place = start; isName && place < at; place += 1) {
        const isPart = place === start || isHump(kinds, place);
        if (isPart) length = put(bytes, length, SPACE_UNIT);
        length = put(bytes, length, text.charCodeAt(place));
      }
      start = at + 1;
      humps = 0;
    }
    if (at < text.length) length = put(bytes, length, text.charCodeAt(at));
  }
  return bytes.toString("utf16le", 0, length);
}

/** Whether a part of a name begins here, as at the N of "userName". */
function isHump(kinds: Uint8Array, at: number): boolean {
  return kinds[at] === CAPITAL && at > 0 && kinds[at - 1] === SMALL;
}

/** Writes a UTF-16 unit and returns the place behind it. */
function put(bytes: Uint8Array, at: number, unit: number): number {
  bytes[at] = unit;
  bytes[at + 1] = unit >>> 8;
  return at + 2;
}

/** "aB" grows to "aB a B", and "東京" to "東京 京 ". */
function bytesMax(text: string): number {
  return 2 * (3 * text.length + 1);
}

const SPACE_UNIT = 32;

/** Letters, marks and digits of scripts without spaces. */
export const UNSPACED = unicodePattern(NOTHING, {
  source: String.raw`[[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]&&[\p{L}\p{M}\p{N}]]+`,
  flags: "gv",
});

/** What a character is. The numbers are in order: from `LETTER` on it is a letter, a mark or a digit. */
const END = 0;
const SPACE = 1;
const SIGN = 2;
const LETTER = 3;
const SMALL = 4;
const CAPITAL = 5;
const UNSPACED_KIND = 6;
const KINDS = new CharacterKinds((character) => {
  if (/\s/.test(character)) return SPACE;
  if (/[a-z]/.test(character)) return SMALL;
  if (/[A-Z]/.test(character)) return CAPITAL;
  if (/[0-9]/.test(character)) return LETTER;
  if (isAscii(character) || !/[\p{L}\p{M}\p{N}\p{Co}]/u.test(character)) return SIGN;
  if (character.search(UNSPACED(character)) === 0) return UNSPACED_KIND;
  if (/\p{Ll}/u.test(character)) return SMALL;
  return /\p{Lu}/u.test(character) ? CAPITAL : LETTER;
});

/** The least kind of a character that is part of a word. */
const LEAST = { everything: SPACE, signs: SIGN, letters: LETTER } as const;
