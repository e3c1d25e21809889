import { BY_SPEAKER, type PassageIndex, type Postings } from "./passage-index.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { STRETCH, stretchOf } from "./stretches.ts";
import { halvesAt, placeOf, REACH, WordEvidence } from "./word-evidence.ts";
import { ALL, sessionsWith, stretchesNamed, type WordSummary } from "./word-summary.ts";

/** What has changed since a summary was made. */
export interface SummaryChange {
  readonly summary: WordSummary;
  /** Of the postings, those that are new. */
  readonly added: Postings;
  /** Empty slots that have come to stand for others. */
  readonly pads: readonly number[];
}

/** A summary as it has to be now: only stretches that something new reaches are looked at. */
export function changedSummary(
  index: PassageIndex,
  postings: Postings,
  weights: RankingWeights,
  { summary, added, pads }: SummaryChange,
): WordSummary {
  const stretches = new Set<number>();
  addReached(index, added, stretches);
  addLinked(index, postings, pads, stretches);
  const most = mostIn(index, postings, weights, Uint32Array.from(stretches).sort());
  const isNamed = added.hits.some((hit) => (hit & BY_SPEAKER) !== 0);
  return {
    ...withMost(summary, most),
    ...sessionsWith(index, summary, added),
    named: isNamed ? stretchesNamed(postings) : summary.named,
  };
}

/** The stretches that postings reach. */
function addReached(
  { columns: { session }, links }: PassageIndex,
  { slots }: Postings,
  stretches: Set<number>,
): void {
  for (let at = 0; at < slots.length; at += 1) {
    const slot = slots[at] as number;
    stretches.add(stretchOf(slot - REACH)).add(stretchOf(slot + REACH));
    for (let near = slot - REACH; near <= slot + REACH; near += 1) {
      const to = session[near] === 0 ? links.get(near) : undefined;
      if (to !== undefined) stretches.add(stretchOf(to));
    }
  }
}

/** The stretches around those empty slots that stand for one where the word is. */
function addLinked(
  { links }: PassageIndex,
  { slots }: Postings,
  pads: readonly number[],
  stretches: Set<number>,
): void {
  for (const pad of pads) {
    const to = links.get(pad);
    if (to === undefined || placeOf(slots, to) < 0) continue;
    stretches.add(stretchOf(pad - REACH)).add(stretchOf(pad + REACH));
  }
}

type Most = Pick<WordSummary, "stretches" | "most">;

function mostIn(
  index: PassageIndex,
  postings: Postings,
  weights: RankingWeights,
  stretches: Uint32Array,
): Most {
  const { length } = index.columns;
  const halves = halvesAt(weights);
  const evidence = new WordEvidence(index, weights);
  const { amounts } = evidence;
  const most = new Uint8Array(stretches.length);
  for (let place = 0; place < stretches.length; place += 1) {
    const start = (stretches[place] as number) * STRETCH;
    evidence.moveTo(stretches[place] as number);
    evidence.read(postings);
    let best = 0;
    for (let at = 0; at < STRETCH; at += 1) {
      const amount = amounts[at] as number;
      if (amount === 0) continue;
      best = Math.max(best, amount / (amount + (halves[length[start + at] ?? 0] as number)));
    }
    most[place] = Math.ceil(best * ALL);
  }
  return { stretches, most };
}

/** The one with the other's in their places. */
function withMost(one: Most, other: Most): Most {
  const stretches = new Uint32Array(one.stretches.length + other.stretches.length);
  const most = new Uint8Array(stretches.length);
  let [count, at] = [0, 0];
  const take = (from: Most, place: number) => {
    stretches[count] = from.stretches[place] as number;
    most[count] = from.most[place] as number;
    count += 1;
  };
  for (let place = 0; place < one.stretches.length; place += 1) {
    const stretch = one.stretches[place] as number;
    while (at < other.stretches.length && (other.stretches[at] as number) < stretch)
      take(other, at++);
    if (other.stretches[at] === stretch) take(other, at++);
    else take(one, place);
  }
  while (at < other.stretches.length) take(other, at++);
  return { stretches: stretches.slice(0, count), most: most.slice(0, count) };
}
