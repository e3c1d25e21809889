import type { Postings } from "../../search/passage-index.ts";
import { unitePostings } from "./postings.ts";
import { compareWords } from "./word-order.ts";

type Word = readonly [string, Postings];

/** Merges inputs that each give their words in order: each word once, with all its postings. */
export function* mergeWords(inputs: readonly Iterator<Word>[]): Generator<Word> {
  const heap = new WordHeap();
  for (const words of inputs) heap.push(words);
  while (heap.first) {
    const { word, postings } = heap.first;
    heap.advance();
    if (heap.first?.word !== word) {
      yield [word, postings];
      continue;
    }
    const found = [postings];
    while (heap.first?.word === word) {
      found.push(heap.first.postings);
      heap.advance();
    }
    yield [word, unitePostings(found)];
  }
}

interface Head {
  word: string;
  postings: Postings;
  readonly words: Iterator<Word>;
}

/** The next word of each input, the least first. */
class WordHeap {
  readonly #heads: Head[] = [];

  get first(): Head | undefined {
    return this.#heads[0];
  }

  push(words: Iterator<Word>): void {
    const next = words.next();
    if (next.done) return;
    const [word, postings] = next.value;
    const heads = this.#heads;
    let at = heads.push({ word, postings, words }) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** Moves the first input on to its next word. */
  advance(): void {
    const heads = this.#heads;
    const head = heads[0] as Head;
    const next = head.words.next();
    if (next.done) {
      const last = heads.pop() as Head;
      if (heads.length === 0) return;
      heads[0] = last;
    } else {
      head.word = next.value[0];
      head.postings = next.value[1];
    }
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      if (left >= heads.length) return;
      const right = left + 1;
      const least = right < heads.length && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(least, at)) return;
      this.#swap(least, at);
      at = least;
    }
  }

  #isBefore(one: number, other: number): boolean {
    return compareWords((this.#heads[one] as Head).word, (this.#heads[other] as Head).word) < 0;
  }

  #swap(one: number, other: number): void {
    const head = this.#heads[one] as Head;
    this.#heads[one] = this.#heads[other] as Head;
    this.#heads[other] = head;
  }
}
