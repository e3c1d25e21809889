import type { Question } from "./question.ts";
import { words } from "./words.ts";

/** An entry that may be a result: what ranking looks at. */
export interface Candidate {
  /** The largest share of the question that one of its passages covers. */
  readonly share: number;
  readonly session: number;
  readonly role: string | undefined;
  readonly speaker: string | undefined;
  readonly time: string | undefined;
  readonly saysWhen: boolean;
}

/**
 * What scores less is not a result, unless the query says otherwise: about a fifth
 * of the question's words, by their rarity. Of questions that have an answer
 * (LoCoMo, REALTALK, BEAM) 1 % get no result, of unrelated ones 6 in 10.
 */
export const MEMORY_SCORE_FLOOR = 0.3;

/** How a session that is about the question lifts all that it has. */
const SESSION = 0.4;
const SESSION_BEST = 5;
/** How much likelier an answer is when … */
const BY_SPEAKER_NAMED = 2;
const BY_USER = 1.4;
const SAYS_WHEN = 1.35;
const IN_MONTH_NAMED = 1.2;
/** How fast the score nears 1. All words and nothing else gives 0.8, half of them 0.55. */
const STEEPNESS = 1.6;

/**
 * Scores candidates from 0 to 1, in their order.
 *
 * A score is 1 - e^(-1.6 r). r is 1 for an entry with all words of the question in
 * one passage, and as much larger or smaller as it is likelier or less likely to
 * be an answer. So scores keep the order of r, and those of two questions compare.
 */
export function scoreCandidates(
  question: Question,
  candidates: readonly Candidate[],
): readonly number[] {
  const best = candidates.reduce((most, { share }) => Math.max(most, share), 0);
  const sessions = sessionScores(candidates);
  const asked = new Set(question.words);
  return candidates.map((candidate) => {
    const session = best * (sessions.get(candidate.session) ?? 0);
    const relevance = (candidate.share + SESSION * session) / (1 + SESSION);
    return 1 - Math.exp(-STEEPNESS * relevance * likelihood(candidate, question, asked));
  });
}

function likelihood(candidate: Candidate, question: Question, asked: ReadonlySet<string>): number {
  const { role, speaker, time } = candidate;
  let times = 1;
  if (isPerson(speaker)) {
    if (words(speaker).some((word) => asked.has(word))) times *= BY_SPEAKER_NAMED;
  } else if ((role ?? speaker) === "user" && !question.asksForAnswers) {
    // What people tell of themselves is asked for more often than what they were told.
    times *= BY_USER;
  }
  if (question.asksWhen && candidate.saysWhen) times *= SAYS_WHEN;
  if (question.month !== undefined && time?.slice(0, 7).endsWith(question.month)) {
    times *= IN_MONTH_NAMED;
  }
  return times;
}

export function isPerson(speaker: string | undefined): speaker is string {
  return speaker !== undefined && speaker !== "user" && speaker !== "assistant";
}

/** For each session the sum of its best shares, relative to the best session. */
function sessionScores(candidates: readonly Candidate[]): Map<number, number> {
  const shares = new Map<number, number[]>();
  for (const { session, share } of candidates) {
    const list = shares.get(session);
    if (list) list.push(share);
    else shares.set(session, [share]);
  }
  const sums = new Map(
    [...shares].map(([session, list]) => {
      const most = list.sort((one, other) => other - one).slice(0, SESSION_BEST);
      return [session, most.reduce((sum, share) => sum + share, 0)];
    }),
  );
  const largest = Math.max(...sums.values());
  return new Map([...sums].map(([session, sum]) => [session, sum / largest]));
}
