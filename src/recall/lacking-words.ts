import { contentWords } from "../compaction/content-words.ts";
import type { MemoryEntry } from "../core/memory-store.ts";
import { MONTHS } from "../text/time/time-words.ts";
import { oneLine } from "./quoted-passage.ts";

/** Results that are looked at: a question and its answer are often two of them. */
const RESULTS = 3;

/** A name counts as many words: a prompt about another person shares its other words with any talk. */
const NAME_COUNTS = 3;
const NAME_LETTERS = 5;

/** A long prompt needs no more words than this: much of it is said around its subject. */
const WORDS_MAX = 10;

/** The match that a prompt needs above the least bar when the best results have hardly any of its words. */
const ADDED_MOST = 0.28;

/**
 * The match that the best result needs above the least bar, by the words of a prompt that the best three lack together:
 *
 *     Paola, desserts, cook      they have "desserts" and "cook"      3 of 5 are lacking, + .17
 *
 * Where they have none of them, they were found by their meaning, and words tell nothing.
 *
 * Chosen on half of the talks: of questions about other talks 0, 2 and 8 % recall something with it (0, 5 and 23 %
 * without), and .4 and 1.3 % fewer answers come back (REALTALK, BEAM-128K).
 */
export function addedForLacking(
  query: string,
  results: readonly Pick<MemoryEntry, "content" | "speaker" | "time">[],
): number {
  const names = new Set([...query.matchAll(NAME)].flatMap(([name]) => nameIn(name)));
  const asking = oneLine(query);
  const texts: string[] = [];
  for (const { content, speaker = "", time = "" } of results) {
    if (texts.length === RESULTS) break;
    // The prompt itself may be among them, once for each time that it was given.
    if (oneLine(content) === asking) continue;
    texts.push(`${speaker} ${time.slice(0, DATE_LENGTH)} ${content}`.toLowerCase());
  }
  let [asked, found] = [0, 0];
  for (const word of new Set([...contentWords(query), ...names])) {
    const counts = names.has(word) ? NAME_COUNTS : 1;
    asked += counts;
    if (texts.some((text) => has(text, word))) found += counts;
  }
  if (found === 0) return 0;
  const needed = Math.min(asked, WORDS_MAX);
  return (ADDED_MOST * Math.max(0, needed - found)) / needed;
}

/** `2026-05-08` of a time: the hour of a record answers no number. */
const DATE_LENGTH = 10;

/** Whether a text has a word, or the beginning of one. A number has to be there as it is: 28 is not in 1280. */
function has(text: string, word: string): boolean {
  if (!/^\d+$/.test(word)) return text.includes(word);
  return new RegExp(String.raw`(?<!\d)0?${word}(?!\d)`).test(text);
}

/** A word with a capital inside a sentence. */
const NAME = /(?<=[\p{Ll}\p{N},;:] )\p{Lu}\p{L}{2,30}/gu;

/** The beginning of a name. An entry of a month seldom says it. */
function nameIn(word: string): readonly string[] {
  const name = word.toLowerCase();
  return MONTHS.has(name) ? [] : [name.slice(0, NAME_LETTERS)];
}
