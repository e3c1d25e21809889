import { placeFrom } from "./binary-search.ts";
import type { PassageIndex } from "./passage-index.ts";
import type { AskedWord } from "./question-evidence.ts";

/**
 * Which words of a question an entry itself has: in its text, in the name of its speaker, or in its
 * date. Words around it do not count. An entry is named by its first slot.
 */
export class OwnWords {
  readonly #index: PassageIndex;
  /** The rarest first. */
  readonly #words: readonly AskedWord[];

  constructor(index: PassageIndex, words: readonly AskedWord[]) {
    this.#index = index;
    this.#words = words.toSorted(
      (one, other) => one.postings.slots.length - other.postings.slots.length,
    );
  }

  hasAny(entry: number): boolean {
    return this.#words.some((word) => this.#has(entry, word));
  }

  hasAll(entry: number): boolean {
    return this.#words.every((word) => this.#has(entry, word));
  }

  /** The entries that have all words. */
  complete(): Set<number> {
    const { entry, session } = this.#index.columns;
    const found = new Set<number>();
    for (const slot of this.#words[0]?.postings.slots ?? []) {
      const first = entry[slot] as number;
      if (session[slot] !== 0 && !found.has(first) && this.hasAll(first)) found.add(first);
    }
    return found;
  }

  #has(entry: number, { postings: { slots } }: AskedWord): boolean {
    const slot = slots[placeFrom(slots, entry)];
    return slot !== undefined && this.#index.columns.entry[slot] === entry;
  }
}
