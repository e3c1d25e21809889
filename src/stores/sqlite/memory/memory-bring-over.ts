import { MEMORY_KINDS, type MemoryKind } from "../../../core/memory-store.ts";
import { INDEX_VERSION } from "../../../search/indexed-passages.ts";
import type { Connection } from "../connection.ts";
import { insertEntries, prepare } from "./memory-add.ts";
import { mergeNewest } from "./memory-merge.ts";
import { findNamespace, keepNamespace, saveNamespace } from "./memory-namespace.ts";
import { type Progress, reindexMemories } from "./memory-reindex.ts";
import { entryOf, type MemoryRow } from "./memory-row.ts";

/** Entries that one step brings over. */
const STEP = 500;

/**
 * One step of making a namespace what this rkat searches. Entries that an older one stored, in
 * tables with another index, are added as if they were new; an index that was built of other
 * words is built again. Nothing to do takes no time.
 */
export function prepareMemories(db: Connection, name: string): Progress {
  const old = db.get<{ number: number }>(
    "SELECT number FROM memory_old_namespace WHERE name = ?",
    name,
  );
  if (old) return bringOver(db, name, old.number);
  const namespace = findNamespace(db, name);
  if (!namespace) return { done: 0, total: 0, more: false };
  // A newer rkat knows better words: that is for `openNamespace` to refuse.
  if (namespace.version >= INDEX_VERSION) return { done: 0, total: 0, more: false };
  return reindexMemories(db, name);
}

/** Sessions of an older rkat had numbers of 16 bits for their passages. */
const SELECT_OLD = `
  SELECT position, 0 AS key, 0 AS session, 0 AS slot, 0 AS passages, session.id AS session_id, entry.id, turn, kind, time, role, speaker, source_from,
         source_to, content
  FROM memory_old_entry AS entry JOIN memory_old_session AS session
    ON session.number = entry.position / 65536
  WHERE entry.namespace = ? ORDER BY position LIMIT ?`;

interface OldRow extends Omit<MemoryRow, "kind"> {
  readonly position: number;
  readonly kind: MemoryKind;
}

function bringOver(db: Connection, name: string, old: number): Progress {
  const read = db.read(() => db.all<OldRow>(SELECT_OLD, old, STEP));
  const prepared = read.map((row) =>
    prepare(entryOf({ ...row, kind: MEMORY_KINDS.indexOf(row.kind) })),
  );
  return db.write(() => {
    // Somebody else was faster: once more, then.
    const first = db.all<OldRow>(SELECT_OLD, old, 1)[0];
    if (first?.position !== read[0]?.position) return { done: 0, total: 1, more: true };
    const namespace = keepNamespace(db, name);
    insertEntries(db, namespace, prepared);
    mergeNewest(db, namespace);
    saveNamespace(db, namespace);
    for (const { position } of read) {
      db.run("DELETE FROM memory_old_entry WHERE position = ?", position);
    }
    const left =
      db.get<{ count: number }>(
        "SELECT count(*) AS count FROM memory_old_entry WHERE namespace = ?",
        old,
      )?.count ?? 0;
    if (left === 0) {
      db.run("DELETE FROM memory_old_session WHERE namespace = ?", old);
      db.run("DELETE FROM memory_old_namespace WHERE number = ?", old);
    }
    return { done: namespace.stored, total: namespace.stored + left, more: true };
  });
}
