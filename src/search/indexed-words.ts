import type { MemoryEntry } from "../core/memory-store.ts";
import { passages } from "./passages.ts";
import { dateWords } from "./question.ts";
import { isPerson } from "./rank-candidates.ts";
import { words } from "./words.ts";

/** The words of one passage as the index keeps them, parted by spaces. */
export interface IndexedPassage {
  readonly words: string;
  /** It ends with a question. */
  readonly asks: boolean;
}

/**
 * What an entry is found by: the words of each of its passages, and in each of them
 * who said it and when. Words of the speaker begin with `@`, those of the date with `#`.
 */
export function indexedPassages(
  entry: Pick<MemoryEntry, "content" | "speaker" | "time">,
): IndexedPassage[] {
  const speaker = isPerson(entry.speaker) ? words(entry.speaker).map(speakerWord) : [];
  const date = dateWords(entry.time).map(dateWord);
  const texts = passages(entry.content);
  return (texts.length > 0 ? texts : [""]).map((text) => ({
    words: [...words(text), ...speaker, ...date].join(" "),
    asks: /[?？؟]\P{L}*$/u.test(text),
  }));
}

export function speakerWord(word: string): string {
  return `@${word}`;
}

export function dateWord(word: string): string {
  return `#${word}`;
}
