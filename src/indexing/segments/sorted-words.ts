import type { Postings } from "../passages/passage-index.ts";
import { NOTE, ROW, STAMP, type Vocabulary } from "../words/vocabulary.ts";

/** Enough for most messages. A new array is filled with zeros, which an add of one entry would feel. */
const ROOM = 256;

/** Words in their order with their postings, in a few long arrays: objects for each word would take most of the time. */
export interface SortedWords {
  readonly vocabulary: Vocabulary;
  /** Numbers of `vocabulary`. */
  readonly words: readonly number[];
  /** Where the postings of each word end. */
  readonly ends: Uint32Array;
  /** The postings of all words. */
  readonly postings: Postings;
}

/** Each word with its postings. */
export function pairsOf(sorted: SortedWords): (readonly [string, Postings])[] {
  const { vocabulary, words, ends, postings } = sorted;
  return words.map((word, at) => {
    const [from, to] = [ends[at - 1] ?? 0, ends[at]];
    const own = {
      slots: postings.slots.subarray(from, to),
      hits: postings.hits.subarray(from, to),
    };
    return [vocabulary.textOf(word), own];
  });
}

/** Collects postings in any order, and gives them in the order of words. */
export class WordPlaces {
  readonly vocabulary: Vocabulary;
  // The word, slot and hits of every place that was added.
  #words: Uint32Array;
  #slots: Uint32Array;
  #hits: Uint8Array;
  #length = 0;

  /** With as much room as is needed, nothing is copied into larger arrays. */
  constructor(vocabulary: Vocabulary, room = ROOM) {
    this.vocabulary = vocabulary;
    this.#words = new Uint32Array(room);
    this.#slots = new Uint32Array(room);
    this.#hits = new Uint8Array(room);
  }

  add(word: number, slot: number, hits: number): void {
    const at = this.#length;
    if (at === this.#words.length) this.#grow();
    this.#words[at] = word;
    this.#slots[at] = slot;
    this.#hits[at] = hits;
    this.#length = at + 1;
  }

  sorted(): SortedWords {
    const { vocabulary } = this;
    const { counts, words } = this.#counted();
    sortWords(vocabulary, words);
    // Where the next place of each word goes.
    const { rows } = vocabulary;
    const ends = new Uint32Array(words.length);
    let end = 0;
    for (let at = 0; at < words.length; at += 1) {
      const word = words[at] as number;
      const start = end;
      end += counts[rows[ROW * word + NOTE] as number] as number;
      rows[ROW * word + NOTE] = start;
      ends[at] = end;
    }
    const slots = new Uint32Array(end);
    const hits = new Uint8Array(end);
    for (let index = 0; index < end; index += 1) {
      const word = this.#words[index] as number;
      const at = rows[ROW * word + NOTE] as number;
      rows[ROW * word + NOTE] = at + 1;
      slots[at] = this.#slots[index] as number;
      hits[at] = this.#hits[index] as number;
    }
    for (let at = 0, from = 0; at < ends.length; at += 1) {
      const to = ends[at] as number;
      if (!isAscending(slots, from, to)) sortSlots(slots, hits, from, to);
      from = to;
    }
    return { vocabulary, words, ends, postings: { slots, hits } };
  }

  /** The words, and how often each was added, at its note. */
  #counted(): { readonly counts: readonly number[]; readonly words: number[] } {
    const { vocabulary } = this;
    const { rows } = vocabulary;
    const stamp = vocabulary.newStamp();
    const counts: number[] = [];
    const words: number[] = [];
    for (let index = 0; index < this.#length; index += 1) {
      const word = this.#words[index] as number;
      const row = ROW * word;
      if (rows[row + STAMP] !== stamp) {
        rows[row + STAMP] = stamp;
        rows[row + NOTE] = words.length;
        words.push(word);
        counts.push(0);
      }
      (counts[rows[row + NOTE] as number] as number) += 1;
    }
    return { counts, words };
  }

  #grow(): void {
    const grown = <Numbers extends Uint32Array | Uint8Array>(from: Numbers, to: Numbers) => {
      to.set(from);
      return to;
    };
    const size = 2 * this.#words.length;
    this.#words = grown(this.#words, new Uint32Array(size));
    this.#slots = grown(this.#slots, new Uint32Array(size));
    this.#hits = grown(this.#hits, new Uint8Array(size));
  }
}

function isAscending(slots: Uint32Array, from: number, to: number): boolean {
  for (let index = from + 1; index < to; index += 1) {
    if ((slots[index - 1] as number) > (slots[index] as number)) return false;
  }
  return true;
}

function sortSlots(slots: Uint32Array, hits: Uint8Array, from: number, to: number): void {
  const pairs = new Float64Array(to - from);
  for (let at = from; at < to; at += 1) {
    pairs[at - from] = (slots[at] as number) * 256 + (hits[at] as number);
  }
  pairs.sort();
  for (let at = from; at < to; at += 1) {
    const pair = pairs[at - from] as number;
    slots[at] = Math.floor(pair / 256);
    hits[at] = pair % 256;
  }
}

/** Compares words by their UTF-8, as databases do. */
export function compareWords(one: string, other: string): number {
  const shorter = Math.min(one.length, other.length);
  for (let index = 0; index < shorter; index += 1) {
    const [a, b] = [one.charCodeAt(index), other.charCodeAt(index)];
    if (a !== b) return rank(a) - rank(b);
  }
  return one.length - other.length;
}

/** Sorts words of a vocabulary as `compareWords` does, each of them there once. */
function sortWords(vocabulary: Vocabulary, words: number[]): void {
  // A native sort of numbers takes a tenth of a sort with a function: each is the order of a word, and its place.
  const keys = new Float64Array(words.length);
  for (let at = 0; at < words.length; at += 1) {
    keys[at] = vocabulary.orderOf(words[at] as number) * PLACES + at;
  }
  keys.sort();
  const unsorted = words.slice();
  let start = 0;
  for (let at = 0; at < words.length; at += 1) {
    words[at] = unsorted[(keys[at] as number) % PLACES] as number;
    if (orderAt(keys, at) === orderAt(keys, at + 1)) continue;
    if (at > start) sortSome(vocabulary, words, start, at + 1);
    start = at + 1;
  }
}

/** More words than a process has memory for. */
const PLACES = 2 ** 25;

function orderAt(keys: Float64Array, at: number): number {
  return at < keys.length ? Math.floor((keys[at] as number) / PLACES) : -1;
}

/** Sorts the words between two places, which begin alike. */
function sortSome(vocabulary: Vocabulary, words: number[], start: number, end: number): void {
  const texts = (number: number) => vocabulary.textOf(number);
  const some = words.slice(start, end).sort((one, other) => compareWords(texts(one), texts(other)));
  for (let at = start; at < end; at += 1) words[at] = some[at - start] as number;
}

/** JavaScript sorts the halves of characters beyond U+FFFF before U+E000; UTF-8 sorts them behind. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x2000 : unit >= 0xe000 ? unit - 0x800 : unit;
}
