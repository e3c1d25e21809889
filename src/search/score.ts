import type { Question } from "./question.ts";
import type { QuestionEvidence } from "./question-evidence.ts";

/**
 * What scores less is not a result, unless the query says otherwise. Of questions that have
 * an answer (LoCoMo, REALTALK, BEAM) 1 in 100 gets no result for it; of questions about
 * something else 7 in 10 get none (`docs/decisions/0004-ranking.md`).
 */
export const SCORE_FLOOR = 0.3;

/** How fast a score nears 1: all words of the question in one passage, and nothing else, give 0.8. */
const STEEPNESS = 1.6;
/** How much of a long question has to be there, and how much more of a short one. */
const LONG = 0.75;
const SHORT = 1.5;
/** A question that names somebody who speaks here is about what is here. */
const SPEAKER_KNOWN = 1.5;

/**
 * A score from 0 to 1, larger for a larger relevance; those of two questions compare.
 *
 *     score = 1 - e^(-1.6 · relevance^(0.75 + 1.5 / words))
 *
 * Relevance is about the share of the question that is there. One word of two is there by
 * chance more often than four of eight, so a share of a short question is worth less.
 */
export function scoreOf(relevance: number, question: Question): number {
  return 1 - Math.exp(-STEEPNESS * relevance ** power(question));
}

function power(question: Question): number {
  return LONG + SHORT / Math.max(1, question.words.length);
}

/**
 * How sure it is that a question is about anything here at all: 1 when one session has all
 * its words, and more when it names a speaker. The same for all entries, so that it
 * changes which questions have results and not their order.
 */
export function confidenceOf(
  evidence: Pick<QuestionEvidence, "bestCovered" | "namesSpeaker">,
): number {
  return Math.sqrt(evidence.bestCovered) * (evidence.namesSpeaker ? SPEAKER_KNOWN : 1);
}
