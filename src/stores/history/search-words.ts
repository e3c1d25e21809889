import { STOP_WORDS } from "../../indexing/words/english.ts";
import { joinedWords, lettersIn, UNSPACED, withNameParts } from "./foreign-words.ts";
import { plainWords } from "./plain-words.ts";

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
  const spaced = lettersIn(normal.replace(UNSPACED(normal), " ").toLowerCase(), false);
  const unspaced = (normal.match(UNSPACED(normal)) ?? []).flatMap((run) =>
    [...run].length === 1 ? [{ word: run, whole: false }] : pairs(run).slice(0, -1).map(wholeWord),
  );
  const meaningful = spaced.filter((word) => !STOP_WORDS.has(word));
  const useful = meaningful.length + unspaced.length > 0 ? meaningful : spaced;
  const byWord = [...useful.map(wholeWord), ...unspaced].map((item) => [item.word, item] as const);
  return [...new Map(byWord).values()].slice(0, WORDS_MAX);
}

/** All words of a text, in lower case. */
export function wordsOf(text: string): string[] {
  const plain = plainWords(text, false);
  if (plain !== undefined) return plain === "" ? [] : plain.toLowerCase().split(" ");
  const normal = normalized(text);
  if (!normal.includes("Σ")) return lettersIn(normal.toLowerCase(), true);
  // The lower case of this letter depends on what is beside it, so the pairs are made first.
  return lettersIn(joinedWords(normal, { of: "everything", pairs: true }).toLowerCase(), false);
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
  return plainWords(text, false) ?? joinedWords(normalized(text), { of: "signs", pairs: true });
}

/** Long tool output repeats its words, and an index takes as long for each. */
const LONG_TEXT = 4000;

/** The text that stores index: `spacedText`, and in a long one each word once. */
export function indexedText(text: string): string {
  if (text.length <= LONG_TEXT) return spacedText(text);
  const plain = plainWords(text, true);
  return plain ?? joinedWords(normalized(text), { of: "signs", pairs: true, once: true });
}

function normalized(text: string): string {
  return withNameParts(text).normalize("NFKC");
}

function pairs(run: string): string[] {
  const characters = [...run];
  return characters.map((character, index) => character + (characters[index + 1] ?? ""));
}

function wholeWord(word: string): SearchWord {
  return { word, whole: true };
}
