import type { Run } from "../index-store.ts";

/**
 * Every passage has a slot: a number of its own in its namespace, for as long as its entry lives, however
 * often the index is rebuilt. An entry with three passages has three consecutive slots; `slot` of the
 * entry is the first.
 *
 * A session gets runs of slots. The first is small and the next ones grow, so that a session is a few
 * ranges and its passages are neighbours. Empty slots keep runs apart:
 *
 *     slots   0 1 │ 2 3 4 5 │ 6 7 8 9 │ 10 11 12 13 14 15 16 17 │ 18 …
 *             pads  a a a a    pads      a  a  a                   pads
 *
 * A run is used up to where the next one begins: the rest of it stays empty.
 */
export const PADS = 2;

/** An empty slot, and the slot of the same session that it stands for. */
export interface Link {
  readonly slot: number;
  readonly to: number;
}

/** The links of the empty slots around runs: to the two passages before, and the two after. */
export function linksOf(runs: readonly Run[]): Link[] {
  return runs.flatMap((run, index) => [
    ...firstSlots(runs.slice(index + 1)).map((to, away) => ({
      slot: run.first + run.used + away,
      to,
    })),
    ...lastSlots(runs.slice(0, index)).map((to, away) => ({ slot: run.first - 1 - away, to })),
  ]);
}

/** Where a session continues; the second slot may still be empty. */
function firstSlots(runs: readonly Run[]): number[] {
  const found: number[] = [];
  for (const [index, { first, used }] of runs.entries()) {
    const known = index === runs.length - 1 ? PADS : used;
    for (let at = 0; at < Math.min(known, PADS); at += 1) found.push(first + at);
    if (found.length >= PADS) break;
  }
  return found.slice(0, PADS);
}

function lastSlots(runs: readonly Run[]): number[] {
  const found: number[] = [];
  for (const { first, used } of runs.toReversed()) {
    for (let at = 1; at <= Math.min(used, PADS); at += 1) found.push(first + used - at);
    if (found.length >= PADS) break;
  }
  return found.slice(0, PADS);
}
