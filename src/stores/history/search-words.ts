import { CharacterKinds } from "../../core/character-kinds.ts";
import { isAscii, NOTHING, unicodePattern } from "../../core/unicode-pattern.ts";
import { STOP_WORDS } from "../../search/stop-words.ts";

/** A word to search for. With `whole: false` it is the beginning of a word. */
export interface SearchWord {
  readonly word: string;
  readonly whole: boolean;
}

/** More words make a search slower, but not better. */
const WORDS_MAX = 64;

/** The words to search for; empty when the query has none. */
export function searchWords(query: string): SearchWord[] {
  const normal = query.normalize("NFKC");
  const spaced = wordsIn(normal.replace(UNSPACED(normal), " ").toLowerCase());
  const unspaced = (normal.match(UNSPACED(normal)) ?? []).flatMap((run) =>
    [...run].length === 1 ? [{ word: run, whole: false }] : pairs(run).slice(0, -1).map(wholeWord),
  );
  const telling = spaced.filter((word) => !STOP_WORDS.has(word));
  const useful = telling.length + unspaced.length > 0 ? telling : spaced;
  const byWord = [...useful.map(wholeWord), ...unspaced].map((item) => [item.word, item] as const);
  return [...new Map(byWord).values()].slice(0, WORDS_MAX);
}

/** All words of a text, in lower case. */
export function wordsOf(text: string): string[] {
  return wordsIn(spacedText(text).toLowerCase());
}

/**
 * The text in a form for an index that splits at everything except letters, marks and digits.
 *
 *     userName    userName user Name
 *     東京都に      東京 京都 都に に
 *
 * In a script without spaces each pair of characters is a word, and the last character is one too. So
 * a search finds a single character as the beginning of a word.
 *
 * Stores index these words. After a change here they must index the log again.
 */
export function spacedText(text: string): string {
  const plain = plainSpacedText(text);
  if (plain !== undefined) return plain;
  const withParts = HUMP(text).test(text) ? text.replace(WORD(text), wordAndParts) : text;
  return withParts
    .normalize("NFKC")
    .replace(UNSPACED(withParts), (run) => ` ${pairs(run).join(" ")} `);
}

/** Long tool output repeats its words, and an index takes as long for each. */
const LONG_TEXT = 4000;

/** The text that stores index: `spacedText`, and in a long one each word once. */
export function indexedText(text: string): string {
  const spaced = spacedText(text);
  return text.length > LONG_TEXT ? [...new Set(spaced.split(/\s+/))].join(" ") : spaced;
}

function wordsIn(text: string): string[] {
  return text.match(WORD(text)) ?? [];
}

const WORD = unicodePattern(/[A-Za-z0-9]+/g, {
  source: String.raw`[\p{L}\p{M}\p{N}\p{Co}]+`,
  flags: "gu",
});
const HUMP = unicodePattern(/[a-z][A-Z]/, { source: String.raw`\p{Ll}\p{Lu}`, flags: "u" });
const BETWEEN_HUMPS = unicodePattern(/(?<=[a-z])(?=[A-Z])/g, {
  source: String.raw`(?<=\p{Ll})(?=\p{Lu})`,
  flags: "gu",
});
const UNSPACED = unicodePattern(NOTHING, {
  source: String.raw`[[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]&&[\p{L}\p{M}\p{N}]]+`,
  flags: "gv",
});

/** Longer words are data, not names. */
const NAME_LENGTH_MAX = 100;

function wordAndParts(word: string): string {
  if (word.length > NAME_LENGTH_MAX || !HUMP(word).test(word)) return word;
  return `${word} ${word.replace(BETWEEN_HUMPS(word), " ")}`;
}

/**
 * The same for a text whose letters and digits are ASCII, in one pass over its characters; nothing for other texts.
 * Signs become spaces.
 */
function plainSpacedText(text: string): string | undefined {
  // Bytes are several times as fast as pieces of strings.
  const spaced = Buffer.allocUnsafe(SPACED_MAX * text.length);
  let length = 0;
  let start = 0;
  let humps = 0;
  let before = SIGN;
  for (let at = 0; at <= text.length; at += 1) {
    const kind = at < text.length ? KINDS.at(text, at) : SIGN;
    if (kind === FOREIGN) return undefined;
    if (kind === SIGN) {
      if (humps > 0 && at - start <= NAME_LENGTH_MAX) {
        spaced[length++] = SPACE;
        for (let part = start, last = SIGN; part < at; part += 1) {
          const letter = text.charCodeAt(part);
          const next = KINDS.at(text, part);
          if (next === CAPITAL && last === SMALL) spaced[length++] = SPACE;
          spaced[length++] = letter;
          last = next;
        }
      }
      start = at + 1;
      humps = 0;
    } else if (kind === CAPITAL && before === SMALL) humps += 1;
    if (at < text.length) spaced[length++] = kind === SIGN ? SPACE : text.charCodeAt(at);
    before = kind;
  }
  return spaced.toString("latin1", 0, length);
}

/** A word like "aBaB" grows most: to itself, and itself with a space for every second letter. */
const SPACED_MAX = 3;
const SPACE = 32;

const SIGN = 1;
const DIGIT = 2;
const CAPITAL = 3;
const SMALL = 4;
/** A letter, mark or digit that is not ASCII, what becomes one, or half of a character. */
const FOREIGN = 5;
const KINDS = new CharacterKinds((character) => {
  if (/[a-z]/.test(character)) return SMALL;
  if (/[A-Z]/.test(character)) return CAPITAL;
  if (/[0-9]/.test(character)) return DIGIT;
  return isAscii(character) || /^[\p{P}\p{S}\p{Z}]+$/u.test(character.normalize("NFKC"))
    ? SIGN
    : FOREIGN;
});

function pairs(run: string): string[] {
  const characters = [...run];
  return characters.map((character, index) => character + (characters[index + 1] ?? ""));
}

function wholeWord(word: string): SearchWord {
  return { word, whole: true };
}
