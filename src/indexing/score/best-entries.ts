import type { PassageIndex } from "../passages/passage-index.ts";

interface RankedEntry {
  readonly entry: number;
  /** Its best passage. */
  readonly slot: number;
  readonly value: number;
}

/** Values that differ less are equal: sums of the same numbers differ a little when added in another order. */
const SAME = 1e-6;

/** Keeps the best of the entries that it is offered. Each is kept once, with the value of its best passage. */
export class BestEntries {
  readonly #index: PassageIndex;
  readonly #entryOf: Uint32Array;
  readonly #limit: number;
  // The kept entries, best first.
  readonly #entries: Uint32Array;
  readonly #slots: Uint32Array;
  readonly #values: Float64Array;
  #count = 0;
  /** Entries with a lower value are not kept. */
  least = 0;

  constructor(index: PassageIndex, limit: number) {
    this.#index = index;
    this.#entryOf = index.columns.entry;
    this.#limit = Math.min(limit, index.passages);
    this.#entries = new Uint32Array(this.#limit);
    this.#slots = new Uint32Array(this.#limit);
    this.#values = new Float64Array(this.#limit);
  }

  offer(entry: number, slot: number, exact: number): void {
    const value = Math.round(exact / SAME) * SAME;
    if (value < this.least) return;
    const before = this.#placeOfKept(entry, slot);
    if (before >= 0 && (this.#values[before] as number) >= value) return;
    const last = before >= 0 ? before : Math.min(this.#count, this.#limit - 1);
    const place = this.#placeOf(entry, value);
    if (place > last) return;
    this.#entries.copyWithin(place + 1, place, last);
    this.#slots.copyWithin(place + 1, place, last);
    this.#values.copyWithin(place + 1, place, last);
    this.#entries[place] = entry;
    this.#slots[place] = slot;
    this.#values[place] = value;
    if (before < 0) this.#count = Math.min(this.#count + 1, this.#limit);
    if (this.#count === this.#limit) this.least = (this.#values[this.#count - 1] as number) - SAME;
  }

  *[Symbol.iterator](): Iterator<RankedEntry> {
    for (let at = 0; at < this.#count; at += 1) {
      yield {
        entry: this.#entries[at] as number,
        slot: this.#slots[at] as number,
        value: this.#values[at] as number,
      };
    }
  }

  /** The place of an entry that is kept already, or -1. */
  #placeOfKept(entry: number, slot: number): number {
    // Most entries have one passage, and it is offered once.
    if (slot === entry && this.#entryOf[slot + 1] !== entry) return -1;
    return this.#entries.subarray(0, this.#count).indexOf(entry);
  }

  /** The place where an entry with this value belongs. */
  #placeOf(entry: number, value: number): number {
    let [from, until] = [0, this.#count];
    while (from < until) {
      const middle = (from + until) >> 1;
      if (this.#comesBefore(middle, entry, value)) from = middle + 1;
      else until = middle;
    }
    return from;
  }

  /** Best first; of equal ones, the older first, and one without a time last. */
  #comesBefore(place: number, entry: number, value: number): boolean {
    const kept = this.#values[place] as number;
    if (kept !== value) return kept > value;
    const other = this.#entries[place] as number;
    const [its, others] = [this.#timeOf(other), this.#timeOf(entry)];
    return its === others ? other < entry : its < others;
  }

  #timeOf(entry: number): number {
    return this.#index.details(entry).time[entry] || Number.POSITIVE_INFINITY;
  }
}
