import type { Postings } from "../../../search/passage-index.ts";
import type { Connection } from "../connection.ts";
import { type BlockRow, wordsInBlocks } from "./memory-segment-words.ts";
import { type Segment, smallSegment } from "./memory-segments.ts";
import { WordBlock } from "./memory-word-block.ts";

/** Segments of this level and below are small: some 64 000 postings, and few are there at a time. */
const LOADED_LEVEL_MAX = 2;

/**
 * A small segment, all of it in memory. While others add, such segments come and go, and each search asks
 * each of them for all of its words: what they have is read once, instead of a block for each word.
 */
export class LoadedSegment {
  /** In the order of their first words. */
  readonly #rows: readonly BlockRow[];
  readonly #blocks: readonly WordBlock[];

  private constructor(rows: readonly BlockRow[]) {
    this.#rows = rows;
    this.#blocks = rows.map(({ data }) => new WordBlock(data));
  }

  /** `undefined` for one that is too large. */
  static of(db: Connection, { number, level }: Segment): LoadedSegment | undefined {
    if (level > LOADED_LEVEL_MAX) return undefined;
    if (level > 0) return new LoadedSegment(db.all<BlockRow>(ALL_BLOCKS, number));
    const { words } = smallSegment(db, number);
    return new LoadedSegment(words ? [{ first: new Uint8Array(), slot: 0, data: words }] : []);
  }

  get bytes(): number {
    return this.#rows.reduce((sum, { data }) => sum + data.length, 0);
  }

  /** Where a word is, by blocks. */
  postings(word: Uint8Array): readonly Postings[] {
    const last = this.#lastFrom(word);
    const block = this.#blocks[last];
    const index = block?.search(word) ?? 0;
    if (!block?.has(index, word)) return [];
    // One that does not fit a block has several, which begin with it.
    let first = last;
    while ((this.#rows[first] as BlockRow).slot > 0) first -= 1;
    if (first === last) return [block.postings(index)];
    return this.#blocks.slice(first, last + 1).map((part) => part.postings(0));
  }

  /** Words and where they are, from `word` or the first one behind it. */
  words(word: Uint8Array): Iterable<readonly [string, Postings]> {
    let first = Math.max(0, this.#lastFrom(word));
    while ((this.#rows[first]?.slot ?? 0) > 0) first -= 1;
    return wordsInBlocks(this.#rows.slice(first), word);
  }

  /** The last block that begins with a word or one before it; -1 when there is none. */
  #lastFrom(word: Uint8Array): number {
    let [from, until] = [0, this.#rows.length];
    while (from < until) {
      const middle = (from + until) >> 1;
      const { first } = this.#rows[middle] as BlockRow;
      if (Buffer.compare(first, word) <= 0) from = middle + 1;
      else until = middle;
    }
    return from - 1;
  }
}

const ALL_BLOCKS =
  "SELECT first, slot, data FROM memory_word_block WHERE segment = ? ORDER BY first, slot";
