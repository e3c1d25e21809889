import { INDEX_VERSION } from "../../../search/indexed-passages.ts";
import type { Connection } from "../connection.ts";
import { recordsOf } from "./memory-column-records.ts";
import { deleteColumns } from "./memory-columns.ts";
import { mendCounts, wrongCounts } from "./memory-counts.ts";
import { LabelNumbers } from "./memory-labels.ts";
import { isMergeDue, mergeNewest, mergeStep } from "./memory-merge.ts";
import { findNamespace, keysOf, type MemoryNamespace, saveNamespace } from "./memory-namespace.ts";
import { columnsOf, type MemoryRow, placedEntry, SELECT_MEMORY } from "./memory-row.ts";
import { writeSegment } from "./memory-segments.ts";
import { linksOf, runsOf } from "./memory-slots.ts";
import { wordsOf } from "./memory-words.ts";

/** One step of rebuilding an index that another version of rkat has built; nothing to do takes no time. */
export function prepareMemories(db: Connection, name: string): Progress {
  const namespace = findNamespace(db, name);
  // A newer rkat knows better words: that is for `openNamespace` to refuse.
  const isOlder = namespace !== undefined && namespace.version < INDEX_VERSION;
  return isOlder ? reindexMemories(db, name) : { done: 0, total: 0, more: false };
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly more: boolean;
}

/** Entries, and passages, that one step indexes. */
const STEP_ENTRIES = 500;
const STEP_PASSAGES = 1000;

/**
 * One step of building the index anew. The next generation of it grows beside the one that is
 * searched: a page of entries at a time, in the order in which they were stored, those that are
 * added meanwhile last. When none is left, it takes the other's place in one short transaction.
 * Entries keep their slots. Whoever comes after one that was killed goes on where that one was.
 */
export function reindexMemories(db: Connection, name: string): Progress {
  const namespace = findNamespace(db, name);
  if (!namespace) return { done: 0, total: 0, more: false };
  if (namespace.rebuilt === null || namespace.rebuilt_version !== INDEX_VERSION) {
    return beginAnew(db, name);
  }
  const next = namespace.generation + 1;
  if (isMergeDue(db, namespace, next)) mergeStep(db, namespace, next);
  else indexPage(db, name);
  return progress(db, name);
}

function progress(db: Connection, name: string): Progress {
  const namespace = findNamespace(db, name);
  const total = namespace?.stored ?? 0;
  if (!namespace || namespace.rebuilt === null) return { done: total, total, more: false };
  const done = Math.max(0, namespace.rebuilt - keysOf(namespace).first + 1);
  return { done, total, more: true };
}

/** Of what was begun by another version, nothing is of use. */
function beginAnew(db: Connection, name: string): Progress {
  const cleared = db.writeUnsynced(() => {
    const namespace = findNamespace(db, name);
    if (!namespace) return true;
    db.run(
      "UPDATE memory_segment SET state = 'gone' WHERE namespace = ? AND generation = ?",
      namespace.number,
      namespace.generation + 1,
    );
    if (deleteColumns(db, namespace, namespace.generation + 1, 500)) return false;
    namespace.rebuilt = keysOf(namespace).first - 1;
    namespace.rebuilt_version = INDEX_VERSION;
    saveNamespace(db, namespace);
    return true;
  });
  return cleared ? progress(db, name) : { done: 0, total: 1, more: true };
}

function indexPage(db: Connection, name: string): void {
  // Cutting texts into words takes most of the time, so it is done before the lock is taken.
  const read = db.read(() => {
    const namespace = findNamespace(db, name);
    if (!namespace || namespace.rebuilt === null) return undefined;
    const rows = pageOf(db, namespace);
    return { namespace, rows, counts: rows.length === 0 && wrongCounts(db, namespace.number) };
  });
  if (!read) return;
  const { rows } = read;
  const entries = rows.map((row) => ({ row, ...placedEntry(row) }));
  const words = wordsOf(entries);
  db.writeUnsynced(() => {
    const namespace = findNamespace(db, name);
    // Somebody else was faster, or has deleted some of what was read: once more, then.
    if (!namespace || namespace.rebuilt !== read.namespace.rebuilt) return;
    if (namespace.removed_at !== read.namespace.removed_at) return;
    const first = rows[0];
    const last = rows.at(-1);
    if (!first || !last) {
      if (pageOf(db, namespace).length > 0) return;
      const isSame = namespace.changes === read.namespace.changes;
      if (read.counts && isSame) mendCounts(db, namespace.number, read.counts);
      replaceIndex(db, namespace);
      saveNamespace(db, namespace);
      return;
    }
    const generation = namespace.generation + 1;
    const labels = new LabelNumbers(db, namespace.number);
    writeSegment(
      db,
      namespace,
      {
        generation,
        first_entry: first.key,
        last_entry: last.key,
        first_change: namespace.changes + 1,
        last_change: namespace.changes + 1,
      },
      words,
      recordsOf(
        entries.map(({ row, ...entry }) => ({ ...entry, columns: columnsOf(row, labels) })),
        linksOfSessions(db, namespace, rows),
      ),
    );
    mergeNewest(db, namespace, generation);
    namespace.rebuilt = last.key;
    saveNamespace(db, namespace);
  });
}

function pageOf(db: Connection, namespace: MemoryNamespace): MemoryRow[] {
  const rows: MemoryRow[] = [];
  let passages = 0;
  const all = db.iterate<MemoryRow>(
    `${SELECT_MEMORY} WHERE key > ? AND key <= ? ORDER BY key LIMIT ?`,
    namespace.rebuilt ?? -1,
    keysOf(namespace).last,
    STEP_ENTRIES,
  );
  for (const row of all) {
    rows.push(row);
    passages += row.passages;
    if (passages >= STEP_PASSAGES) break;
  }
  return rows;
}

function linksOfSessions(db: Connection, namespace: MemoryNamespace, rows: readonly MemoryRow[]) {
  const sessions = new Set(rows.map(({ session }) => session));
  return [...sessions].flatMap((session) => linksOf(runsOf(db, namespace.number, session)));
}

function replaceIndex(db: Connection, namespace: MemoryNamespace): void {
  db.run(
    "UPDATE memory_segment SET state = 'gone' WHERE namespace = ? AND generation <= ?",
    namespace.number,
    namespace.generation,
  );
  const counted = db.get<{ passages: number }>(
    "SELECT coalesce(sum(passages), 0) AS passages FROM memory_entry WHERE key BETWEEN ? AND ?",
    keysOf(namespace).first,
    keysOf(namespace).last,
  );
  namespace.changes += 1;
  namespace.generation += 1;
  namespace.version = INDEX_VERSION;
  namespace.removed_at = namespace.changes;
  namespace.columns_at = namespace.changes;
  namespace.passages = counted?.passages ?? 0;
  namespace.rebuilt = null;
  namespace.rebuilt_version = null;
}
