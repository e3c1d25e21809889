import type { PassageIndex, Postings } from "../passage-index.ts";
import type { RankingWeights } from "../ranking-weights.ts";
import { type SessionCounts, withCounts } from "./session-counts.ts";
import {
  blocksLinked,
  blocksReached,
  boundsIn,
  mergeBounds,
  type WordBounds,
} from "./word-bounds.ts";

/** What a search needs of a word before it looks at passages. */
export interface WordSummary extends WordBounds, SessionCounts {}

interface Known {
  readonly summary: WordSummary;
  readonly weights: RankingWeights;
  /** The version of the index's links that the summary is true for. */
  readonly linksVersion: number;
  /** Postings that are not in the summary yet. */
  readonly added: Postings;
}

/**
 * The summary of a word. It is made at the first search for the word and kept as long as its
 * postings are. When postings were added or links changed, only the blocks that this reaches are
 * made again.
 */
export function wordSummary(
  index: PassageIndex,
  postings: Postings,
  weights: RankingWeights,
): WordSummary {
  const known = KNOWN.get(postings);
  const pads =
    known?.weights === weights ? index.links.changedSince(known.linksVersion) : undefined;
  if (known && pads?.length === 0 && known.added.slots.length === 0) return known.summary;
  const isGrown = known && pads && FEW * known.added.slots.length < postings.slots.length;
  const summary = isGrown
    ? withChanges(index, postings, weights, known.summary, known.added, pads)
    : withChanges(index, postings, weights, NO_SUMMARY, postings, []);
  KNOWN.set(postings, { summary, weights, linksVersion: index.links.version, added: NOTHING });
  return summary;
}

/** Passes the summary of a word on to its new postings, which are `from` and `added`. */
export function passOnSummary(from: Postings, to: Postings, added: Postings): void {
  const known = KNOWN.get(from);
  if (known?.added === NOTHING) KNOWN.set(to, { ...known, added });
}

function withChanges(
  index: PassageIndex,
  postings: Postings,
  weights: RankingWeights,
  summary: WordSummary,
  added: Postings,
  pads: readonly number[],
): WordSummary {
  const blocks = blocksReached(index, added, blocksLinked(index, postings, pads));
  return {
    ...mergeBounds(summary, boundsIn(index, postings, weights, blocks)),
    ...withCounts(index, summary, added),
  };
}

const KNOWN = new WeakMap<Postings, Known>();
/** When more than a fourth of the postings is new, all of the summary is made again. */
const FEW = 4;
const NOTHING: Postings = { slots: new Uint32Array(), hits: new Uint8Array() };
const NO_SUMMARY: WordSummary = {
  blocks: new Uint32Array(),
  upperBounds: new Uint8Array(),
  named: new Uint8Array(),
  sessions: new Uint32Array(),
  said: new Uint16Array(),
};
