import type { Postings } from "../passages/passage-index.ts";
import { damagedIndex } from "../port/asking.ts";
import type { WordBlockRow } from "../port/index-store.ts";
import type { WordPlaces } from "./sorted-words.ts";

/**
 * Words with their postings, packed. Words ascend by their UTF-8:
 *
 *     width · count · offsets of the words · word  word  word …
 *       1     width     count × width
 *
 *     word:  bytes of the word · word · how many slots · first slot, steps to the next ones · hits
 *              number                      number          number …
 *
 * The number of slots is multiplied by four; the two low bits say how hits are written. `HITS_EACH`: a
 * byte each. `HITS_SAME`: one byte for all. `HITS_MOST`: the most frequent byte, the number of exceptions, and
 * for each exception its distance from the one before and its byte.
 *
 * Numbers have seven bits to a byte, the lowest first. Width is 2 or 4, the bytes of the count and of each
 * offset. A word that does not end where the next one begins is damage. So are slots that do not ascend.
 */
export class WordBlock {
  readonly bytes: Uint8Array;
  readonly count: number;
  readonly #text: Buffer;
  readonly #width: number;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#width = bytes[0] ?? 0;
    this.count = this.#number(1);
    const isWhole = this.#width === 2 || this.#width === 4;
    if (!isWhole || this.count * this.#width > bytes.length) throw damagedIndex("words");
  }

  /** The first word that is not before `word`; `count` when all are. */
  search(word: Uint8Array): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(middle, word) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  has(index: number, word: Uint8Array): boolean {
    return index < this.count && this.#compare(index, word) === 0;
  }

  word(index: number): string {
    const { start, end } = this.#wordAt(index);
    return this.#text.toString("utf8", start, end);
  }

  postings(index: number): Postings {
    this.#at = this.#wordAt(index).end;
    const head = this.#head(index);
    const slots = new Uint32Array(head >>> 2);
    const hits = new Uint8Array(head >>> 2);
    this.#read(index, head, slots, hits);
    return { slots, hits };
  }

  /** Adds all of its words to `places`. */
  addTo(places: WordPlaces): void {
    let slots = new Uint32Array(64);
    let hits = new Uint8Array(64);
    for (let index = 0; index < this.count; index += 1) {
      const word = places.vocabulary.numberOf(this.word(index));
      this.#at = this.#wordAt(index).end;
      const head = this.#head(index);
      const count = head >>> 2;
      if (count > slots.length) {
        slots = new Uint32Array(2 * count);
        hits = new Uint8Array(2 * count);
      }
      this.#read(index, head, slots, hits);
      for (let place = 0; place < count; place += 1) {
        places.add(word, slots[place] as number, hits[place] as number);
      }
    }
  }

  /** How many slots of a word follow, and how their hits are written. */
  #head(index: number): number {
    const head = this.#next();
    // A slot takes a byte or more.
    if (!(head / 4 <= this.#endOf(index) - this.#at)) throw damagedIndex("words");
    return head;
  }

  #read(index: number, head: number, slots: Uint32Array, hits: Uint8Array): void {
    const { bytes } = this;
    const count = head >>> 2;
    let at = this.#at;
    let slot = 0;
    for (let place = 0; place < count; place += 1) {
      let step = bytes[at++] as number;
      if (step >= 128) {
        const upper = bytes[at++] as number;
        if (upper < 128) step = (step & 127) | (upper << 7);
        else {
          this.#at = at - 2;
          step = this.#next();
          at = this.#at;
        }
      }
      if (step === 0 && place > 0) throw damagedIndex("words");
      slot += step;
      slots[place] = slot;
    }
    this.#at = at;
    this.#readHits(head & 3, count, hits);
    if (!(slot <= SLOT_MAX) || this.#at !== this.#endOf(index)) throw damagedIndex("words");
  }

  #readHits(kind: number, count: number, hits: Uint8Array): void {
    const { bytes } = this;
    if (kind === HITS_EACH) {
      hits.set(bytes.subarray(this.#at, this.#at + count));
      this.#at += count;
      return;
    }
    hits.fill(bytes[this.#at++] as number, 0, count);
    if (kind === HITS_SAME) return;
    let others = this.#next();
    if (kind !== HITS_MOST || others > count) throw damagedIndex("words");
    for (let place = -1; others > 0; others -= 1) {
      const step = this.#next();
      place += step;
      if (step === 0 || place >= count) throw damagedIndex("words");
      hits[place] = bytes[this.#at++] as number;
    }
  }

  /** Reads the number at `#at` and moves behind it. */
  #next(): number {
    const { bytes } = this;
    let value = 0;
    // A shift would make numbers from 2^31 negative.
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[this.#at++] as number;
      value += (byte & 127) * factor;
      // Also true behind the last byte, where damage may lead.
      if (!(byte >= 128)) return value;
    }
  }

  #number(at: number): number {
    const { bytes } = this;
    const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
    if (this.#width === 2) return low;
    return low + ((bytes[at + 2] as number) | ((bytes[at + 3] as number) << 8)) * 65536;
  }

  #startOf(index: number): number {
    return this.#number(1 + this.#width * (1 + index));
  }

  #endOf(index: number): number {
    return index + 1 < this.count ? this.#startOf(index + 1) : this.bytes.length;
  }

  #wordAt(index: number): { readonly start: number; readonly end: number } {
    let at = this.#startOf(index);
    let length = this.bytes[at++] as number;
    if (length >= 128) length = (length & 127) | ((this.bytes[at++] as number) << 7);
    if (!(at + length <= this.bytes.length)) throw damagedIndex("words");
    return { start: at, end: at + length };
  }

  #compare(index: number, word: Uint8Array): number {
    const { bytes } = this;
    let at = this.#startOf(index);
    let length = bytes[at++] as number;
    if (length >= 128) length = (length & 127) | ((bytes[at++] as number) << 7);
    if (!(at + length <= bytes.length)) throw damagedIndex("words");
    const shorter = Math.min(length, word.length);
    for (let place = 0; place < shorter; place += 1) {
      const difference = (bytes[at + place] as number) - (word[place] as number);
      if (difference !== 0) return difference;
    }
    return length - word.length;
  }
}

const SLOT_MAX = 2 ** 32 - 1;

const HITS_EACH = 0;
const HITS_SAME = 1;
const HITS_MOST = 2;

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

export function wordBytes(word: string): Uint8Array {
  return Buffer.from(word);
}
