import type { MemoryFilter, ScoreExplanation } from "../core/memory-store.ts";
import { BestEntries } from "./best-entries.ts";
import { BlockShares } from "./block-shares.ts";
import { QuestionBounds } from "./bounds/question-bounds.ts";
import { explainScore } from "./explain-score.ts";
import { type Likelihood, likelihoodOf } from "./likelihood.ts";
import type { PassageIndex } from "./passage-index.ts";
import { readQuestion } from "./question.ts";
import { type QuestionEvidence, questionEvidence } from "./question-evidence.ts";
import { RANKING, type RankingWeights } from "./ranking-weights.ts";
import { confidenceOf, SCORE_FLOOR, scoreOf } from "./score.ts";
import type { ScratchArrays } from "./scratch.ts";
import { slotFilter } from "./slot-filter.ts";
import { BLOCK, blockOf } from "./word-amounts.ts";

export interface EntryQuery extends MemoryFilter {
  readonly texts: readonly string[];
  readonly limit: number;
  readonly minScore?: number;
  readonly explain?: boolean;
}

/** A result. */
export interface FoundEntry {
  /** The first slot of the entry. */
  readonly slot: number;
  readonly score: number;
  readonly explanation?: ScoreExplanation;
}

/**
 * Finds entries that answer any of the questions, best first. Of two with the same score, the older
 * comes first. An entry is as relevant as its best passage:
 *
 *     relevance = (share + 0.45 · share of its session) · likelihood
 *
 *     share        how many of the question's words are in the passage and around it, by their rarity
 *     likelihood   larger for a speaker whom the question names, smaller for the assistant, …
 *
 * `scoreOf` turns the relevance into a score from 0 to 1.
 */
export function findEntries(
  index: PassageIndex,
  query: EntryQuery,
  weights: RankingWeights = RANKING,
): readonly FoundEntry[] {
  if (query.limit <= 0) return [];
  const found = new Map<number, FoundEntry>();
  for (const text of query.texts) {
    for (const entry of findAnswers(index, text, query, weights)) {
      if (entry.score > (found.get(entry.slot)?.score ?? 0)) found.set(entry.slot, entry);
    }
  }
  return [...found.values()].sort((one, other) => other.score - one.score).slice(0, query.limit);
}

function findAnswers(
  index: PassageIndex,
  text: string,
  query: EntryQuery,
  weights: RankingWeights,
): readonly FoundEntry[] {
  return index.scratch.lend(index.lastSession + 1, blockOf(index.slots) + 1, (arrays) =>
    findWith(arrays, index, text, query, weights),
  );
}

function findWith(
  arrays: ScratchArrays,
  index: PassageIndex,
  text: string,
  query: EntryQuery,
  weights: RankingWeights,
): readonly FoundEntry[] {
  const question = readQuestion(text);
  const evidence = questionEvidence(index, question, weights, arrays);
  const bounds = new QuestionBounds(index, question, evidence, weights, arrays);
  const likelihood = likelihoodOf(index, question, weights);
  const best = bestAnswers(index, bounds, evidence, likelihood, query, weights);
  const confidence = confidenceOf(evidence);
  const floor = query.minScore ?? SCORE_FLOOR;
  return [...best].flatMap(({ entry: first, slot, value }) => {
    const score = scoreOf(value * confidence, question);
    if (score === 0 || score < floor) return [];
    const explanation = query.explain
      ? { explanation: explainScore(index, evidence, likelihood, slot, weights) }
      : {};
    return [{ slot: first, score, ...explanation }];
  });
}

function bestAnswers(
  index: PassageIndex,
  bounds: QuestionBounds,
  evidence: QuestionEvidence,
  likelihood: Likelihood,
  query: EntryQuery,
  weights: RankingWeights,
): BestEntries {
  const { entry, session } = index.columns;
  const best = new BestEntries(index, query.limit);
  const wanted = slotFilter(index, query);
  const blockShares = new BlockShares(index, evidence.words, weights);
  for (const block of bounds.order) {
    if (!bounds.anyCanReach(block, best.least)) break;
    if (!bounds.canReach(block, best.least)) continue;
    const shares = blockShares.read(block);
    const likely = bounds.likelihood(block);
    for (let at = 0; at < BLOCK; at += 1) {
      const slot = block * BLOCK + at;
      const share = shares[at] as number;
      const number = session[slot];
      if (share === 0 || !number) continue;
      const relevance = share + weights.session * (evidence.sessionShares[number] as number);
      if (relevance * likely < best.least || !wanted(slot)) continue;
      best.offer(entry[slot] as number, slot, relevance * likelihood(slot));
    }
  }
  return best;
}
