import { STOP_WORDS } from "../../search/stop-words.ts";

/** A word to search for; `whole` is false where any word that begins so will do. */
export interface SearchWord {
  readonly word: string;
  readonly whole: boolean;
}

/** More words do not make a search better, only slower. */
const WORDS_MAX = 64;

/** The words to search for; empty when the query has none. */
export function searchWords(query: string): SearchWord[] {
  const normal = query.normalize("NFKC");
  const spaced = normal.replace(UNSPACED, " ").toLowerCase().match(WORD) ?? [];
  const unspaced = (normal.match(UNSPACED) ?? []).flatMap((run) =>
    [...run].length === 1 ? [{ word: run, whole: false }] : pairs(run).slice(0, -1).map(wholeWord),
  );
  const telling = spaced.filter((word) => !STOP_WORDS.has(word));
  const useful = telling.length + unspaced.length > 0 ? telling : spaced;
  const byWord = [...useful.map(wholeWord), ...unspaced].map((item) => [item.word, item] as const);
  return [...new Map(byWord).values()].slice(0, WORDS_MAX);
}

/** All words of a text, in lower case. */
export function wordsOf(text: string): string[] {
  return spacedText(text).toLowerCase().match(WORD) ?? [];
}

/**
 * The text in a form that an index can split at whatever is not a letter, a mark or a digit.
 *
 *     userName    userName user Name
 *     東京都に      東京 京都 都に に
 *
 * Where a script puts no spaces between words, each pair of characters is a
 * word, and so is the last character, which begins no pair: a single character
 * is found as the beginning of a word.
 *
 * The index of a store depends on it: whoever changes what it returns adds a
 * migration that indexes the log again.
 */
export function spacedText(text: string): string {
  const withParts = HUMP.test(text) ? text.replace(WORD, wordAndParts) : text;
  if (ASCII.test(withParts)) return withParts;
  return withParts.normalize("NFKC").replace(UNSPACED, (run) => ` ${pairs(run).join(" ")} `);
}

const WORD = /[\p{L}\p{M}\p{N}\p{Co}]+/gu;
const HUMP = /\p{Ll}\p{Lu}/u;
const BETWEEN_HUMPS = /(?<=\p{Ll})(?=\p{Lu})/gu;
const UNSPACED =
  /[[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]&&[\p{L}\p{M}\p{N}]]+/gv;
const ASCII = /^[\0-\x7f]*$/;

/** Longer ones are data, not names. */
const NAME_LENGTH_MAX = 100;

function wordAndParts(word: string): string {
  if (word.length > NAME_LENGTH_MAX || !HUMP.test(word)) return word;
  return `${word} ${word.replace(BETWEEN_HUMPS, " ")}`;
}

function pairs(run: string): string[] {
  const characters = [...run];
  return characters.map((character, index) => character + (characters[index + 1] ?? ""));
}

function wholeWord(word: string): SearchWord {
  return { word, whole: true };
}
