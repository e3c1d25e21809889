import {
  BY_SPEAKER,
  ON_DATE,
  PASSAGE_ASKS,
  type PassageIndex,
  type Postings,
  SAID_MASK,
} from "./passage-index.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { STRETCH } from "./stretches.ts";

/** How far a word reaches to either side. */
export const REACH = 2;
/** Amounts begin and end so many slots outside of their stretch, where whoever reaches it may reach too. */
const MARGIN = 2 * REACH;

/** Finds how much there is of words in the slots of one stretch after the other. */
export class WordEvidence {
  readonly #index: PassageIndex;
  readonly #weights: RankingWeights;
  readonly #amounts = new Float32Array(MARGIN + STRETCH + MARGIN);
  /** By slot of the stretch. */
  readonly amounts = this.#amounts.subarray(MARGIN, MARGIN + STRETCH);
  /** The first slot that amounts are of. */
  #start = 0;
  /** Empty slots in it or beside it, and of the same session those that they stand for. */
  readonly #pads: number[] = [];
  readonly #standFor: number[] = [];

  constructor(index: PassageIndex, weights: RankingWeights) {
    this.#index = index;
    this.#weights = weights;
  }

  /** Turns to another stretch. */
  moveTo(stretch: number): void {
    const { columns, links, slots } = this.#index;
    const first = stretch * STRETCH;
    this.#start = first - MARGIN;
    this.#pads.length = 0;
    this.#standFor.length = 0;
    const end = Math.min(slots, first + STRETCH + REACH);
    for (let slot = Math.max(0, first - REACH); slot < end; slot += 1) {
      if (columns.session[slot] !== 0) continue;
      const to = links.get(slot);
      if (to === undefined) continue;
      this.#pads.push(slot);
      this.#standFor.push(to);
    }
  }

  /**
   * Sets `amounts` to how much there is of a word.
   *
   *     of "books"                   said   near   answer
   *     Hi!                                  .1
   *     How are you?                         .1
   *     Read any good books lately?   1
   *     Charlotte's Web!                     .1     .35
   *     I loved it as a child.               .1
   */
  read({ slots, hits }: Postings): void {
    const { flags } = this.#index.columns;
    const { speaker, date } = this.#weights;
    const amounts = this.#amounts;
    const end = this.#start + MARGIN + STRETCH + REACH;
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

/** Where a number is in ascending ones, or -1. */
export function placeOf(numbers: Uint32Array, number: number): number {
  const place = placeFrom(numbers, number);
  return numbers[place] === number ? place : -1;
}

/** Where the first of ascending ones is that is not less, if those before `behind` are. */
export function placeFrom(numbers: Uint32Array, least: number, behind = 0): number {
  let [from, until] = [behind, numbers.length];
  while (from < until) {
    const middle = (from + until) >> 1;
    if ((numbers[middle] as number) < least) from = middle + 1;
    else until = middle;
  }
  return from;
}

/** The length of a passage, in words, at which length counts neither for nor against it. */
const USUAL_LENGTH = 30;

/**
 * Of the most that a word can give, how much it gives when there is so much of it in a
 * passage: 1 for a word that a passage of usual length says once.
 */
export function saturated(amount: number, length: number, weights: RankingWeights): number {
  return (amount * (1 + weights.saturation)) / (amount + halfAt(length, weights));
}

/** By length of a passage, how much of a word gives half of the most. */
export function halvesAt(weights: RankingWeights): Float32Array {
  const known = HALVES.get(weights);
  if (known) return known;
  const halves = Float32Array.from({ length: LENGTHS }, (_, length) => halfAt(length, weights));
  HALVES.set(weights, halves);
  return halves;
}

const HALVES = new WeakMap<RankingWeights, Float32Array>();
const LENGTHS = 256;

function halfAt(length: number, weights: RankingWeights): number {
  return weights.saturation * (1 + weights.length * (length / USUAL_LENGTH - 1));
}
