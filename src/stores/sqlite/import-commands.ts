import { SessionError } from "../../core/errors.ts";
import { type ImportBatch, importKey } from "../../core/import-store.ts";
import type { Connection } from "./connection.ts";
import { appendInTransaction, type NewEventRow, nextPosition } from "./event-commands.ts";
import { saveSnapshotInTransaction } from "./session-commands.ts";

/** A batch whose events are text. */
export interface ImportRows extends Omit<ImportBatch, "events"> {
  readonly events: readonly NewEventRow[];
}

/** What the import store asks of the database. */
export const importCommands = {
  knownMessages(db: Connection, namespace: string, ids: readonly string[]): readonly string[] {
    const known = "SELECT 1 FROM imported_message WHERE namespace = ? AND id = ?";
    return db.read(() => ids.filter((id) => db.get(known, namespace, keyOf(id))));
  },

  commitImport(
    db: Connection,
    namespace: string,
    batches: readonly ImportRows[],
    files: readonly (readonly [path: string, state: string])[],
  ): number {
    // The transcript has what a power failure takes away, and the file counts as read only after this.
    return db.writeUnsynced(() => {
      const first = nextPosition(db);
      if (batches.length > 0) expectManyWords(db);
      for (const { sessionId, lastSeq, events, snapshot, ids } of batches) {
        appendInTransaction(db, namespace, sessionId, lastSeq, events);
        for (const id of ids) insertMessage(db, namespace, id);
        saveSnapshotInTransaction(db, namespace, snapshot);
      }
      for (const [path, state] of files) {
        db.run("INSERT OR REPLACE INTO imported_file VALUES (?, ?, ?)", namespace, path, state);
      }
      return first;
    });
  },

  importedFiles(
    db: Connection,
    namespace: string,
  ): readonly { readonly path: string; readonly state: string }[] {
    return db.all("SELECT path, state FROM imported_file WHERE namespace = ?", namespace);
  },

  importedKeys(db: Connection, namespace: string, after: string, limit: number): readonly string[] {
    return db
      .all<{ key: string }>(
        `SELECT lower(hex(id)) AS key FROM imported_message WHERE namespace = ? AND id > ?
         ORDER BY id LIMIT ?`,
        namespace,
        Buffer.from(after, "hex"),
        limit,
      )
      .map(({ key }) => key);
  },

  restoreImported(db: Connection, namespace: string, keys: readonly string[]): void {
    const sql = "INSERT OR IGNORE INTO imported_message VALUES (?, ?)";
    db.write(() => {
      for (const key of keys) db.run(sql, namespace, Buffer.from(key, "hex"));
    });
  },
};

/**
 * Makes the word index merge its parts 16 at a time instead of 4, and hold a whole batch in memory until its commit.
 * The index keeps that. A search reads a few more parts.
 */
function expectManyWords(db: Connection): void {
  const isSet = db.get("SELECT 1 FROM event_text_config WHERE k = 'automerge'") !== undefined;
  if (isSet) return;
  db.run("INSERT INTO event_text (event_text, rank) VALUES ('automerge', 16)");
  db.run("INSERT INTO event_text (event_text, rank) VALUES ('hashsize', 16000000)");
}

function insertMessage(db: Connection, namespace: string, id: string): void {
  const added = db.run(
    "INSERT OR IGNORE INTO imported_message VALUES (?, ?)",
    namespace,
    keyOf(id),
  );
  if (added === 1) return;
  throw new SessionError("SESSION_CONFLICT", { detail: "A message was imported meanwhile." });
}

function keyOf(id: string): Uint8Array {
  return Buffer.from(importKey(id), "hex");
}
