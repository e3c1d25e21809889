import type { MemoryFilter, ScoreExplanation } from "../core/memory-store.ts";
import { BestEntries } from "./best-entries.ts";
import { BlockShares } from "./block-shares.ts";
import { QuestionBounds } from "./bounds/question-bounds.ts";
import { explainScore } from "./explain-score.ts";
import { type Likelihood, likelihoodOf } from "./likelihood.ts";
import { OwnWords } from "./own-words.ts";
import { PASSAGE_ASKS, type PassageIndex } from "./passage-index.ts";
import { readQuestion } from "./question.ts";
import { type QuestionEvidence, questionEvidence } from "./question-evidence.ts";
import { RANKING, type RankingWeights } from "./ranking-weights.ts";
import { completeRelevance, confidenceOf, floorOf, scoreOf } from "./score.ts";
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
 * `scoreOf` turns the relevance into a score from 0 to 1. An entry that has all words of the question
 * scores `COMPLETE_SCORE` at least. An entry that has none of them is a result only as the answer to a
 * question that has some.
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
  const own = new OwnWords(index, evidence.words);
  const confidence = confidenceOf(evidence);
  const answers = bestAnswers({ index, bounds, evidence, likelihood, own, query, weights });
  const best = withComplete(answers, index, own, query, completeRelevance(question) / confidence);
  const floor = query.minScore ?? floorOf(index);
  return [...best].flatMap(({ entry: first, slot, value }) => {
    const relevance = value * confidence;
    const score = scoreOf(relevance, question);
    if (score === 0 || score < floor) return [];
    const explanation = query.explain
      ? { explanation: explainScore(index, evidence, likelihood, { slot, relevance }, weights) }
      : {};
    return [{ slot: first, score, ...explanation }];
  });
}

interface Search {
  readonly index: PassageIndex;
  readonly bounds: QuestionBounds;
  readonly evidence: QuestionEvidence;
  readonly likelihood: Likelihood;
  readonly own: OwnWords;
  readonly query: EntryQuery;
  readonly weights: RankingWeights;
}

function bestAnswers({
  index,
  bounds,
  evidence,
  likelihood,
  own,
  query,
  weights,
}: Search): BestEntries {
  const { entry, session, flags } = index.columns;
  const best = new BestEntries(index, query.limit);
  const wanted = slotFilter(index, query);
  const blockShares = new BlockShares(index, evidence.words, weights);
  const answers = (slot: number) => {
    const before = session[slot - 1] ? slot - 1 : (entry[slot - 1] as number);
    return ((flags[before] as number) & PASSAGE_ASKS) !== 0;
  };
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
      const value = relevance * likelihood(slot);
      if (value < best.least || !(own.hasAny(entry[slot] as number) || answers(slot))) continue;
      best.offer(entry[slot] as number, slot, value);
    }
  }
  return best;
}

/** The best, when entries that have all words of the question have this value at least. */
function withComplete(
  best: BestEntries,
  index: PassageIndex,
  own: OwnWords,
  query: EntryQuery,
  value: number,
): BestEntries {
  if (best.least >= value) return best;
  const complete = own.complete();
  if (complete.size === 0) return best;
  const wanted = slotFilter(index, query);
  const all = new BestEntries(index, query.limit);
  for (const found of best) {
    const isRaised = found.value < value && complete.has(found.entry);
    all.offer(found.entry, found.slot, isRaised ? value : found.value);
    complete.delete(found.entry);
  }
  for (const entry of complete) if (wanted(entry)) all.offer(entry, entry, value);
  return all;
}
