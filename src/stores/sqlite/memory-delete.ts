import { utf8Bytes } from "../../core/tokens.ts";
import { indexedPassages } from "../../search/indexed-words.ts";
import type { Connection } from "./connection.ts";
import { PLACES_MAX, passageAt, rowidOf, sessionOf } from "./memory-place.ts";
import { entryOf, type MemoryRow, SELECT_MEMORY } from "./memory-row.ts";
import { memorySessions, namespaceNumber } from "./memory-session.ts";

/** Entries of a session that one step deletes, so that no other writer waits long. */
const STEP = 500;

/** Deletes entries and returns how many there were. */
export function deleteMemories(db: Connection, namespace: string, ids: readonly string[]): number {
  const number = namespaceNumber(db, namespace);
  if (number === undefined || ids.length === 0) return 0;
  const deleted = db.write(() => {
    const rows = [...new Set(ids)].flatMap((id) =>
      db.all<MemoryRow>(`${SELECT_MEMORY} WHERE entry.namespace = ? AND entry.id = ?`, number, id),
    );
    for (const row of rows) deleteRow(db, row);
    return rows.length;
  });
  if (deleted > 0) db.emptyLog();
  return deleted;
}

/** Deletes some entries of a session; returns how many, and whether there are more. */
export function deleteSessionMemories(
  db: Connection,
  namespace: string,
  sessionId: string,
): { readonly deleted: number; readonly more: boolean } {
  const number = namespaceNumber(db, namespace);
  const session = number === undefined ? undefined : memorySessions(db, number, sessionId)[0];
  if (!session) return { deleted: 0, more: false };
  const deleted = db.write(() => {
    const rows = db.all<MemoryRow>(
      `${SELECT_MEMORY} WHERE position BETWEEN ? AND ? LIMIT ?`,
      passageAt(session.number, 0),
      passageAt(session.number + 1, 0) - 1,
      STEP,
    );
    for (const row of rows) deleteRow(db, row);
    db.run("DELETE FROM memory_session WHERE number = ? AND entries = 0", session.number);
    return rows.length;
  });
  const more = memorySessions(db, number ?? -1, sessionId).length > 0;
  if (!more) db.emptyLog();
  return { deleted, more };
}

function deleteRow(db: Connection, row: MemoryRow): void {
  const passages = indexedPassages(entryOf(row)).slice(0, PLACES_MAX);
  passages.forEach(({ words, asks }, index) => {
    db.run(
      "INSERT INTO memory_words (memory_words, rowid, words) VALUES ('delete', ?, ?)",
      rowidOf(row.position + index, asks),
      words,
    );
  });
  db.run("DELETE FROM memory_entry WHERE position = ?", row.position);
  db.run(
    "UPDATE memory_session SET entries = entries - 1, text_bytes = text_bytes - ? WHERE number = ?",
    utf8Bytes(row.content),
    sessionOf(row.position),
  );
}
