import type { Connection } from "../connection.ts";
import { emptyColumns } from "./memory-columns.ts";
import { MemoryLabels } from "./memory-labels.ts";
import { type MemoryNamespace, openNamespace, saveNamespace } from "./memory-namespace.ts";
import { type MemoryRow, placedEntry, SELECT_MEMORY } from "./memory-row.ts";
import { allSegments, foldNewest } from "./memory-segments.ts";
import { countEntries, sessionNumber } from "./memory-session.ts";
import { freeRuns, linksOf, runsOf, type SlotRange } from "./memory-slots.ts";
import { takeOutWords } from "./memory-take-out.ts";
import { deleteVectors } from "./memory-vector-store.ts";
import { wordsOf } from "./memory-words.ts";

/** What one step deletes, so that no other writer waits long. */
const STEP_ENTRIES = 250;
const STEP_PASSAGES = 1000;

export interface Deleted {
  readonly deleted: number;
  /** Entries that are left to delete. */
  readonly more: boolean;
}

/** Deletes some of the entries with these ids, as if there were no others; several steps delete all. */
export function deleteMemories(db: Connection, name: string, ids: readonly string[]): Deleted {
  return deleteRows(db, name, function* ({ number }) {
    for (const id of new Set(ids)) {
      yield* db.all<MemoryRow>(
        `${SELECT_MEMORY} WHERE entry.namespace = ? AND entry.id = ?`,
        number,
        id,
      );
    }
  });
}

/** Deletes some entries of a session; several steps delete all. */
export function deleteSessionMemories(db: Connection, name: string, sessionId: string): Deleted {
  return deleteRows(db, name, function* ({ number }) {
    const session = sessionNumber(db, number, sessionId);
    if (session === undefined) return;
    for (const { first, used } of runsOf(db, number, session)) {
      yield* db.all<MemoryRow>(
        `${SELECT_MEMORY} WHERE entry.namespace = ? AND slot BETWEEN ? AND ? ORDER BY slot LIMIT ?`,
        number,
        first,
        first + used - 1,
        STEP_ENTRIES + 1,
      );
    }
  });
}

function deleteRows(
  db: Connection,
  name: string,
  find: (namespace: MemoryNamespace) => Iterable<MemoryRow>,
): Deleted {
  return db.write(() => {
    const namespace = openNamespace(db, name);
    if (!namespace) return { deleted: 0, more: false };
    const rows: MemoryRow[] = [];
    let passages = 0;
    let more = false;
    for (const row of find(namespace)) {
      more = rows.length >= STEP_ENTRIES || passages >= STEP_PASSAGES;
      if (more) break;
      rows.push(row);
      passages += row.passages;
    }
    if (rows.length > 0) deleteEntries(db, namespace, rows);
    return { deleted: rows.length, more };
  });
}

function deleteEntries(
  db: Connection,
  namespace: MemoryNamespace,
  rows: readonly MemoryRow[],
): void {
  namespace.changes += 1;
  namespace.removed_at = namespace.changes;
  const segments = allSegments(db, namespace);
  const keys = rows.map(({ key }) => key);
  const generations = new Set(segments.map(({ generation }) => generation));
  for (const generation of generations) foldNewest(db, namespace, generation);
  const holding = segments.filter(({ first_entry, last_entry }) =>
    keys.some((key) => first_entry <= key && key <= last_entry),
  );
  takeOutWords(db, holding, wordsOf(rows.map(placedEntry)));

  const labels = new MemoryLabels(db, namespace.number);
  const bySession = new Map<number, { entries: number; bytes: number }>();
  for (const row of rows) {
    db.run("DELETE FROM memory_entry WHERE key = ?", row.key);
    labels.leave(row.role ?? undefined);
    labels.leave(row.speaker ?? undefined);
    const counts = bySession.get(row.session) ?? { entries: 0, bytes: 0 };
    counts.entries += 1;
    counts.bytes += Buffer.byteLength(row.content);
    bySession.set(row.session, counts);
    namespace.passages -= row.passages;
  }
  labels.save();
  const emptied = [...bySession].flatMap(([session, { entries, bytes }]) => {
    countEntries(db, namespace.number, session, -entries, -bytes);
    return leaveSession(db, namespace.number, session);
  });

  const slots = [...rows.flatMap(({ slot, passages }) => range(slot, passages)), ...emptied];
  for (const generation of generations) emptyColumns(db, namespace, generation, slots);
  const ranges: SlotRange[] = rows.map(({ slot, passages }) => ({
    first: slot,
    last: slot + passages - 1,
  }));
  deleteVectors(db, namespace.number, ranges);
  saveNamespace(db, namespace);
}

/** Ends a session that has no entries any more, and returns the slots of its links. */
function leaveSession(db: Connection, namespace: number, session: number): number[] {
  const ended = db.run(
    "DELETE FROM memory_session WHERE namespace = ? AND number = ? AND entries = 0",
    namespace,
    session,
  );
  if (ended === 0) return [];
  const links = linksOf(runsOf(db, namespace, session));
  freeRuns(db, namespace, session);
  return links.map(({ slot }) => slot);
}

function range(first: number, length: number): number[] {
  return Array.from({ length }, (_, index) => first + index);
}
