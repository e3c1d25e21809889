import {
  BY_SPEAKER,
  ON_DATE,
  PASSAGE_ASKS,
  type PassageIndex,
  type Postings,
  SAID_MASK,
} from "./passage-index.ts";
import type { RankingWeights } from "./ranking-weights.ts";

/** How far a word reaches to either side. */
export const REACH = 2;

/**
 * Adds to each slot how much there is of a word, and gives how many slots have any:
 * those are then the first of `touched`.
 *
 *     of "books"                   said   near   answer
 *     Hi!                                  .1
 *     How are you?                         .1
 *     Read any good books lately?   1
 *     Charlotte's Web!                     .1     .35
 *     I loved it as a child.               .1
 *
 * `amounts` is zeros before, and longer than the slots by `REACH`.
 */
export function spreadWord(
  { slots, hits }: Postings,
  flags: Uint8Array,
  weights: RankingWeights,
  amounts: Float32Array,
  touched: Uint32Array,
): number {
  const { speaker, date, neighbour, answer } = weights;
  let count = 0;
  for (let index = 0; index < slots.length; index += 1) {
    const slot = slots[index] as number;
    const hit = hits[index] as number;
    const said = hit & SAID_MASK;
    if (amounts[slot] === 0) touched[count++] = slot;
    (amounts[slot] as number) +=
      said + ((hit & BY_SPEAKER) !== 0 ? speaker : 0) + ((hit & ON_DATE) !== 0 ? date : 0);
    if (said === 0) continue;
    const near = said * neighbour;
    for (let away = 1; near > 0 && away <= REACH; away += 1) {
      if (amounts[slot + away] === 0) touched[count++] = slot + away;
      (amounts[slot + away] as number) += near;
      if (amounts[slot - away] === 0) touched[count++] = slot - away;
      (amounts[slot - away] as number) += near;
    }
    if (((flags[slot] as number) & PASSAGE_ASKS) !== 0) {
      if (amounts[slot + 1] === 0) touched[count++] = slot + 1;
      (amounts[slot + 1] as number) += said * answer;
    }
  }
  return count;
}

/**
 * Moves what has come to empty slots at the ends of runs to where the session goes on,
 * and gives how many slots have any now.
 */
export function followLinks(
  { columns, links }: PassageIndex,
  amounts: Float32Array,
  touched: Uint32Array,
  count: number,
): number {
  let more = count;
  for (let index = 0; index < count; index += 1) {
    const slot = touched[index] as number;
    if (columns.session[slot]) continue;
    const there = links.get(slot);
    if (there !== undefined) {
      if (amounts[there] === 0) touched[more++] = there;
      (amounts[there] as number) += amounts[slot] as number;
    }
    amounts[slot] = 0;
  }
  return more;
}

/**
 * Adds to each slot how much of a word's `share` its amount gives: half of it when there is
 * as much as `halves` has for the length of the passage. `amounts` is zeros again. Gives how
 * many slots have any of the question now: those are the first of `slots`.
 */
export function addShares(
  word: {
    readonly share: number;
    readonly amounts: Float32Array;
    readonly touched: Uint32Array;
    readonly count: number;
  },
  lengths: Uint8Array,
  halves: Float32Array,
  question: { readonly shares: Float32Array; readonly slots: Uint32Array; readonly count: number },
): number {
  const { amounts, touched, share } = word;
  const { shares, slots } = question;
  let count = question.count;
  for (let at = 0; at < word.count; at += 1) {
    const slot = touched[at] as number;
    const amount = amounts[slot] as number;
    if (amount === 0) continue;
    amounts[slot] = 0;
    if (shares[slot] === 0) slots[count++] = slot;
    const half = halves[lengths[slot] as number] as number;
    (shares[slot] as number) += (share * amount) / (amount + half);
  }
  return count;
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
  return Float32Array.from({ length: LENGTHS }, (_, length) => halfAt(length, weights));
}

const LENGTHS = 256;

function halfAt(length: number, weights: RankingWeights): number {
  return weights.saturation * (1 + weights.length * (length / USUAL_LENGTH - 1));
}
