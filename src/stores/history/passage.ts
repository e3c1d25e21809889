import { unicodePattern } from "../../text/character-codes.ts";
import type { SearchWord } from "./search-words.ts";

/** Characters of a passage, without ellipses. */
const PASSAGE_MAX = 2000;
/** Characters before the first found word. */
const LEAD = 200;

/** The part of `text` with most of the words. A short text comes whole. */
export function passage(text: string, words: readonly SearchWord[]): string {
  if (text.length <= PASSAGE_MAX) return text;
  const start = boundary(text, Math.min(bestStart(text, words), text.length - PASSAGE_MAX));
  const end = boundary(text, start + PASSAGE_MAX);
  return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}

/** Whether the text has any of the words. */
export function hasWord(text: string, words: readonly SearchWord[]): boolean {
  return findWords(text, words).length > 0;
}

/** The start of the passage with the most different words. */
function bestStart(text: string, words: readonly SearchWord[]): number {
  const found = findWords(text, words);
  const inside = new Map<string, number>();
  let best = { distinct: 0, start: 0 };
  let first = 0;
  for (const { word, at } of found) {
    inside.set(word, (inside.get(word) ?? 0) + 1);
    for (let gone = found[first]; gone && at - gone.at > PASSAGE_MAX - 2 * LEAD; ) {
      const left = (inside.get(gone.word) ?? 1) - 1;
      if (left === 0) inside.delete(gone.word);
      else inside.set(gone.word, left);
      first += 1;
      gone = found[first];
    }
    const start = Math.max(0, (found[first]?.at ?? at) - LEAD);
    if (inside.size > best.distinct) best = { distinct: inside.size, start };
  }
  return best.start;
}

function findWords(text: string, words: readonly SearchWord[]): { word: string; at: number }[] {
  if (words.length === 0) return [];
  const parts = words.map(({ word }) => stem(word)).sort((one, other) => other.length - one.length);
  // In scripts without spaces a word may begin anywhere; elsewhere only at a word boundary.
  const pattern = parts.map((part) =>
    SPACED(part).test(part) ? `(?<![\\p{L}\\p{N}])${part}` : part,
  );
  return [...text.matchAll(new RegExp(pattern.join("|"), "giu"))].map((match) => ({
    word: match[0].toLowerCase(),
    at: match.index,
  }));
}

/** Starts with a letter or digit of a script with spaces between words. */
const SPACED = unicodePattern(/^[A-Za-z0-9]/, {
  source: String.raw`^[\p{scx=Latn}\p{scx=Cyrl}\p{scx=Grek}\p{N}]`,
  flags: "u",
});

/** A rough stem of an English word, so that "running" also finds "runs". */
function stem(word: string): string {
  return word.length > 4 ? word.slice(0, Math.max(4, word.length - 3)) : word;
}

/** `index`, or one less if it would cut a character in two. */
function boundary(text: string, index: number): number {
  return /^[\uDC00-\uDFFF]/.test(text.slice(index, index + 1)) ? index - 1 : index;
}
