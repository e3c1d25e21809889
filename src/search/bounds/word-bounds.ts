import { placeOf } from "../binary-search.ts";
import type { PassageIndex, Postings } from "../passage-index.ts";
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
    for (let at = word.from; at < word.until; at += 1) {
      const amount = amounts[at] as number;
      // An empty slot has length 0. A passage that comes there is longer, so the word adds less to it.
      const share = amount / (amount + (halves[length[start + at] ?? 0] as number));
      if (share > best) best = share;
    }
    upperBounds[place] = Math.ceil(best * BOUND_MAX);
    named[place] = word.isNamed ? 1 : 0;
  }
  return { blocks, upperBounds, named };
}

/** The blocks that postings reach, ascending, and those of `more`. */
export function blocksReached(
  { columns: { session, entry }, slots: end }: PassageIndex,
  { slots }: Postings,
  more: readonly number[] = [],
): Uint32Array {
  const isReached = new Uint8Array(blockOf(end + REACH) + 1);
  for (const block of more) isReached[block] = 1;
  for (let at = 0; at < slots.length; at += 1) {
    const slot = slots[at] as number;
    isReached[blockOf(slot - REACH)] = 1;
    isReached[blockOf(slot + REACH)] = 1;
    for (let near = slot - REACH; near <= slot + REACH; near += 1) {
      const to = session[near] === 0 ? (entry[near] as number) : 0;
      if (to !== 0) isReached[blockOf(to)] = 1;
    }
  }
  let count = 0;
  for (let block = 0; block < isReached.length; block += 1) count += isReached[block] as number;
  const blocks = new Uint32Array(count);
  for (let block = 0, at = 0; at < count; block += 1) {
    if (isReached[block] === 1) blocks[at++] = block;
  }
  return blocks;
}

/** The blocks around empty slots that stand for a slot with the word. */
export function blocksLinked(
  { columns: { session, entry } }: PassageIndex,
  { slots }: Postings,
  pads: readonly number[],
): number[] {
  return pads.flatMap((pad) => {
    const to = session[pad] === 0 ? (entry[pad] as number) : 0;
    if (to === 0 || placeOf(slots, to) < 0) return [];
    return [blockOf(pad - REACH), blockOf(pad + REACH)];
  });
}

/** Puts bounds of the same word together. Where both have a block, `newer` counts. Bounds of 0 go. */
export function mergeBounds(older: WordBounds, newer: WordBounds): WordBounds {
  if (older.blocks.length === 0 && !newer.upperBounds.includes(0)) return newer;
  const size = older.blocks.length + newer.blocks.length;
  const blocks = new Uint32Array(size);
  const upperBounds = new Uint8Array(size);
  const named = new Uint8Array(size);
  const blockAt = (from: WordBounds, place: number) =>
    from.blocks[place] ?? Number.POSITIVE_INFINITY;
  let count = 0;
  for (let [old, fresh] = [0, 0]; old < older.blocks.length || fresh < newer.blocks.length; ) {
    const isNewer = blockAt(newer, fresh) <= blockAt(older, old);
    if (blockAt(newer, fresh) === blockAt(older, old)) old += 1;
    const from = isNewer ? newer : older;
    const place = isNewer ? fresh++ : old++;
    // A speaker's name does not reach the passages around its own.
    if (from.upperBounds[place] === 0) continue;
    blocks[count] = from.blocks[place] as number;
    upperBounds[count] = from.upperBounds[place] as number;
    named[count] = from.named[place] as number;
    count += 1;
  }
  return {
    blocks: blocks.slice(0, count),
    upperBounds: upperBounds.slice(0, count),
    named: named.slice(0, count),
  };
}
