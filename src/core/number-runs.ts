import { mix, SEED } from "./word-numbers.ts";

/** The runs of `size` numbers in a row that a list has. Numbers are positive: a 0 ends a run. */
export class NumberRuns {
  readonly size: number;
  /** How many runs there are, and how many without those that were there before. */
  count = 0;
  distinct = 0;
  readonly #numbers: ArrayLike<number>;
  /** One more than the first place of each run, at the place of its hash or behind it. */
  readonly #slots: Int32Array;
  /** How often there is each run, at its first place. */
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

  /** How often there is the run that begins first at a place. */
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
