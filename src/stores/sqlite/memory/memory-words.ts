import type { IndexedPassage } from "../../../search/indexed-passages.ts";
import { type Postings, SAID_MASK } from "../../../search/passage-index.ts";
import { hashOfKey } from "../../../search/text-key.ts";
import { markOfHash, wordlessHash } from "./memory-text-mark.ts";
import { WordPlaces } from "./memory-word-places.ts";

/** An entry, cut into passages, and where the first of them is. */
export interface PlacedEntry {
  readonly slot: number;
  readonly passages: readonly IndexedPassage[];
  readonly content: string;
}

/** The words of entries in the order of words, and where they are; each entry's mark is one of them. */
export function wordsOf(entries: readonly PlacedEntry[]): (readonly [string, Postings])[] {
  const places = new WordPlaces();
  const hashes: number[] = [];
  for (const { slot, passages, content } of entries.toSorted((a, b) => a.slot - b.slot)) {
    const seen = passages.length > 1 ? new Set<number>() : undefined;
    let hash = 0;
    let isWordless = true;
    for (const [index, { words }] of passages.entries()) {
      for (const [word, hits] of words) {
        const number = places.numberOf(word);
        places.add(number, slot + index, hits);
        if ((hits & SAID_MASK) === 0 || seen?.has(number)) continue;
        seen?.add(number);
        hashes[number] ??= hashOfKey(word);
        hash = (hash + (hashes[number] as number)) >>> 0;
        isWordless = false;
      }
    }
    const mark = markOfHash(isWordless ? wordlessHash(content) : hash);
    places.add(places.numberOf(mark.word), slot, mark.hits);
  }
  return places.sorted();
}
