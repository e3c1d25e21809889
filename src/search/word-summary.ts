import { BY_SPEAKER, type PassageIndex, type Postings, SAID_MASK } from "./passage-index.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { STRETCH, stretchOf } from "./stretches.ts";
import { halvesAt, REACH, WordEvidence } from "./word-evidence.ts";

/** What a word gives each stretch of slots at most, and what it gives each session. */
export interface WordSummary {
  /** Stretches that the word reaches, ascending; of each … */
  readonly stretches: Uint32Array;
  /** … the first posting that is there or next to it, … */
  readonly first: Uint32Array;
  /** … the most that the word gives one of its slots (`saturated`), … */
  readonly most: Float32Array;
  /** … and 1 where a speaker's name has it. */
  readonly named: Uint8Array;
  /** Sessions that have the word. */
  readonly sessions: Uint32Array;
  /** How much of it each of them has, on a scale from 0 to `1 + SESSION_SATURATION`. */
  readonly inSessions: Float32Array;
}

/** How much of a word in a session is half of the most that it can give. */
const SESSION_SATURATION = 1.2;

/**
 * Made when a word is first asked for, and true as long as its postings and the links are: what
 * comes to be in empty slots later says nothing of the word.
 */
export function wordSummary(
  index: PassageIndex,
  postings: Postings,
  weights: RankingWeights,
): WordSummary {
  const known = KNOWN.get(postings);
  if (known?.weights === weights && known.links === index.links.version) return known.summary;
  const summary = { ...ofStretches(index, postings, weights), ...ofSessions(index, postings) };
  KNOWN.set(postings, { summary, weights, links: index.links.version });
  return summary;
}

const KNOWN = new WeakMap<
  Postings,
  {
    readonly summary: WordSummary;
    readonly weights: RankingWeights;
    readonly links: number;
  }
>();

function ofStretches(index: PassageIndex, postings: Postings, weights: RankingWeights) {
  const { length } = index.columns;
  const stretches = stretchesReached(index, postings.slots);
  const first = new Uint32Array(stretches.length);
  const most = new Float32Array(stretches.length);
  const named = new Uint8Array(stretches.length);
  const halves = halvesAt(weights);
  const evidence = new WordEvidence(index, weights);
  let from = 0;
  for (let number = 0; number < stretches.length; number += 1) {
    const stretch = stretches[number] as number;
    const start = stretch * STRETCH;
    while ((postings.slots[from] as number) < start - REACH) from += 1;
    first[number] = from;
    evidence.moveTo(stretch);
    evidence.read(postings, from);
    let best = 0;
    for (let at = 0; at < STRETCH; at += 1) {
      const amount = evidence.amounts[at] as number;
      if (amount === 0) continue;
      // Of an empty slot the length is 0: whatever comes there is longer, and has less.
      const share = amount / (amount + (halves[length[start + at] ?? 0] as number));
      if (share > best) best = share;
    }
    most[number] = best * (1 + weights.saturation);
    named[number] = isNamedIn(stretch, postings, from) ? 1 : 0;
  }
  return { stretches, first, most, named };
}

/** The stretches that are reached from slots, ascending. */
function stretchesReached({ columns, links }: PassageIndex, slots: Uint32Array): Uint32Array {
  const reached: number[] = [];
  const linked: number[] = [];
  for (const slot of slots) {
    const last = stretchOf(slot + REACH);
    const from = Math.max(stretchOf(slot - REACH), (reached.at(-1) ?? -1) + 1);
    for (let stretch = from; stretch <= last; stretch += 1) reached.push(stretch);
    for (let away = -REACH; away <= REACH; away += 1) {
      if (columns.session[slot + away] !== 0) continue;
      const to = links.get(slot + away);
      if (to !== undefined && stretchOf(to) !== last) linked.push(stretchOf(to));
    }
  }
  return linked.length === 0
    ? Uint32Array.from(reached)
    : Uint32Array.from(new Set([...reached, ...linked])).sort();
}

function isNamedIn(stretch: number, { slots, hits }: Postings, from: number): boolean {
  const end = (stretch + 1) * STRETCH;
  for (let index = from; index < slots.length && (slots[index] as number) < end; index += 1) {
    if (((hits[index] as number) & BY_SPEAKER) !== 0) return true;
  }
  return false;
}

/** A session says a word as often as all its passages do; one where only names or dates have it, 0 times. */
function ofSessions({ columns }: PassageIndex, { slots, hits }: Postings) {
  const times = new Map<number, number>();
  for (let index = 0; index < slots.length; index += 1) {
    const number = columns.session[slots[index] as number] as number;
    times.set(number, (times.get(number) ?? 0) + ((hits[index] as number) & SAID_MASK));
  }
  return {
    sessions: Uint32Array.from(times.keys()),
    inSessions: Float32Array.from(
      times.values(),
      (said) => ((1 + SESSION_SATURATION) * said) / (said + SESSION_SATURATION),
    ),
  };
}
