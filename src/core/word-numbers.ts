/**
 * Gives words numbers from 1 on. The same word always has the same number.
 *
 * Words are looked up by their place in a text, so no word is copied to look it up.
 */
export class WordNumbers {
  readonly #words: string[] = [""];
  readonly #hashes: number[] = [0];
  /** The numbers of words, each at the place of its hash or behind it. */
  #slots = new Int32Array(256);
  /** The numbers of words of one UTF-16 unit, which are found without a hash. */
  #units = new Int32Array(128);

  /** The number of the word between two places of a text; 0 for a new word. */
  find(text: string, start: number, end: number): number {
    return this.#slots[this.#slotOf(text, start, end, hashOf(text, start, end))] as number;
  }

  /** The same. A new word gets the next number. `hash` is `mix` from `SEED` on over its UTF-16 units. */
  numberOf(text: string, start: number, end: number, hash = hashOf(text, start, end)): number {
    if (end - start > 1) return this.#numberByHash(text, start, end, hash);
    const code = text.charCodeAt(start);
    if (code >= this.#units.length) this.#growUnits();
    const known = this.#units[code] as number;
    if (known > 0) return known;
    const number = this.#numberByHash(text, start, end, hash);
    this.#units[code] = number;
    return number;
  }

  #numberByHash(text: string, start: number, end: number, hash: number): number {
    const slot = this.#slotOf(text, start, end, hash);
    const known = this.#slots[slot] as number;
    if (known > 0) return known;
    const number = this.#words.push(text.slice(start, end)) - 1;
    this.#hashes.push(hash);
    this.#slots[slot] = number;
    if (2 * number > this.#slots.length) this.#grow();
    return number;
  }

  #growUnits(): void {
    const units = new Int32Array(0x10000);
    units.set(this.#units);
    this.#units = units;
  }

  #slotOf(text: string, start: number, end: number, hash: number): number {
    const last = this.#slots.length - 1;
    for (let slot = hash & last; ; slot = (slot + 1) & last) {
      const number = this.#slots[slot] as number;
      if (number === 0) return slot;
      if (this.#hashes[number] !== hash) continue;
      if (isAt(text, start, end, this.#words[number] as string)) return slot;
    }
  }

  #grow(): void {
    this.#slots = new Int32Array(2 * this.#slots.length);
    const last = this.#slots.length - 1;
    for (let number = 1; number < this.#words.length; number += 1) {
      let slot = (this.#hashes[number] as number) & last;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & last;
      this.#slots[slot] = number;
    }
  }
}

/** A text cannot be made to have many words with one hash, because the hash is another one in each process. */
export const SEED = Math.floor(Math.random() * 2 ** 31);

/** Adds a number to a hash. */
export function mix(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

function hashOf(text: string, start: number, end: number): number {
  let hash = SEED;
  for (let at = start; at < end; at += 1) hash = mix(hash, text.charCodeAt(at));
  return hash;
}

function isAt(text: string, start: number, end: number, word: string): boolean {
  if (word.length !== end - start) return false;
  for (let at = 0; at < word.length; at += 1) {
    if (word.charCodeAt(at) !== text.charCodeAt(start + at)) return false;
  }
  return true;
}
