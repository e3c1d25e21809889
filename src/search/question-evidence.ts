import { type WordSummary, wordSummary } from "./bounds/word-summaries.ts";
import type { PassageIndex, Postings } from "./passage-index.ts";
import type { Question } from "./question.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import type { ScratchArrays } from "./scratch.ts";

/** A word of the question, with what the index knows of it. */
export interface AskedWord {
  readonly word: string;
  readonly postings: Postings;
  readonly summary: WordSummary;
  /** How much of the question it is, by its rarity. The shares of all words add up to 1. */
  readonly share: number;
}

/** A session that says a word this often has half of what the word can add to it. */
const SESSION_SATURATION = 1.2;

/** What a search knows of a question before it looks at passages. */
export interface QuestionEvidence {
  readonly words: readonly AskedWord[];
  /** By number of a session, how much of the question it has. */
  readonly sessionShares: Float32Array;
  readonly bestSessionShare: number;
  /** The largest share of the question's words that one session has, names of speakers and dates included. */
  readonly bestCovered: number;
  /** Whether the question names a speaker. */
  readonly namesSpeaker: boolean;
}

export function questionEvidence(
  index: PassageIndex,
  question: Question,
  weights: RankingWeights,
  arrays: ScratchArrays,
): QuestionEvidence {
  const found = [...question.forms].map(([form, word]) => {
    const postings = index.postings(form);
    const summary = wordSummary(index, postings, weights);
    const times = question.names.has(word) ? weights.name : 1;
    return {
      word,
      postings,
      summary,
      rarity: times * rarity(postings.slots.length, index.passages),
    };
  });
  const rarities = found.reduce((sum, { rarity }) => sum + rarity, 0);
  const words = found.map(({ rarity, ...rest }) => ({ ...rest, share: rarity / rarities }));
  const namesSpeaker = words.some(({ summary }) => summary.named.includes(1));
  return { words, namesSpeaker, ...sessionShares(index, words, rarities, arrays) };
}

/** Smaller, the more passages have the word. Never 0, so that a store with one entry works. */
function rarity(having: number, passages: number): number {
  return Math.log(1 + (Math.max(passages, having) - having + 0.5) / (having + 0.5));
}

/** How much of the question each session has. Here a word counts by how few sessions have it. */
function sessionShares(
  index: PassageIndex,
  words: readonly AskedWord[],
  rarities: number,
  { sessionShares: shares, covered }: ScratchArrays,
): Pick<QuestionEvidence, "sessionShares" | "bestSessionShare" | "bestCovered"> {
  let [bestSessionShare, bestCovered] = [0, 0];
  for (const { summary, share } of words) {
    const { sessions, said } = summary;
    const most = ((1 + SESSION_SATURATION) * rarity(sessions.length, index.sessions)) / rarities;
    for (let at = 0; at < sessions.length; at += 1) {
      const session = sessions[at] as number;
      const times = said[at] as number;
      (shares[session] as number) += (most * times) / (times + SESSION_SATURATION);
      (covered[session] as number) += share;
      if ((shares[session] as number) > bestSessionShare)
        bestSessionShare = shares[session] as number;
      if ((covered[session] as number) > bestCovered) bestCovered = covered[session] as number;
    }
  }
  return { sessionShares: shares, bestSessionShare, bestCovered };
}
