import type { Connection } from "../connection.ts";
import type { MemoryNamespace } from "./memory-namespace.ts";

/**
 * Every passage has a slot: a number that is its own in its namespace, for as long as its
 * entry lives, whatever becomes of the index. An entry with three passages has three slots
 * that follow each other; `memory_entry.slot` is the first of them.
 *
 * A session is given runs of slots. The first is small, the next ones grow, so that a
 * session is a few ranges and its passages are neighbours. Empty slots keep runs apart:
 *
 *     slots   0 1 │ 2 3 4 5 │ 6 7 8 9 │ 10 11 12 13 14 15 16 17 │ 18 …
 *             pads  a a a a    pads      a  a  a                   pads
 *
 * A run is used up to where the next one begins: what is left of it then stays empty.
 */
export interface Run {
  readonly part: number;
  readonly first: number;
  readonly size: number;
  used: number;
}

/** An empty slot, and the slot of the same session that it stands for. */
export interface Link {
  readonly slot: number;
  readonly to: number;
}

export interface SlotRange {
  readonly first: number;
  /** Included. */
  readonly last: number;
}

export const PADS = 2;
const FIRST_SIZE = 4;
const SIZE_MAX = 4096;

/** A session's runs, in the order in which its passages were stored. */
export function runsOf(db: Connection, namespace: number, session: number): Run[] {
  return db.all<Run>(
    "SELECT part, first, size, used FROM memory_run WHERE namespace = ? AND session = ? ORDER BY part",
    namespace,
    session,
  );
}

/** The session's last run when it has room for so many passages. */
export function hasRoom(run: Run | undefined, passages: number): run is Run {
  return run !== undefined && run.used + passages <= run.size;
}

/** Makes the run after `last`, which has `needed` slots at least. */
export function newRun(
  db: Connection,
  namespace: MemoryNamespace,
  session: number,
  last: Run | undefined,
  needed: number,
): Run {
  const wanted = Math.max(needed, last ? Math.min(SIZE_MAX, 2 * last.size) : FIRST_SIZE);
  const part = last ? last.part + 1 : 0;
  const run = { part, used: 0, ...(freeRun(db, namespace, wanted) ?? nextRun(namespace, wanted)) };
  db.run(
    "INSERT INTO memory_run (namespace, session, part, first, size, used) VALUES (?, ?, ?, ?, ?, 0)",
    namespace.number,
    session,
    part,
    run.first,
    run.size,
  );
  return run;
}

function nextRun(namespace: MemoryNamespace, size: number): { first: number; size: number } {
  const first = namespace.slots + PADS;
  namespace.slots = first + size + PADS;
  return { first, size };
}

/** One that a session has left behind that was deleted. */
function freeRun(
  db: Connection,
  { number }: MemoryNamespace,
  size: number,
): { first: number; size: number } | undefined {
  const found = db.get<{ first: number; size: number }>(
    `SELECT first, size FROM memory_free_run
     WHERE namespace = ? AND size BETWEEN ? AND ? ORDER BY size, first LIMIT 1`,
    number,
    size,
    2 * size,
  );
  if (found) {
    db.run(
      "DELETE FROM memory_free_run WHERE namespace = ? AND size = ? AND first = ?",
      number,
      found.size,
      found.first,
    );
  }
  return found;
}

export function saveRun(db: Connection, namespace: number, session: number, run: Run): void {
  db.run(
    "UPDATE memory_run SET used = ? WHERE namespace = ? AND session = ? AND part = ?",
    run.used,
    namespace,
    session,
    run.part,
  );
}

/** Gives a session's runs back. None of their passages may be left. */
export function freeRuns(db: Connection, namespace: number, session: number): void {
  db.run(
    `INSERT INTO memory_free_run (namespace, size, first)
     SELECT namespace, size, first FROM memory_run WHERE namespace = ? AND session = ?`,
    namespace,
    session,
  );
  db.run("DELETE FROM memory_run WHERE namespace = ? AND session = ?", namespace, session);
}

/** What the empty slots around runs stand for: the two passages before, and the two after. */
export function linksOf(runs: readonly Run[]): Link[] {
  return runs.flatMap((run, index) => [
    ...firstSlots(runs.slice(index + 1)).map((to, away) => ({
      slot: run.first + run.used + away,
      to,
    })),
    ...lastSlots(runs.slice(0, index)).map((to, away) => ({ slot: run.first - 1 - away, to })),
  ]);
}

/** Where a session goes on; the second slot may still be empty. */
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
