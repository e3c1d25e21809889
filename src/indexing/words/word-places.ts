import type { Postings } from "../../search/passage-index.ts";
import { sortWords } from "./word-order.ts";

/** Enough for most messages. A new array is filled with zeros, which an add of one entry would feel. */
const ROOM = 256;

/** Collects postings in any order, and gives them in the order of words. */
export class WordPlaces {
  readonly #numbers = new Map<string, number>();
  readonly #counts: number[] = [];
  // Of every place that was added: its word, slot and hits.
  #words = new Uint32Array(ROOM);
  #slots = new Uint32Array(ROOM);
  #hits = new Uint8Array(ROOM);
  #length = 0;

  /** The number by which `add` knows a word. */
  numberOf(word: string): number {
    let number = this.#numbers.get(word);
    if (number === undefined) {
      number = this.#counts.push(0) - 1;
      this.#numbers.set(word, number);
    }
    return number;
  }

  add(word: number, slot: number, hits: number): void {
    const at = this.#length;
    if (at === this.#words.length) this.#grow();
    this.#words[at] = word;
    this.#slots[at] = slot;
    this.#hits[at] = hits;
    this.#length = at + 1;
    this.#counts[word] = (this.#counts[word] as number) + 1;
  }

  /** Each word with its postings, ascending. */
  sorted(): (readonly [string, Postings])[] {
    // Where the places of each word begin; in the end, where they end.
    const ends = new Uint32Array(this.#counts.length);
    let end = 0;
    for (let word = 0; word < ends.length; word += 1) {
      ends[word] = end;
      end += this.#counts[word] as number;
    }
    const slots = new Uint32Array(end);
    const hits = new Uint8Array(end);
    for (let index = 0; index < end; index += 1) {
      const word = this.#words[index] as number;
      const at = ends[word] as number;
      ends[word] = at + 1;
      slots[at] = this.#slots[index] as number;
      hits[at] = this.#hits[index] as number;
    }
    return sortWords([...this.#numbers.keys()]).map((word) => {
      const number = this.#numbers.get(word) as number;
      const to = ends[number] as number;
      const from = to - (this.#counts[number] as number);
      const postings = { slots: slots.subarray(from, to), hits: hits.subarray(from, to) };
      return [word, isAscending(postings.slots) ? postings : ascending(postings)];
    });
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

function isAscending(slots: Uint32Array): boolean {
  for (let index = 1; index < slots.length; index += 1) {
    if ((slots[index - 1] as number) > (slots[index] as number)) return false;
  }
  return true;
}

function ascending({ slots, hits }: Postings): Postings {
  const pairs = Float64Array.from(slots, (slot, at) => slot * 256 + (hits[at] as number)).sort();
  return {
    slots: Uint32Array.from(pairs, (pair) => Math.floor(pair / 256)),
    hits: Uint8Array.from(pairs, (pair) => pair % 256),
  };
}
