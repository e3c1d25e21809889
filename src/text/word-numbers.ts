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

/** The runs of `size` numbers in a row that a list has. Numbers are positive: a 0 ends a run. */
export class NumberRuns {
  readonly size: number;
  /** The number of runs, and the number of distinct ones. */
  count = 0;
  distinct = 0;
  readonly #numbers: ArrayLike<number>;
  /** One more than the first place of each run, at the place of its hash or behind it. */
  readonly #slots: Int32Array;
  /** The count of each run, at its first place. */
  readonly #counts: Uint32Array;

  /** Reads the runs that begin at `places`: all of them, unless it says which. */
  constructor(numbers: ArrayLike<number>, size: number, places?: readonly number[]) {
    this.size = size;
    this.#numbers = numbers;
    this.#counts = new Uint32Array(numbers.length);
    const count = places?.length ?? numbers.length;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * count + 2)));
    for (let index = 0; index < count; index += 1) {
      const place = places?.[index] ?? index;
      if (!isRun(numbers, place, size)) continue;
      const slot = this.#slotOf(numbers, place);
      if (this.#slots[slot] === 0) {
        this.#slots[slot] = place + 1;
        this.distinct += 1;
      }
      const first = (this.#slots[slot] as number) - 1;
      this.#counts[first] = (this.#counts[first] as number) + 1;
      this.count += 1;
    }
  }

  /** The count of the run that begins first at a place. */
  countAt(place: number): number {
    return this.#counts[place] as number;
  }

  /** The first place of the run that another list has at `at`; -1 when there is none. */
  placeOf(numbers: ArrayLike<number>, at: number): number {
    if (!isRun(numbers, at, this.size)) return -1;
    return (this.#slots[this.#slotOf(numbers, at)] as number) - 1;
  }

  #slotOf(numbers: ArrayLike<number>, at: number): number {
    let hash = SEED;
    for (let index = 0; index < this.size; index += 1) {
      hash = mix(hash, numbers[at + index] as number);
    }
    const last = this.#slots.length - 1;
    for (let slot = hash & last; ; slot = (slot + 1) & last) {
      const place = (this.#slots[slot] as number) - 1;
      if (place < 0 || isSame(numbers, at, this.#numbers, place, this.size)) return slot;
    }
  }
}

function isRun(numbers: ArrayLike<number>, at: number, size: number): boolean {
  if (at + size > numbers.length) return false;
  for (let index = at; index < at + size; index += 1) if (numbers[index] === 0) return false;
  return true;
}

/** Whether two lists have the same `size` numbers at two places. */
export function isSame(
  numbers: ArrayLike<number>,
  at: number,
  other: ArrayLike<number>,
  place: number,
  size: number,
): boolean {
  for (let index = 0; index < size; index += 1) {
    if (numbers[at + index] !== other[place + index]) return false;
  }
  return true;
}

/**
 * A number that is written in groups, such as `4821 193 211` or `DE89 3704-0044`, and the same in other groups or
 * without them, are one number.
 */
const SEPARATORS = "[ ,.'’_/\\u00a0\\u202f-]";
const GROUP = "[A-Z]{0,3}\\d{1,12}";
const GROUPED = new RegExp(`${GROUP}(?:${SEPARATORS}${GROUP})+`, "g");
const SEPARATOR = new RegExp(SEPARATORS);

/** Shorter ones are too often two numbers that stand side by side. */
const DIGITS_MIN = 6;
/** No number that people tell has more. */
const CHARACTERS_MAX = 40;
/** Decimals, versions, dates and times. */
const OTHERS =
  /^(?:\d+[.,]\d+|\d+(?:\.\d+){2,3}|\d{4}[-/.]\d\d[-/.]\d\d|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})$/;

/** The numbers in groups of a text: as they are written, and joined. */
export function* groupedNumbers(text: string): Generator<string> {
  for (const [grouped] of text.matchAll(GROUPED)) {
    const joined = grouped.split(SEPARATOR).join("");
    if (joined.length > CHARACTERS_MAX || OTHERS.test(grouped) || !isNumber(joined)) continue;
    yield grouped;
    yield joined;
  }
}

/** Whether a name is a number that may be written in groups. */
export function isNumber(name: string): boolean {
  return /^[A-Z\d]+$/.test(name) && name.replace(/\D/g, "").length >= DIGITS_MIN;
}

/** Where a text has one of the numbers in groups. */
export function* placesOfNumbers(text: string, numbers: ReadonlySet<string>) {
  if (numbers.size === 0) return;
  for (const { 0: grouped, index } of text.matchAll(GROUPED)) {
    const groups = grouped.split(SEPARATOR);
    let start = index;
    for (const [at, group] of groups.entries()) {
      let [joined, end] = [group, start + group.length];
      for (let next = at + 1; next < groups.length && joined.length < CHARACTERS_MAX; next += 1) {
        const more = groups[next] ?? "";
        joined += more;
        end += 1 + more.length;
        if (numbers.has(joined)) yield { start, end, number: joined };
      }
      start += group.length + 1;
    }
  }
}
