import type { PassageIndex } from "./passage-index.ts";

interface RankedEntry {
  readonly entry: number;
  /** Its best passage. */
  readonly slot: number;
  readonly value: number;
}

/** Values that differ less are the same: sums come out a little different in another order. */
const SAME = 1e-6;

/** Keeps the best of the entries whose passages it is offered, each as good as its best passage. */
export class BestEntries {
  readonly #times: Float64Array;
  readonly #limit: number;
  readonly #ranked: RankedEntry[] = [];
  readonly #values = new Map<number, number>();
  /** Whoever is worth less is not kept. */
  least = 0;

  constructor(index: PassageIndex, limit: number) {
    this.#times = index.columns.time;
    this.#limit = limit;
  }

  offer(entry: number, slot: number, exact: number): void {
    const value = Math.round(exact / SAME) * SAME;
    if (value < this.least) return;
    const before = this.#values.get(entry);
    if (before !== undefined && before >= value) return;
    if (before !== undefined) {
      this.#ranked.splice(
        this.#ranked.findIndex((ranked) => ranked.entry === entry),
        1,
      );
    }
    const ranked = { entry, slot, value };
    this.#ranked.splice(this.#placeOf(ranked), 0, ranked);
    this.#values.set(entry, value);
    if (this.#ranked.length > this.#limit) this.#values.delete(this.#ranked.pop()?.entry ?? -1);
    const last = this.#ranked.at(-1);
    if (last && this.#ranked.length === this.#limit) this.least = last.value - SAME;
  }

  [Symbol.iterator](): Iterator<RankedEntry> {
    return this.#ranked[Symbol.iterator]();
  }

  #placeOf(ranked: RankedEntry): number {
    let [from, until] = [0, this.#ranked.length];
    while (from < until) {
      const middle = (from + until) >> 1;
      const other = this.#ranked[middle];
      if (other && this.#comesBefore(other, ranked)) from = middle + 1;
      else until = middle;
    }
    return from;
  }

  /** The better one, of equal ones the older, one without a time last. */
  #comesBefore(one: RankedEntry, other: RankedEntry): boolean {
    if (one.value !== other.value) return one.value > other.value;
    const [its, others] = [
      this.#times[one.entry] || Infinity,
      this.#times[other.entry] || Infinity,
    ];
    return its === others ? one.entry < other.entry : its < others;
  }
}
