import type { PassageColumns } from "../passages/passage-index.ts";
import type { Draft } from "../port/asking.ts";
import type { FreeRun, Head, Run, SessionRow } from "../port/index-store.ts";

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

const FIRST_SIZE = 4;
const SIZE_MAX = 4096;

/** A session that gets more entries. */
export class GrowingSession {
  readonly number: number;
  readonly #before: SessionRow;
  readonly #runs: Run[];
  #entries = 0;
  #textBytes = 0;

  constructor(before: SessionRow) {
    this.number = before.number;
    this.#before = before;
    this.#runs = [...before.runs];
  }

  /**
   * The run that the session needs for entries with these numbers of passages; `undefined` when its last run
   * has room for all of them. The entry at `at` opens the run, which has room for all that follow.
   */
  wantedRun(
    passages: readonly number[],
  ): { readonly at: number; readonly size: number } | undefined {
    const last = this.#runs.at(-1);
    let room = last ? last.size - last.used : 0;
    const at = passages.findIndex((count) => {
      room -= count;
      return room < 0;
    });
    if (at < 0) return undefined;
    const needed = passages.slice(at).reduce((sum, count) => sum + count, 0);
    const usual = last ? Math.min(SIZE_MAX, 2 * last.size) : FIRST_SIZE;
    return { at, size: Math.max(needed, usual) };
  }

  /** The first slot of the next entry. `next` is the run that it wanted. */
  place(passages: number, textBytes: number, next: FreeRun | undefined): number {
    let run = this.#runs.at(-1);
    if (!run || run.used + passages > run.size) {
      if (!next) throw new Error("A session has no run for its next entry.");
      run = { first: next.first, size: next.size, used: 0 };
      this.#runs.push(run);
    }
    this.#runs[this.#runs.length - 1] = { ...run, used: run.used + passages };
    this.#entries += 1;
    this.#textBytes += textBytes;
    return run.first + run.used;
  }

  /** Puts the session into the draft, and returns the links that a new run brings. */
  save(draft: Draft): Link[] {
    const { entries, textBytes, runs } = this.#before;
    draft.put("sessions", {
      ...this.#before,
      entries: entries + this.#entries,
      textBytes: textBytes + this.#textBytes,
      runs: this.#runs,
    });
    if (runs.length === 0 || this.#runs.length === runs.length) return [];
    // A new run changes the links of the two runs before it, and no others.
    return linksOf(this.#runs.slice(Math.max(0, runs.length - 3)));
  }
}

/** Takes a free run for each size, or else slots behind all others. */
export function takeRuns(
  draft: Draft,
  sizes: readonly number[],
  free: readonly FreeRun[],
): readonly FreeRun[] {
  const left = free.toSorted((one, other) => one.size - other.size || one.first - other.first);
  return sizes.map((size) => {
    const at = left.findIndex((run) => size <= run.size && run.size <= 2 * size);
    const [run] = at < 0 ? [] : left.splice(at, 1);
    if (!run) return nextRun(draft.head, size);
    draft.remove("freeRuns", run);
    return run;
  });
}

function nextRun(head: { -readonly [Name in keyof Head]: Head[Name] }, size: number): FreeRun {
  const first = head.slots + PADS;
  head.slots = first + size + PADS;
  return { first, size };
}

/** First slots of entries, in the order of their session. */
export interface NeighbourSlots {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** The entries of a session around the one at `slot`: so many before it, and so many after. */
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
