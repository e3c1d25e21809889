import { BY_SPEAKER, type PassageIndex, type Postings, SAID_MASK } from "./passage-index.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { STRETCH, stretchOf } from "./stretches.ts";
import { halvesAt, placeOf, REACH, WordEvidence } from "./word-evidence.ts";
import { ALL, SAID_MAX, stretchesNamed, type WordSummary } from "./word-summary.ts";

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
  const stretches = new Set([...reachedFrom(index, added), ...linkedTo(index, postings, pads)]);
  const most = mostIn(
    index,
    postings,
    weights,
    [...stretches].sort((one, other) => one - other),
  );
  const isNamed = added.hits.some((hit) => (hit & BY_SPEAKER) !== 0);
  return {
    ...withMost(summary, most),
    ...withSaid(index, summary, added),
    named: isNamed ? stretchesNamed(postings) : summary.named,
  };
}

/** The stretches that postings reach. */
function* reachedFrom({ columns, links }: PassageIndex, { slots }: Postings): Generator<number> {
  for (const slot of slots) {
    for (let near = slot - REACH; near <= slot + REACH; near += 1) {
      const to = columns.session[near] === 0 ? links.get(near) : near;
      if (to !== undefined) yield stretchOf(to);
      yield stretchOf(near);
    }
  }
}

/** The stretches around those empty slots that stand for one where the word is. */
function* linkedTo(
  { links }: PassageIndex,
  { slots }: Postings,
  pads: readonly number[],
): Generator<number> {
  for (const pad of pads) {
    const to = links.get(pad);
    if (to === undefined || placeOf(slots, to) < 0) continue;
    yield stretchOf(pad - REACH);
    yield stretchOf(pad + REACH);
  }
}

type Most = Pick<WordSummary, "stretches" | "most">;

function mostIn(
  index: PassageIndex,
  postings: Postings,
  weights: RankingWeights,
  stretches: readonly number[],
): Most {
  const { length } = index.columns;
  const halves = halvesAt(weights);
  const evidence = new WordEvidence(index, weights);
  const most = stretches.map((stretch) => {
    evidence.moveTo(stretch);
    evidence.read(postings);
    let best = 0;
    for (const [at, amount] of evidence.amounts.entries()) {
      const half = halves[length[stretch * STRETCH + at] ?? 0] as number;
      best = Math.max(best, amount / (amount + half));
    }
    return Math.ceil(best * ALL);
  });
  return { stretches: Uint32Array.from(stretches), most: Uint8Array.from(most) };
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

/** What sessions say, with what is new. */
function withSaid(
  { columns }: PassageIndex,
  { sessions, said }: WordSummary,
  { slots, hits }: Postings,
): Pick<WordSummary, "sessions" | "said"> {
  const more = new Map<number, number>();
  for (const [at, slot] of slots.entries()) {
    const session = columns.session[slot] as number;
    more.set(session, (more.get(session) ?? 0) + ((hits[at] as number) & SAID_MASK));
  }
  const fresh = [...more.keys()].filter((session) => !sessions.includes(session));
  const allSessions = new Uint32Array(sessions.length + fresh.length);
  const allSaid = new Uint16Array(allSessions.length);
  allSessions.set(sessions);
  allSessions.set(fresh, sessions.length);
  allSaid.set(said);
  for (const [session, times] of more) {
    const place = allSessions.indexOf(session);
    allSaid[place] = Math.min((allSaid[place] as number) + times, SAID_MAX);
  }
  return { sessions: allSessions, said: allSaid };
}
