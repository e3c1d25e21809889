import { NOTHING, unicodePattern } from "../../core/unicode-pattern.ts";
import { STOP_WORDS } from "../../search/stop-words.ts";
import { NAME_LENGTH_MAX, plainWords } from "./plain-words.ts";

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
  return plainWords(text, false) ?? spaced(text);
}

/** Long tool output repeats its words, and an index takes as long for each. */
const LONG_TEXT = 4000;

/** The text that stores index: `spacedText`, and in a long one each word once. */
export function indexedText(text: string): string {
  if (text.length <= LONG_TEXT) return spacedText(text);
  return plainWords(text, true) ?? [...new Set(spaced(text).split(/\s+/))].join(" ");
}

function spaced(text: string): string {
  const withParts = HUMP(text).test(text) ? text.replace(WORD(text), wordAndParts) : text;
  return withParts
    .normalize("NFKC")
    .replace(UNSPACED(withParts), (run) => ` ${pairs(run).join(" ")} `);
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

function wordAndParts(word: string): string {
  if (word.length > NAME_LENGTH_MAX || !HUMP(word).test(word)) return word;
  return `${word} ${word.replace(BETWEEN_HUMPS(word), " ")}`;
}

function pairs(run: string): string[] {
  const characters = [...run];
  return characters.map((character, index) => character + (characters[index + 1] ?? ""));
}

function wholeWord(word: string): SearchWord {
  return { word, whole: true };
}
