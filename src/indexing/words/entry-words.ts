import { foldText } from "../../search/fold-text.ts";
import { HITS, type IndexedPassage } from "../../search/indexed-passages.ts";
import { SAID_MASK } from "../../search/passage-index.ts";
import { hashOfKey } from "../../search/text-units.ts";
import { ROW, STAMP } from "../../search/vocabulary.ts";
import { wordReader } from "../../search/word-reader.ts";
import { stemmedWords } from "../../search/words.ts";
import { textsOf } from "../entries/entry-passages.ts";
import { type SortedWords, WordPlaces } from "./word-places.ts";

/** An entry, cut into passages, and the slot of the first. */
export interface PlacedEntry {
  readonly slot: number;
  readonly passages: readonly IndexedPassage[];
  readonly content: string;
}

/** The words of entries. The mark of each entry is one of them. */
export function wordsOf(entries: readonly PlacedEntry[]): SortedWords {
  const [first] = entries;
  const vocabulary = first?.passages[0]?.vocabulary ?? wordReader.begin();
  // And a mark for each entry.
  const count = entries.reduce((sum, { passages }) => sum + wordCount(passages), entries.length);
  const places = new WordPlaces(vocabulary, count);
  for (const { slot, passages, content } of entries.toSorted((a, b) => a.slot - b.slot)) {
    const stamp = vocabulary.newStamp();
    let hash = 0;
    let isWordless = true;
    for (let index = 0; index < passages.length; index += 1) {
      const passage = passages[index] as IndexedPassage;
      for (let at = 0; at < passage.words.length; at += 1) {
        const packed = passage.words[at] as number;
        const hits = packed % HITS;
        const own = Math.floor(packed / HITS);
        // While entries were cut, their words may have become too many for one vocabulary.
        const word =
          passage.vocabulary === vocabulary
            ? own
            : vocabulary.numberOf(passage.vocabulary.textOf(own));
        places.add(word, slot + index, hits);
        if ((hits & SAID_MASK) === 0 || vocabulary.rows[ROW * word + STAMP] === stamp) continue;
        vocabulary.rows[ROW * word + STAMP] = stamp;
        hash = (hash + vocabulary.keyOf(word)) >>> 0;
        isWordless = false;
      }
    }
    const mark = markOfHash(isWordless ? wordlessHash(content) : hash);
    places.add(vocabulary.numberOf(mark.word), slot, mark.hits);
  }
  return places.sorted();
}

function wordCount(passages: readonly IndexedPassage[]): number {
  return passages.reduce((sum, { words }) => sum + words.length, 0);
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
  for (const passage of textsOf(text)) for (const word of stemmedWords(passage)) said.add(word);
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
