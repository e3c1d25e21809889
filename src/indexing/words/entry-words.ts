import type { IndexedPassage } from "../../search/indexed-passages.ts";
import { type Postings, SAID_MASK } from "../../search/passage-index.ts";
import { hashOfKey } from "../../search/text-key.ts";
import { foldText, stem, words } from "../../search/words.ts";
import { textsOf } from "../entries/entry-passages.ts";
import { WordPlaces } from "./word-places.ts";

/** An entry, cut into passages, and the slot of the first. */
export interface PlacedEntry {
  readonly slot: number;
  readonly passages: readonly IndexedPassage[];
  readonly content: string;
}

/** The words of entries with their postings, in the order of words. The mark of each entry is one of them. */
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

/**
 * Finds an entry by its whole text: a word that no text has, and its hits. Texts with the same words have
 * the same mark; so do a few others, by chance.
 */
export interface TextMark {
  readonly word: string;
  readonly hits: number;
}

export function textMark(text: string): TextMark {
  const said = new Set<string>();
  for (const passage of textsOf(text)) for (const word of words(passage)) said.add(stem(word));
  let hash = said.size > 0 ? 0 : wordlessHash(text);
  for (const word of said) hash = (hash + hashOfKey(word)) >>> 0;
  return markOfHash(hash);
}

/** `hash` is the sum of the hashes of all words of a text, each once, so that it does not matter where the text was cut. */
function markOfHash(hash: number): TextMark {
  return { word: `=${((hash >>> 8) & 0xfff).toString(16)}`, hits: hash & 0xff };
}

/** Replaces that sum for a text without words. */
function wordlessHash(text: string): number {
  return hashOfKey(foldText(text).replace(/\s+/g, " ").trim());
}
