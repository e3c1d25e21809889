/**
 * The weight of each part of a score. The values were fitted on LoCoMo, REALTALK and BEAM together and
 * rounded. `docs/decisions/0004-ranking.md` has the gain of each part, and its certainty.
 */
export interface RankingWeights {
  /** A word in the speaker's name, where one in the text counts 1. */
  readonly speaker: number;
  /** A word in the date of the entry. */
  readonly date: number;
  /** A word in one of the two passages before, or of the two after. */
  readonly neighbour: number;
  /** Added to `neighbour` when the passage before has the word and ends with a question, which this one answers. */
  readonly answer: number;
  /** The amount of a word that adds half of the maximum: more of a word adds less and less. */
  readonly saturation: number;
  /** How much less a word counts in a long passage, from 0 to 1. */
  readonly length: number;
  /** The factor of a word that is written like a name: with a capital inside the question. */
  readonly name: number;
  /** The share of the question that the session has, where that of the passage counts 1. */
  readonly session: number;
  /** Factor of an entry whose speaker the question names. */
  readonly speakerNamed: number;
  /** Factor of an entry of the assistant, a tool, a file or a program. */
  readonly assistant: number;
  /** Factor of an entry that names no time, when the question asks for one. */
  readonly withoutTime: number;
  /** Factor of an entry from the time that the question names. */
  readonly inTime: number;
  /** The same, where it is known when the question was asked. */
  readonly inSpan: number;
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
  inSpan: 1.6,
};
