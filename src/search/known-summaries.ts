import { changedSummary } from "./changed-summary.ts";
import type { PassageIndex, Postings } from "./passage-index.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { newSummary, type WordSummary } from "./word-summary.ts";

/**
 * Made when a word is first asked for. When it has come to be in more places, or links lead elsewhere,
 * what that changes is found anew; what comes to be in empty slots says nothing of the word.
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
  const summary =
    known && pads && FEW * known.added.slots.length < postings.slots.length
      ? changedSummary(index, postings, weights, { ...known, pads })
      : newSummary(index, postings, weights);
  KNOWN.set(postings, { summary, weights, linksVersion: index.links.version, added: NOTHING });
  return summary;
}

/** Passes on what is known of a word that has come to be in more places, which are `added`. */
export function passOnSummary(from: Postings, to: Postings, added: Postings): void {
  const known = KNOWN.get(from);
  if (known?.added === NOTHING) KNOWN.set(to, { ...known, added });
}

const NOTHING: Postings = { slots: new Uint32Array(), hits: new Uint8Array() };

interface Known {
  readonly summary: WordSummary;
  readonly weights: RankingWeights;
  /** The version of links that it is true for. */
  readonly linksVersion: number;
  /** Postings that are not in it. */
  readonly added: Postings;
}

const KNOWN = new WeakMap<Postings, Known>();
/** Of more than a fourth of all, it is made anew. */
const FEW = 4;
