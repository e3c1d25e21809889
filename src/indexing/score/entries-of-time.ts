import type { Span } from "../../text/time/calendar.ts";
import type { PassageIndex } from "../passages/passage-index.ts";
import type { FoundEntry, QuestionOptions } from "./entry-query.ts";
import { likelihoodOf } from "./likelihood.ts";
import type { Question } from "./question.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { BestEntries } from "./score.ts";
import { placeIn, slotFilter } from "./slot-filter.ts";

/** Match of an entry from the time that a question asks for, with no word in common. */
const LISTED_MATCH = 0.5;
/** The factor of an entry of the less likely time: "last Tuesday" may be that of the week before. */
const LESS_LIKELY = 0.9;

/** The entries of the time that a question asks for, what people said first. */
export function entriesOfTime(
  index: PassageIndex,
  question: Question,
  query: QuestionOptions,
  weights: RankingWeights,
): readonly FoundEntry[] {
  const { entry, session } = index.columns;
  const { time } = index.details(0, index.slots);
  const likelihood = likelihoodOf(index, question, weights);
  const wanted = slotFilter(index, query);
  const best = new BestEntries(index, query.limit);
  for (let slot = 0; slot < index.slots; slot += 1) {
    if (session[slot] === 0 || entry[slot] !== slot) continue;
    const at = time[slot] as number;
    const place = placeIn(question.spans, at);
    const span = question.spans[place];
    if (!span || !wanted(slot)) continue;
    best.offer(
      slot,
      slot,
      LISTED_MATCH *
        LESS_LIKELY ** (place + farFrom(span, at)) *
        (likelihood(slot) / weights.inSpan),
    );
  }
  return [...best].flatMap(({ slot, value: match }) => {
    if (match < (query.minMatch ?? 0)) return [];
    const parts = [{ name: "from that time", adds: match }];
    return [{ slot, match, score: match, ...(query.explain ? { explanation: { parts } } : {}) }];
  });
}

/** How far a time is from the likeliest one of a span, from 0 to 1. */
function farFrom({ from, to, likeliest }: Span, at: number): number {
  return likeliest === undefined ? 0 : Math.abs(at - likeliest) / (to - from);
}
