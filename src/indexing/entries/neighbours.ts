import type { PassageColumns } from "../../search/passage-index.ts";
import type { Run } from "../index-store.ts";

/** First slots of entries, in the order of their session. */
export interface NeighbourSlots {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** So many entries of a session before and after the one at `slot`. */
export function neighbourSlots(
  columns: PassageColumns,
  runs: readonly Run[],
  slot: number,
  count: number,
): NeighbourSlots {
  const own = runs.findIndex(({ first, size }) => first <= slot && slot < first + size);
  if (own < 0) return { before: [], after: [] };
  const earlier = runs
    .slice(0, own + 1)
    .toReversed()
    .map((run, at) => {
      const end = at === 0 ? slot : run.first + run.used;
      return range(end - 1, run.first - 1, -1);
    });
  const later = runs.slice(own).map((run, at) => {
    const start = at === 0 ? slot + 1 : run.first;
    return range(start, run.first + run.used, 1);
  });
  return {
    before: entriesIn(columns, earlier, slot, count).reverse(),
    after: entriesIn(columns, later, slot, count),
  };
}

/** The entries of the first slots that have one, other than the entry at `slot`. */
function entriesIn(
  { entry, session }: PassageColumns,
  ranges: readonly Iterable<number>[],
  slot: number,
  count: number,
): number[] {
  const found = new Set<number>();
  for (const slots of ranges) {
    for (const at of slots) {
      if (found.size === count && !found.has(entry[at] as number)) return [...found];
      if (session[at] !== 0 && entry[at] !== slot) found.add(entry[at] as number);
    }
  }
  return [...found];
}

function* range(from: number, to: number, step: 1 | -1): Generator<number> {
  for (let at = from; at !== to; at += step) yield at;
}
