import { AUTHORS } from "../core/event.ts";
import type { MemoryEntry } from "../core/memory-store.ts";
import { unicodePattern } from "../core/unicode-pattern.ts";
import { BY_SPEAKER, ENTRY_SAYS_WHEN, ON_DATE, PASSAGE_ASKS, SAID_MASK } from "./passage-index.ts";
import { passages } from "./passages.ts";
import { dateWords, saysWhen } from "./question.ts";
import { stem, stemmedWords, words } from "./words.ts";

/** Raise it when this file or `words` make something else of a text. An index of another version is rebuilt. */
export const INDEX_VERSION = 1;

/** What an index keeps of one passage. */
export interface IndexedPassage {
  /** Its words, with those of its entry's speaker and date. For each its hits, as in `Postings`. */
  readonly words: ReadonlyMap<string, number>;
  /** Number of words, at most 255. */
  readonly length: number;
  readonly flags: number;
}

const LENGTH_MAX = 255;

/** The passages of an entry. There is always at least one, even if it has no words. */
export function indexedPassages(
  entry: Pick<MemoryEntry, "content" | "speaker" | "time">,
): IndexedPassage[] {
  const speaker = isPerson(entry.speaker) ? words(entry.speaker).map(stem) : [];
  const date = dateWords(entry.time).map(stem);
  const entryFlags = saysWhen(entry.content) ? ENTRY_SAYS_WHEN : 0;
  const texts = passages(entry.content);
  return (texts.length > 0 ? texts : [""]).map((text) => {
    const said = stemmedWords(text);
    return {
      words: hitsOf(said, speaker, date),
      length: Math.min(said.length, LENGTH_MAX),
      flags: entryFlags | (ASKS(text).test(text) ? PASSAGE_ASKS : 0),
    };
  });
}

/** A question mark at the end. Quotes or a smiley may follow it. Only the last one is tried. */
const ASKS = unicodePattern(/\?[^A-Za-z?]*$/, {
  source: String.raw`[?？؟][^\p{L}?？؟]*$`,
  flags: "u",
});

function hitsOf(
  said: readonly string[],
  speaker: readonly string[],
  date: readonly string[],
): Map<string, number> {
  const hits = new Map<string, number>();
  for (const term of said) {
    const times = hits.get(term) ?? 0;
    if (times < SAID_MASK) hits.set(term, times + 1);
  }
  for (const term of speaker) hits.set(term, (hits.get(term) ?? 0) | BY_SPEAKER);
  for (const term of date) hits.set(term, (hits.get(term) ?? 0) | ON_DATE);
  return hits;
}

/** Whether a speaker is a name, and not a role in the conversation or what wrote a prompt. */
export function isPerson(speaker: string | undefined): speaker is string {
  return speaker !== undefined && !NO_NAMES.has(speaker);
}

const NO_NAMES: ReadonlySet<string> = new Set(["assistant", ...AUTHORS]);
