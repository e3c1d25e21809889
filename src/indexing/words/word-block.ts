import type { Postings } from "../../search/passage-index.ts";
import { damagedIndex } from "../head.ts";
import type { WordPlaces } from "./word-places.ts";

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

export const HITS_EACH = 0;
export const HITS_SAME = 1;
export const HITS_MOST = 2;
