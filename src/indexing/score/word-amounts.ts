import {
  BY_SPEAKER,
  ON_DATE,
  PASSAGE_ASKS,
  type PassageIndex,
  type Postings,
  placeFrom,
  placeOf,
  SAID_MASK,
} from "../passages/passage-index.ts";
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
  /** Only the slots of the block from `from` to `until` can have an amount. */
  from = 0;
  until = 0;
  /** Whether a speaker's name in the block has the word. */
  isNamed = false;
  readonly #index: PassageIndex;
  readonly #weights: RankingWeights;
  readonly #amounts = new Float32Array(MARGIN + BLOCK + MARGIN);
  /** The slot of the first of `#amounts`. */
  #start = 0;
  /** Empty slots in and near the block that stand for another slot of their session. */
  readonly #pads = new Uint32Array(REACH + BLOCK + REACH);
  #padCount = 0;

  constructor(index: PassageIndex, weights: RankingWeights) {
    this.amounts = this.#amounts.subarray(MARGIN, MARGIN + BLOCK);
    this.#index = index;
    this.#weights = weights;
  }

  moveTo(block: number): void {
    const { columns, slots } = this.#index;
    const { session, entry } = columns;
    const first = block * BLOCK;
    this.#start = first - MARGIN;
    let count = 0;
    const end = Math.min(slots, first + BLOCK + REACH);
    for (let slot = Math.max(0, first - REACH); slot < end; slot += 1) {
      if (session[slot] === 0 && entry[slot] !== 0) this.#pads[count++] = slot;
    }
    this.#padCount = count;
  }

  /** Sets `amounts` to those of a word in the block. */
  read({ slots, hits }: Postings): void {
    const { entry, flags } = this.#index.columns;
    const { speaker, date } = this.#weights;
    const amounts = this.#amounts;
    const end = this.#start + MARGIN + BLOCK + REACH;
    const start = placeFrom(slots, this.#start + REACH);
    amounts.fill(0);
    this.isNamed = false;
    // Most blocks have none of the word.
    if (this.#padCount === 0 && !((slots[start] as number) < end)) {
      this.from = 0;
      this.until = 0;
      return;
    }
    let [first, last] = [amounts.length, -1];
    for (let index = start; index < slots.length; index += 1) {
      const slot = slots[index] as number;
      if (slot >= end) break;
      const hit = hits[index] as number;
      const at = slot - this.#start;
      first = Math.min(first, at);
      last = at;
      if ((hit & BY_SPEAKER) !== 0 && at >= MARGIN && at < MARGIN + BLOCK) this.isNamed = true;
      const said = hit & SAID_MASK;
      (amounts[at] as number) +=
        said + ((hit & BY_SPEAKER) !== 0 ? speaker : 0) + ((hit & ON_DATE) !== 0 ? date : 0);
      if (said > 0) this.#spread(at, said, ((flags[slot] as number) & PASSAGE_ASKS) !== 0);
    }
    for (let number = 0; number < this.#padCount; number += 1) {
      const pad = this.#pads[number] as number;
      const there = entry[pad] as number;
      const place = placeOf(slots, there);
      const said = place < 0 ? 0 : (hits[place] as number) & SAID_MASK;
      if (said === 0) continue;
      const at = pad - this.#start;
      first = Math.min(first, at);
      last = Math.max(last, at);
      this.#spread(at, said, ((flags[there] as number) & PASSAGE_ASKS) !== 0);
    }
    this.from = Math.max(0, first - REACH - MARGIN);
    this.until = Math.min(BLOCK, last + REACH + 1 - MARGIN);
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

/** A passage of this many words scores the same whatever `RankingWeights.length` is. */
const USUAL_LENGTH = 30;

/**
 * How much a word adds, given its amount in a passage: 1 for a word that a passage of usual
 * length says once. More of it adds less and less, up to `1 + saturation`.
 */
export function saturated(amount: number, length: number, weights: RankingWeights): number {
  return (amount * (1 + weights.saturation)) / (amount + halfAt(length, weights));
}

/** For each length of a passage, the amount of a word that adds half of the maximum. */
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

const NONE: ReadonlyMap<number, number> = new Map();

/** How often the entries that begin in these slots say a word, by session; only sessions where they do. */
export function timesBySession(
  { slots, columns }: PassageIndex,
  postings: Postings,
  entries: readonly number[],
): ReadonlyMap<number, number> {
  if (entries.length === 0) return NONE;
  const times = new Map<number, number>();
  for (const first of entries) {
    let said = 0;
    for (let slot = first; slot < slots && columns.entry[slot] === first; slot += 1)
      said += (postings.hits[placeOf(postings.slots, slot)] ?? 0) & SAID_MASK;
    const session = columns.session[first] as number;
    if (said > 0) times.set(session, (times.get(session) ?? 0) + said);
  }
  return times;
}

/** The sessions in which an entry that begins in none of these slots has a word: 1 by the number of a session, else 0. */
export function sessionsBeside(
  { columns: { entry, session }, lastSession }: PassageIndex,
  { slots }: Postings,
  entries: readonly number[],
): Uint8Array {
  const without = new Set(entries);
  const beside = new Uint8Array(lastSession + 1);
  for (let at = 0; at < slots.length; at += 1) {
    const slot = slots[at] as number;
    if (!without.has(entry[slot] as number)) beside[session[slot] as number] = 1;
  }
  return beside;
}
