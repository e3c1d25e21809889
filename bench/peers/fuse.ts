import { LIMIT } from "./peer.ts";

/** How many candidates each half gives to the fusion. */
export const CANDIDATES = 50;

/** The best of several rankings by reciprocal rank fusion, as one would write it by hand. */
export function fuse<Id>(rankings: readonly (readonly Id[])[]): Id[] {
  const scores = new Map<Id, number>();
  for (const ranking of rankings) {
    for (const [rank, id] of ranking.entries()) {
      scores.set(id, (scores.get(id) ?? 0) + 1 / (60 + rank));
    }
  }
  return [...scores]
    .sort(([, one], [, other]) => other - one)
    .slice(0, LIMIT)
    .map(([id]) => id);
}
