import { placeFrom, placeOf } from "../binary-search.ts";
import { BY_SPEAKER, type PassageIndex, type Postings } from "../passage-index.ts";
import type { RankingWeights } from "../ranking-weights.ts";
import { halvesAt } from "../saturation.ts";
import { BLOCK, blockOf, REACH, WordAmounts } from "../word-amounts.ts";

/** An upper bound per block of what a word can add to the share of one of its slots. */
export interface WordBounds {
  /** The blocks that the word reaches, ascending. */
  readonly blocks: Uint32Array;
  /** For each of them the upper bound, above 0. `BOUND_MAX` stands for all that a word can add. */
  readonly upperBounds: Uint8Array;
  /** For each of them 1 where a speaker's name has the word, else 0. */
  readonly named: Uint8Array;
}

export const BOUND_MAX = 255;

/** The bounds in some blocks. */
export function boundsIn(
  index: PassageIndex,
  postings: Postings,
  weights: RankingWeights,
  blocks: Uint32Array,
): WordBounds {
  const { length } = index.columns;
  const halves = halvesAt(weights);
  const word = new WordAmounts(index, weights);
  const { amounts } = word;
  const upperBounds = new Uint8Array(blocks.length);
  const named = new Uint8Array(blocks.length);
  for (let place = 0; place < blocks.length; place += 1) {
    const block = blocks[place] as number;
    const start = block * BLOCK;
    word.moveTo(block);
    word.read(postings);
    let best = 0;
    for (let at = 0; at < BLOCK; at += 1) {
      const amount = amounts[at] as number;
      if (amount === 0) continue;
      // An empty slot has length 0. A passage that comes there is longer, so the word adds less to it.
      best = Math.max(best, amount / (amount + (halves[length[start + at] ?? 0] as number)));
    }
    upperBounds[place] = Math.ceil(best * BOUND_MAX);
    named[place] = isNamedIn(postings, block) ? 1 : 0;
  }
  return { blocks, upperBounds, named };
}

function isNamedIn({ slots, hits }: Postings, block: number): boolean {
  const end = (block + 1) * BLOCK;
  for (let at = placeFrom(slots, block * BLOCK); (slots[at] ?? end) < end; at += 1) {
    if (((hits[at] as number) & BY_SPEAKER) !== 0) return true;
  }
  return false;
}

/** The blocks that postings reach, ascending, and those of `more`. */
export function blocksReached(
  { columns: { session }, links }: PassageIndex,
  { slots }: Postings,
  more: readonly number[] = [],
): Uint32Array {
  const blocks = [...more];
  const add = (block: number) => {
    if (block !== blocks.at(-1)) blocks.push(block);
  };
  for (let at = 0; at < slots.length; at += 1) {
    const slot = slots[at] as number;
    add(blockOf(slot - REACH));
    add(blockOf(slot + REACH));
    for (let near = slot - REACH; near <= slot + REACH; near += 1) {
      const to = session[near] === 0 ? links.get(near) : undefined;
      if (to !== undefined) add(blockOf(to));
    }
  }
  return Uint32Array.from(blocks)
    .sort()
    .filter((block, at, sorted) => block !== sorted[at - 1]);
}

/** The blocks around empty slots that stand for a slot with the word. */
export function blocksLinked(
  { links }: PassageIndex,
  { slots }: Postings,
  pads: readonly number[],
): number[] {
  return pads.flatMap((pad) => {
    const to = links.get(pad);
    if (to === undefined || placeOf(slots, to) < 0) return [];
    return [blockOf(pad - REACH), blockOf(pad + REACH)];
  });
}

/** Puts bounds of the same word together. Where both have a block, `newer` counts. Bounds of 0 go. */
export function mergeBounds(older: WordBounds, newer: WordBounds): WordBounds {
  const size = older.blocks.length + newer.blocks.length;
  const blocks = new Uint32Array(size);
  const upperBounds = new Uint8Array(size);
  const named = new Uint8Array(size);
  let [count, at] = [0, 0];
  const take = (from: WordBounds, place: number) => {
    // A speaker's name does not reach the passages around its own.
    if (from.upperBounds[place] === 0) return;
    blocks[count] = from.blocks[place] as number;
    upperBounds[count] = from.upperBounds[place] as number;
    named[count] = from.named[place] as number;
    count += 1;
  };
  for (let place = 0; place < older.blocks.length; place += 1) {
    const block = older.blocks[place] as number;
    while (at < newer.blocks.length && (newer.blocks[at] as number) < block) take(newer, at++);
    if (newer.blocks[at] !== block) take(older, place);
  }
  while (at < newer.blocks.length) take(newer, at++);
  return {
    blocks: blocks.slice(0, count),
    upperBounds: upperBounds.slice(0, count),
    named: named.slice(0, count),
  };
}
