import type { Question } from "../data/conversation.ts";

/** How good the results were, from 0 to 1. `nothing` is 1 when there were none. */
export interface Measures {
  readonly recallAt1: number;
  readonly recallAt5: number;
  readonly recallAt10: number;
  readonly ndcgAt10: number;
  readonly reciprocalRank: number;
  readonly nothing: number;
}

/** Compares the found ids, best first, with those that answer the question. */
export function measure(found: readonly string[], { relevant }: Question): Measures {
  const right = new Set(relevant);
  const among = (count: number) =>
    right.size === 0 ? 0 : found.slice(0, count).filter((id) => right.has(id)).length / right.size;
  const first = found.findIndex((id) => right.has(id));
  const gain = (rank: number) => 1 / Math.log2(rank + 2);
  const best = relevant.slice(0, 10).reduce((sum, _, rank) => sum + gain(rank), 0);
  const gained = found
    .slice(0, 10)
    .reduce((sum, id, rank) => sum + (right.has(id) ? gain(rank) : 0), 0);
  return {
    recallAt1: among(1),
    recallAt5: among(5),
    recallAt10: among(10),
    ndcgAt10: best === 0 ? 0 : gained / best,
    reciprocalRank: first < 0 ? 0 : 1 / (first + 1),
    nothing: found.length === 0 ? 1 : 0,
  };
}

/** The mean of each measure. */
export function meanMeasures(rows: readonly Measures[]): Measures {
  const mean = (name: keyof Measures) =>
    rows.reduce((sum, row) => sum + row[name], 0) / Math.max(1, rows.length);
  return {
    recallAt1: mean("recallAt1"),
    recallAt5: mean("recallAt5"),
    recallAt10: mean("recallAt10"),
    ndcgAt10: mean("ndcgAt10"),
    reciprocalRank: mean("reciprocalRank"),
    nothing: mean("nothing"),
  };
}
