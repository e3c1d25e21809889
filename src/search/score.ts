import type { Question } from "./question.ts";
import type { QuestionEvidence } from "./question-evidence.ts";

/**
 * Entries with a lower score are not results, unless the query sets another floor. With this
 * floor, 1 in 100 questions that have an answer gets no result (LoCoMo, REALTALK, BEAM), and 7
 * in 10 questions about something else get none (`docs/decisions/0004-ranking.md`).
 */
export const SCORE_FLOOR = 0.3;

/** How fast a score nears 1. A passage with all words of the question, and nothing else for it, scores 0.8. */
const STEEPNESS = 1.6;
/** The power of a long question, and what is added for a short one. */
const LONG = 0.75;
const SHORT = 1.5;
/** A question that names a speaker of this store is likely about this store. */
const SPEAKER_KNOWN = 1.5;

/**
 * A score from 0 to 1 that grows with the relevance. Scores of different questions are comparable.
 *
 *     score = 1 - e^(-1.6 · relevance^(0.75 + 1.5 / words))
 *
 * The relevance is about the share of the question's words that a passage has. One word of two is
 * there by chance more often than four of eight, so the same share of a shorter question scores less.
 */
export function scoreOf(relevance: number, question: Question): number {
  return 1 - Math.exp(-STEEPNESS * relevance ** power(question));
}

function power(question: Question): number {
  return LONG + SHORT / Math.max(1, question.words.length);
}

/**
 * How likely it is that the question is about anything in this store: 1 when one session has all
 * of its words, more when it names a speaker. It is the same for all entries, so it decides
 * whether there are results, and not their order.
 */
export function confidenceOf(
  evidence: Pick<QuestionEvidence, "bestCovered" | "namesSpeaker">,
): number {
  return Math.sqrt(evidence.bestCovered) * (evidence.namesSpeaker ? SPEAKER_KNOWN : 1);
}

/** Scores up to this are reported as they are. Above it, they are pressed together below 1. */
const REPORTED_AS_IS = 0.8;
/** The most that any text scores except the question's own. */
const NOT_THE_SAME_MAX = 0.95;

/** The score that a store reports for a text that is not the question's own, which scores 1. Order is kept. */
export function reportedScore(score: number): number {
  if (score <= REPORTED_AS_IS) return score;
  const part = (Math.min(score, 1) - REPORTED_AS_IS) / (1 - REPORTED_AS_IS);
  return REPORTED_AS_IS + part * (NOT_THE_SAME_MAX - REPORTED_AS_IS);
}

/** The least score that is reported as `reported` or more; above 1 where only the same text is. */
export function unreportedScore(reported: number): number {
  if (reported <= REPORTED_AS_IS) return reported;
  const part = (reported - REPORTED_AS_IS) / (NOT_THE_SAME_MAX - REPORTED_AS_IS);
  return REPORTED_AS_IS + part * (1 - REPORTED_AS_IS);
}
