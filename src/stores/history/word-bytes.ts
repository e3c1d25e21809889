let shared = Buffer.alloc(0);
/** What a longer text takes is given back. */
const SHARED_MAX = 1_000_000;

/** Bytes for one text at a time. New ones for each text would cost more than the work. */
export function bytesFor(size: number): Buffer {
  if (size > SHARED_MAX) return Buffer.allocUnsafeSlow(size);
  if (size > shared.length) shared = Buffer.allocUnsafeSlow(Math.max(size, 2 * shared.length));
  return shared;
}

/** The same as UTF-16 units. */
export function unitsFor(size: number): Uint16Array {
  return new Uint16Array(bytesFor(2 * size).buffer, 0, size);
}

/** The words that were seen, by their places in the bytes or units of a text. */
export class WordSet {
  readonly #bytes: Uint8Array | Uint16Array;
  /** Three numbers a word: its hash, its start, its end. An end of 0 is a free place. */
  #words = new Int32Array(3 * 512);
  /** How many places there are: a power of two. */
  #places = 512;
  #size = 0;

  constructor(bytes: Uint8Array | Uint16Array) {
    this.#bytes = bytes;
  }

  /** Whether the word was seen before. Now it is. */
  has(start: number, end: number, hash: number): boolean {
    const bytes = this.#bytes;
    const words = this.#words;
    const last = this.#places - 1;
    for (let place = hash & last; ; place = (place + 1) & last) {
      const other = words[3 * place + 1] as number;
      const otherEnd = words[3 * place + 2] as number;
      if (otherEnd === 0) {
        words[3 * place] = hash;
        words[3 * place + 1] = start;
        words[3 * place + 2] = end;
        this.#size += 1;
        if (2 * this.#size > this.#places) this.#grow();
        return false;
      }
      if (words[3 * place] !== hash || otherEnd - other !== end - start) continue;
      let at = start;
      while (at < end && bytes[other + at - start] === bytes[at]) at += 1;
      if (at === end) return true;
    }
  }

  #grow(): void {
    const before = this.#words;
    this.#places *= 4;
    this.#words = new Int32Array(3 * this.#places);
    const words = this.#words;
    const last = this.#places - 1;
    for (let from = 0; from < before.length; from += 3) {
      if (before[from + 2] === 0) continue;
      let place = (before[from] as number) & last;
      while (words[3 * place + 2] !== 0) place = (place + 1) & last;
      words[3 * place] = before[from] as number;
      words[3 * place + 1] = before[from + 1] as number;
      words[3 * place + 2] = before[from + 2] as number;
    }
  }
}
