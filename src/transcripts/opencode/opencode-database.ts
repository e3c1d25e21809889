import type { DatabaseSync } from "node:sqlite";
import { isObject } from "../../core/fields.ts";
import type { FoundFile } from "../found-file.ts";
import type { ImportNotes } from "../imported.ts";
import { type Json, nameOf, objectOf, parsedJson } from "../json-fields.ts";
import type { StoredMessage, StoredSession } from "./stored-session.ts";

/**
 * Reads the sessions of opencode's database. It is opened read-only, and waits for a writer.
 *
 * @throws Error when it stays locked, or cannot be opened.
 */
export async function* readDatabase(
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<StoredSession> {
  // Only who imports from opencode needs SQLite here.
  const { DatabaseSync } = await import("node:sqlite");
  const db = new DatabaseSync(file.path, { readOnly: true, timeout: LOCK_TIMEOUT_MS });
  try {
    const tables = tablesOf(db);
    if (!tables.has("session")) {
      notes.skip(file, undefined, "it is not a database of opencode");
      return;
    }
    const worktrees = tables.has("project") ? worktreesOf(db) : new Map<string, string>();
    const sessions = db.prepare("SELECT * FROM session ORDER BY id").all();
    for (const row of sessions) {
      const id = nameOf(row.id);
      if (id === undefined) continue;
      const about = { ...row, revert: json(row.revert), model: json(row.model) };
      yield {
        id,
        about,
        project: worktrees.get(String(row.project_id)),
        messages: () => soundMessages(db, tables, id, file, notes),
      };
    }
  } catch (error) {
    skipDamaged(error, file, notes);
  } finally {
    db.close();
  }
}

/** What SQLite says of a file that is there but cannot be used now: no permission, locked, a failing disk. */
const UNREADABLE = new Set([3, 5, 6, 10, 14, 23]);

/** Another problem is one of the file's content. */
function skipDamaged(error: unknown, file: FoundFile, notes: ImportNotes): void {
  const code = isObject(error) && typeof error.errcode === "number" ? error.errcode & 0xff : 0;
  if (code === 0 || UNREADABLE.has(code)) throw error;
  notes.skip(file, undefined, `the database is damaged or of another kind: ${String(error)}`);
}

const LOCK_TIMEOUT_MS = 5000;

function tablesOf(db: DatabaseSync): ReadonlySet<unknown> {
  const rows = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  return new Set(rows.map(({ name }) => name));
}

function worktreesOf(db: DatabaseSync): ReadonlyMap<string, string> {
  const rows = db.prepare("SELECT id, worktree FROM project").all();
  return new Map(rows.map(({ id, worktree }) => [String(id), String(worktree)]));
}

function* soundMessages(
  ...[db, tables, session, file, notes]: Parameters<typeof messagesOf>
): Generator<StoredMessage> {
  try {
    yield* messagesOf(db, tables, session, file, notes);
  } catch (error) {
    skipDamaged(error, file, notes);
  }
}

function* messagesOf(
  db: DatabaseSync,
  tables: ReadonlySet<unknown>,
  session: string,
  file: FoundFile,
  notes: ImportNotes,
): Generator<StoredMessage> {
  let count = 0;
  if (tables.has("message") && tables.has("part")) {
    const messages = db.prepare(
      "SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id",
    );
    const parts = db.prepare("SELECT * FROM part WHERE message_id = ? ORDER BY id");
    for (const row of messages.iterate(session)) {
      const info = dataOf(row, file, notes);
      const id = nameOf(row.id);
      if (!info || id === undefined) continue;
      count += 1;
      const withIds = parts.all(id).flatMap((part) => {
        const data = dataOf(part, file, notes);
        return data ? [{ ...data, id: part.id }] : [];
      });
      yield { id, info: withTime(info, row), parts: withIds };
    }
  }
  if (count > 0 || !tables.has("session_message")) return;
  const records = db.prepare(
    "SELECT * FROM session_message WHERE session_id = ? ORDER BY time_created, id",
  );
  for (const row of records.iterate(session)) {
    const data = dataOf(row, file, notes);
    const id = nameOf(row.id);
    if (data && id !== undefined) yield { id, info: withTime({ ...data, type: row.type }, row) };
  }
}

function withTime(info: Json, row: Json): Json {
  return { ...info, time: { created: row.time_created, ...objectOf(info.time) } };
}

function dataOf(row: Json, file: FoundFile, notes: ImportNotes): Json | undefined {
  const data = json(row.data);
  if (data === undefined) notes.skip(file, undefined, `record ${String(row.id)} is not JSON`);
  return data === undefined ? undefined : objectOf(data);
}

function json(value: unknown): unknown {
  return typeof value === "string" ? parsedJson(value) : undefined;
}
