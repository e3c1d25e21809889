import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { isObject } from "../../core/fields.ts";
import { bytesAt, type FoundFile } from "../found-file.ts";
import type { ImportNotes } from "../imported.ts";
import { type Json, nameOf, objectOf, parsedJson } from "../json-fields.ts";

/**
 * Reads the sessions of opencode's database. It is opened read-only, and waits for a writer.
 *
 * @throws Error when it stays locked, or cannot be opened.
 */
export async function* readDatabase(
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<StoredSession> {
  // Loaded late: only imports from opencode need SQLite here.
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

/** SQLite's codes for a file that exists but cannot be used now: no permission, locked, a failing disk. */
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

/** A message of opencode with its parts, as it writes them. */
export interface StoredMessage {
  readonly id: string;
  readonly info: Json;
  /** A message of the newer table has its content in `info`. */
  readonly parts?: readonly Json[];
}

/** A session of opencode with its messages, the oldest first. */
export interface StoredSession {
  readonly id: string;
  readonly about: Json;
  readonly project: string | undefined;
  readonly messages: () => AsyncIterable<StoredMessage> | Iterable<StoredMessage>;
}

/** Reads a session of the tree of JSON files, from the file that describes it. */
export async function* readTree(
  file: FoundFile,
  notes: ImportNotes,
): AsyncGenerator<StoredSession> {
  if (file.size > FILE_BYTES_MAX) {
    notes.skip(file, undefined, TOO_LONG);
    return;
  }
  const about = parsedJson(Buffer.from(await bytesAt(file, 0, file.size)).toString("utf8"));
  const id = basename(file.path, ".json");
  if (!isObject(about)) {
    notes.unfinished(file);
    return;
  }
  const storage = dirname(dirname(dirname(file.path)));
  // The earliest version had all three folders in that of the sessions.
  const root = basename(dirname(file.path)) === "info" ? dirname(dirname(file.path)) : storage;
  yield {
    id,
    about,
    project: nameOf(about.directory),
    messages: () => messagesIn(root, id, file, notes),
  };
}

const FILE_BYTES_MAX = 64 * 1024 * 1024;
const TOO_LONG = `it is longer than ${FILE_BYTES_MAX} bytes`;

function* messagesIn(
  root: string,
  session: string,
  file: FoundFile,
  notes: ImportNotes,
): Generator<StoredMessage> {
  const messages = objectsIn(join(root, "message", session), file, notes);
  const sorted = [...messages].sort((one, other) => createdAt(one) - createdAt(other));
  for (const { id, value } of sorted) {
    // The earliest version had the parts in a folder of the session.
    const places = [join(root, "part", id), join(root, "part", session, id)];
    const parts = places.flatMap((folder) => [...objectsIn(folder, file, notes)]);
    yield { id, info: value, parts: parts.map((part) => ({ ...part.value, id: part.id })) };
  }
}

interface Named {
  readonly id: string;
  readonly value: Json;
}

function createdAt({ value }: Named): number {
  const created = isObject(value.time) ? value.time.created : undefined;
  return typeof created === "number" ? created : 0;
}

/** The objects of a folder by name. A link is left out: it may lead anywhere. */
function* objectsIn(folder: string, file: FoundFile, notes: ImportNotes): Generator<Named> {
  if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  const entries = readdirSync(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".json"));
  for (const { name } of names.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, name);
    const value = lstatSync(path).size > FILE_BYTES_MAX ? undefined : objectAt(path);
    if (value) yield { id: basename(name, ".json"), value };
    else notes.skip({ ...file, path }, undefined, "it is not a JSON object, or too long");
  }
}

function objectAt(path: string): Json | undefined {
  const value = parsedJson(readFileSync(path, "utf8"));
  return isObject(value) ? value : undefined;
}
