import { placeFrom, placeOf } from "./binary-search.ts";
import {
  BY_SPEAKER,
  ON_DATE,
  PASSAGE_ASKS,
  type PassageIndex,
  type Postings,
  SAID_MASK,
} from "./passage-index.ts";
import type { RankingWeights } from "./ranking-weights.ts";

/** Slots are scored, or skipped, in blocks of 64: slots 0 to 63, 64 to 127, and so on. */
export const BLOCK = 64;

export function blockOf(slot: number): number {
  return Math.floor(slot / BLOCK);
}

/** A word counts in the passage that says it, and in this many passages before and after. */
export const REACH = 2;
/** `#amounts` has this many slots more on each side: a word just outside the block reaches into it. */
const MARGIN = 2 * REACH;

/**
 * The amount of a word in each slot of a block: how often the passage says it, plus a
 * little for the passages around it.
 *
 *     of "books"                   said   near   answer
 *     Hi!                                  .1
 *     How are you?                         .1
 *     Read any good books lately?   1
 *     Charlotte's Web!                     .1     .35
 *     I loved it as a child.               .1
 */
export class WordAmounts {
  /** By slot of the block, of the word that was read last. */
  readonly amounts: Float32Array;
  readonly #index: PassageIndex;
  readonly #weights: RankingWeights;
  readonly #amounts = new Float32Array(MARGIN + BLOCK + MARGIN);
  /** The slot of the first of `#amounts`. */
  #start = 0;
  /** Empty slots in and near the block, … */
  readonly #pads: number[] = [];
  /** … and the slot of the same session that each stands for. */
  readonly #standFor: number[] = [];

  constructor(index: PassageIndex, weights: RankingWeights) {
    this.amounts = this.#amounts.subarray(MARGIN, MARGIN + BLOCK);
    this.#index = index;
    this.#weights = weights;
  }

  moveTo(block: number): void {
    const { columns, links, slots } = this.#index;
    const first = block * BLOCK;
    this.#start = first - MARGIN;
    this.#pads.length = 0;
    this.#standFor.length = 0;
    const end = Math.min(slots, first + BLOCK + REACH);
    for (let slot = Math.max(0, first - REACH); slot < end; slot += 1) {
      if (columns.session[slot] !== 0) continue;
      const to = links.get(slot);
      if (to === undefined) continue;
      this.#pads.push(slot);
      this.#standFor.push(to);
    }
  }

  /** Sets `amounts` to those of a word in the block. */
  read({ slots, hits }: Postings): void {
    const { flags } = this.#index.columns;
    const { speaker, date } = this.#weights;
    const amounts = this.#amounts;
    const end = this.#start + MARGIN + BLOCK + REACH;
    amounts.fill(0);
    const from = placeFrom(slots, this.#start + REACH);
    for (let index = from; index < slots.length; index += 1) {
      const slot = slots[index] as number;
      if (slot >= end) break;
      const hit = hits[index] as number;
      const at = slot - this.#start;
      const said = hit & SAID_MASK;
      (amounts[at] as number) +=
        said + ((hit & BY_SPEAKER) !== 0 ? speaker : 0) + ((hit & ON_DATE) !== 0 ? date : 0);
      if (said > 0) this.#spread(at, said, ((flags[slot] as number) & PASSAGE_ASKS) !== 0);
    }
    for (let number = 0; number < this.#pads.length; number += 1) {
      const there = this.#standFor[number] as number;
      const said = (hits[placeOf(slots, there)] ?? 0) & SAID_MASK;
      if (said === 0) continue;
      const at = (this.#pads[number] as number) - this.#start;
      this.#spread(at, said, ((flags[there] as number) & PASSAGE_ASKS) !== 0);
    }
  }

  #spread(at: number, said: number, asks: boolean): void {
    const amounts = this.#amounts;
    const { neighbour, answer } = this.#weights;
    const near = said * neighbour;
    for (let away = 1; away <= REACH; away += 1) {
      (amounts[at - away] as number) += near;
      (amounts[at + away] as number) += near;
    }
    if (asks) (amounts[at + 1] as number) += said * answer;
  }
}
