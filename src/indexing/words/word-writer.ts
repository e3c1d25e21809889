import type { Postings } from "../../search/passage-index.ts";
import type { WordBlockRow } from "../index-store.ts";
import { HITS_EACH, HITS_MOST, HITS_SAME } from "./word-block.ts";
import { wordBytes } from "./word-order.ts";

export type PackedBlock = Omit<WordBlockRow, "segment">;

/** A block and its row fit one page of a SQLite file. */
const BLOCK_BYTES = 3990;
/** Longer postings are split, since a deletion rewrites a whole block. */
const LONG_POSTINGS = 8000;

/** Packs words into blocks. They must be added in their order. */
export class WordWriter {
  readonly #limit: number;
  readonly #blocks: PackedBlock[] = [];
  #bytes = new Uint8Array(2048);
  #length = 0;
  #offsets: number[] = [];
  #first: string | undefined;

  /** `whole` makes one block of any size. */
  constructor({ whole = false }: { readonly whole?: boolean } = {}) {
    this.#limit = whole ? Number.POSITIVE_INFINITY : BLOCK_BYTES;
  }

  /** Bytes that are packed and not taken yet. */
  get size(): number {
    return this.#blocks.reduce((sum, { data }) => sum + data.length, this.#length);
  }

  /** Adds the postings from index `from` up to `to`, exclusive. */
  add(word: string, { slots, hits }: Postings, from = 0, to = slots.length): void {
    if (to - from > LONG_POSTINGS && this.#limit < Number.POSITIVE_INFINITY) {
      this.#addLong(word, { slots, hits }, from, to);
      return;
    }
    const start = this.#length;
    this.#put(word, slots, hits, from, to);
    const packed = 1 + 2 * (this.#offsets.length + 2) + this.#length;
    if (packed > this.#limit && this.#offsets.length > 0) {
      const own = this.#bytes.slice(start, this.#length);
      this.#length = start;
      this.#flush(0);
      this.#room(own.length);
      this.#bytes.set(own);
      this.#length = own.length;
      this.#first = word;
      this.#offsets.push(0);
      return;
    }
    this.#first ??= word;
    this.#offsets.push(start);
  }

  /** All blocks so far. */
  take(): PackedBlock[] {
    this.#flush(0);
    return this.#blocks.splice(0);
  }

  #addLong(word: string, { slots, hits }: Postings, from: number, to: number): void {
    this.#flush(0);
    for (let start = from; start < to; start += LONG_POSTINGS) {
      this.#put(word, slots, hits, start, Math.min(to, start + LONG_POSTINGS));
      this.#first = word;
      this.#offsets.push(0);
      this.#flush(start === from ? 0 : (slots[start] as number));
    }
  }

  #put(word: string, slots: Uint32Array, hits: Uint8Array, from: number, to: number): void {
    this.#room(3 * word.length + 8 * (to - from) + 20);
    this.#putWord(word);
    const { kind, most, others } = hitsKind(hits, from, to);
    this.#putNumber(4 * (to - from) + kind);
    const bytes = this.#bytes;
    let at = this.#length;
    let before = 0;
    for (let index = from; index < to; index += 1) {
      const slot = slots[index] as number;
      let step = slot - before;
      before = slot;
      while (step >= 128) {
        bytes[at++] = (step & 127) | 128;
        step = step > 0x7fffffff ? Math.floor(step / 128) : step >> 7;
      }
      bytes[at++] = step;
    }
    this.#length = at;
    if (kind === HITS_EACH) {
      this.#bytes.set(hits.subarray(from, to), this.#length);
      this.#length += to - from;
      return;
    }
    this.#bytes[this.#length++] = most;
    if (kind === HITS_SAME) return;
    this.#putNumber(others);
    let last = from - 1;
    for (let index = from; index < to; index += 1) {
      if (hits[index] === most) continue;
      this.#putNumber(index - last);
      this.#bytes[this.#length++] = hits[index] as number;
      last = index;
    }
  }

  #putWord(word: string): void {
    const start = this.#length;
    const bytes = this.#bytes;
    let at = start + 1;
    for (let index = 0; index < word.length; index += 1) {
      const unit = word.charCodeAt(index);
      if (unit >= 128 || word.length >= 128) {
        const encoded = wordBytes(word);
        this.#putNumber(encoded.length);
        this.#bytes.set(encoded, this.#length);
        this.#length += encoded.length;
        return;
      }
      bytes[at++] = unit;
    }
    bytes[start] = word.length;
    this.#length = at;
  }

  #putNumber(number: number): void {
    for (let rest = number; ; rest >>>= 7) {
      if (rest < 128) {
        this.#bytes[this.#length++] = rest;
        return;
      }
      this.#bytes[this.#length++] = (rest & 127) | 128;
    }
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + bytes));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }

  #flush(slot: number): void {
    const count = this.#offsets.length;
    if (count === 0 || this.#first === undefined) return;
    const narrow = 1 + 2 * (count + 1);
    const width = narrow + this.#length <= 0xffff ? 2 : 4;
    const head = 1 + width * (count + 1);
    const data = new Uint8Array(head + this.#length);
    const put = (at: number, number: number) => {
      data[at] = number;
      data[at + 1] = number >>> 8;
      if (width === 2) return;
      data[at + 2] = number >>> 16;
      data[at + 3] = number >>> 24;
    };
    data[0] = width;
    put(1, count);
    for (const [index, offset] of this.#offsets.entries())
      put(1 + width * (1 + index), head + offset);
    data.set(this.#bytes.subarray(0, this.#length), head);
    this.#blocks.push({ first: wordBytes(this.#first), slot, data });
    this.#length = 0;
    this.#offsets = [];
    this.#first = undefined;
  }
}

/** The shortest way to write hits. */
function hitsKind(
  hits: Uint8Array,
  from: number,
  to: number,
): { readonly kind: number; readonly most: number; readonly others: number } {
  const first = hits[from] as number;
  let firsts = 0;
  let ones = 0;
  for (let index = from; index < to; index += 1) {
    if (hits[index] === first) firsts += 1;
    if (hits[index] === 1) ones += 1;
  }
  const [most, others] = firsts >= ones ? [first, to - from - firsts] : [1, to - from - ones];
  if (others === 0) return { kind: HITS_SAME, most, others };
  return { kind: 3 * others < to - from ? HITS_MOST : HITS_EACH, most, others };
}

/** One block of any size; `null` when there are no words. */
export function packWords(words: Iterable<readonly [string, Postings]>): Uint8Array | null {
  const writer = new WordWriter({ whole: true });
  for (const [word, postings] of words) writer.add(word, postings);
  return writer.take()[0]?.data ?? null;
}
