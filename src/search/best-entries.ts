import type { PassageIndex } from "./passage-index.ts";

interface RankedEntry {
  readonly entry: number;
  /** Its best passage. */
  readonly slot: number;
  readonly value: number;
}

/** Values that differ less are the same: sums come out a little different in another order. */
const SAME = 1e-6;

/** Keeps the best of the entries whose passages it is offered, each once and as good as its best passage. */
export class BestEntries {
  readonly #index: PassageIndex;
  readonly #entryOf: Uint32Array;
  readonly #limit: number;
  // Those kept, the best first.
  readonly #entries: Uint32Array;
  readonly #slots: Uint32Array;
  readonly #values: Float64Array;
  #count = 0;
  /** Whoever is worth less is not kept. */
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
    const before = this.#placeOfKnown(entry, slot);
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

  /** Where the entry is already, or -1. */
  #placeOfKnown(entry: number, slot: number): number {
    // Most have one passage, which is offered once.
    if (slot === entry && this.#entryOf[slot + 1] !== entry) return -1;
    return this.#entries.subarray(0, this.#count).indexOf(entry);
  }

  #placeOf(entry: number, value: number): number {
    let [from, until] = [0, this.#count];
    while (from < until) {
      const middle = (from + until) >> 1;
      if (this.#comesBefore(middle, entry, value)) from = middle + 1;
      else until = middle;
    }
    return from;
  }

  /** The better one, of equal ones the older, one without a time last. */
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
