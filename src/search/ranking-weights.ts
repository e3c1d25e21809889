/**
 * What each part of a score is worth. Found on LoCoMo, REALTALK and BEAM together and
 * rounded; `docs/decisions/0004-ranking.md` has what each part adds, and how sure that is.
 */
export interface RankingWeights {
  /** Word in the speaker's name, in place of in the text. */
  readonly speaker: number;
  /** Word in the date of the entry. */
  readonly date: number;
  /** Word in one of the two passages before and the two after. */
  readonly neighbour: number;
  /** Added to that when the passage before ends with a question, which this one answers. */
  readonly answer: number;
  /** How soon more of a word is no more evidence: the count that gives half of the most. */
  readonly saturation: number;
  /** How much a word counts for less in a long passage, 0 to 1. */
  readonly length: number;
  /** How much more a word counts that is written like a name: with a capital inside the question. */
  readonly name: number;
  /** What the session has of the question, next to what the passage has of it. */
  readonly session: number;
  /** An entry is likelier an answer when its speaker is named, … */
  readonly speakerNamed: number;
  /** … less when the assistant said it, … */
  readonly assistant: number;
  /** … less when it names no time and the question asks for one, … */
  readonly withoutTime: number;
  /** … and more when it is from the time that the question names. */
  readonly inTime: number;
}

export const RANKING: RankingWeights = {
  speaker: 1,
  date: 0.8,
  neighbour: 0.1,
  answer: 0.35,
  saturation: 0.6,
  length: 0.2,
  name: 1.3,
  session: 0.45,
  speakerNamed: 2,
  assistant: 0.55,
  withoutTime: 0.75,
  inTime: 1.2,
};
