import type { Postings } from "../../search/passage-index.ts";
import { blockOf } from "../../search/word-amounts.ts";

/** Where a word can be in blocks, in UTF-8. One array is both ends for a single word. */
export interface WordRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

interface Known {
  readonly postings: Postings;
  /** The change of the namespace up to which they are complete. */
  readonly at: number;
  readonly range: WordRange;
}

/** What a list and its summary take besides their numbers: objects, mostly. */
const OVERHEAD_BYTES = 1300;
const POSTING_BYTES = 5;
/** What a summary takes for each block of slots. */
const BLOCK_BYTES = 12;

/** The postings of words that were read before, up to so many bytes; the least recently used go first. */
export class PostingsCache {
  #bytesMax: number;
  #bytes = 0;
  readonly #known = new Map<string, Known>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(word: string): Known | undefined {
    const known = this.#known.get(word);
    if (!known) return undefined;
    this.#known.delete(word);
    this.#known.set(word, known);
    return known;
  }

  set(word: string, known: Known): void {
    this.#drop(word);
    this.#known.set(word, known);
    this.#bytes += bytesOf(known);
    for (const oldest of this.#known.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#drop(oldest);
    }
  }

  clear(): void {
    this.#known.clear();
    this.#bytes = 0;
  }

  limitTo(bytesMax: number): void {
    this.#bytesMax = bytesMax;
  }

  #drop(word: string): void {
    const known = this.#known.get(word);
    if (!known) return;
    this.#known.delete(word);
    this.#bytes -= bytesOf(known);
  }
}

function bytesOf({ postings: { slots } }: Known): number {
  const blocks = blockOf(slots.at(-1) ?? 0) - blockOf(slots[0] ?? 0) + 1;
  return (
    OVERHEAD_BYTES + POSTING_BYTES * slots.length + BLOCK_BYTES * Math.min(slots.length, blocks)
  );
}
