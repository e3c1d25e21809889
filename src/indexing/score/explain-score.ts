import type { ScoreExplanation, ScorePart } from "../../core/memory-store.ts";
import {
  BY_SPEAKER,
  ON_DATE,
  PASSAGE_ASKS,
  type PassageIndex,
  placeOf,
  SAID_MASK,
} from "../passages/passage-index.ts";
import type { Likelihood } from "./likelihood.ts";
import type { AskedWord, QuestionEvidence } from "./question-evidence.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { confidenceOf } from "./score.ts";
import { REACH, saturated } from "./word-amounts.ts";

/**
 * The parts of a score. The sum of their additions, times the factors of the other parts, is the
 * relevance that `matchOf` turns into the match.
 */
export function explainScore(
  index: PassageIndex,
  evidence: QuestionEvidence,
  likelihood: Likelihood,
  { slot, relevance }: { readonly slot: number; readonly relevance: number },
  weights: RankingWeights,
): ScoreExplanation {
  const { length, session } = index.columns;
  const words = evidence.words.flatMap((asked): ScorePart[] => {
    const amounts = amountsAt(index, asked, slot, weights);
    const of = asked.standIn ? `${asked.word} as ${asked.standIn.forms.join(", ")}` : asked.word;
    const amount = amounts.reduce((sum, part) => sum + part.amount, 0);
    const adds = asked.share * saturated(amount, length[slot] ?? 0, weights);
    return amounts
      .filter((part) => part.amount > 0)
      .map((part) => ({ name: part.name, of, adds: (adds * part.amount) / amount }));
  });
  const ofSession = weights.session * (evidence.sessionShares[session[slot] ?? 0] ?? 0);
  const added = [...words, ...(ofSession > 0 ? [{ name: "session", adds: ofSession }] : [])];
  const factors = [...likelihood.parts(slot), { name: "question", times: confidenceOf(evidence) }];
  const times = factors.reduce((product, factor) => product * (factor.times ?? 1), 1);
  const missing = relevance / times - added.reduce((sum, part) => sum + (part.adds ?? 0), 0);
  const raised = missing > ROUNDING ? [{ name: "all words", adds: missing }] : [];
  return { parts: [...added, ...raised, ...factors] };
}

/** Sums of the same numbers differ a little. */
export const ROUNDING = 1e-4;

/** The parts of the amount of a word in a slot, as `WordAmounts` adds them up. */
function amountsAt(
  index: PassageIndex,
  { postings }: AskedWord,
  slot: number,
  weights: RankingWeights,
): readonly { readonly name: string; readonly amount: number }[] {
  const { session, entry } = index.columns;
  const hitsAt = (where: number) => {
    const there = session[where] ? where : (entry[where] ?? 0);
    const place = placeOf(postings.slots, there);
    return {
      said: (postings.hits[place] ?? 0) & SAID_MASK,
      flags: index.columns.flags[there] ?? 0,
      hits: postings.hits[place] ?? 0,
    };
  };
  const { said, hits } = hitsAt(slot);
  let near = 0;
  for (let away = 1; away <= REACH; away += 1) {
    near += hitsAt(slot - away).said + hitsAt(slot + away).said;
  }
  const before = hitsAt(slot - 1);
  return [
    { name: "word", amount: said },
    { name: "speaker", amount: (hits & BY_SPEAKER) !== 0 ? weights.speaker : 0 },
    { name: "date", amount: (hits & ON_DATE) !== 0 ? weights.date : 0 },
    { name: "neighbour", amount: near * weights.neighbour },
    {
      name: "answers",
      amount: (before.flags & PASSAGE_ASKS) !== 0 ? before.said * weights.answer : 0,
    },
  ];
}
