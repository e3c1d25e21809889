import { lstatSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { isObject } from "../../core/fields.ts";
import type { FoundFile } from "../found-file.ts";
import type { ImportNotes } from "../imported.ts";
import { type Json, nameOf, objectOf, parsedJson } from "../json-fields.ts";
import type { StoredMessage, StoredSession } from "./opencode-stores.ts";

/**
 * Reads the sessions of opencode's database. It is opened read-only, and waits for a writer.
 *
 * The file may be a stranger's. So nothing that its schema says is computed: only columns that are stored are read,
 * of tables that are plain. Each statement takes rows one by one, or one row by its number, because a step that looks
 * for something in a table whose pages lead to each other may never end. What is read is counted.
 *
 * @throws Error when it stays locked, or cannot be opened.
 */
export async function* readDatabase(
  file: FoundFile,
  notes: ImportNotes,
  lockTimeoutMs = 5000,
): AsyncGenerator<StoredSession> {
  // Loaded late: only imports from opencode need SQLite here.
  const { DatabaseSync } = await import("node:sqlite");
  const db = new DatabaseSync(file.path, { readOnly: true, timeout: lockTimeoutMs });
  try {
    // One state of the file, from the first row to the last.
    db.exec("PRAGMA trusted_schema = OFF; BEGIN");
    const tables = new PlainTables(db, bytesOf(file.path));
    if (!tables.has("session")) {
      notes.skip(file, undefined, "it is not a database of opencode");
      return;
    }
    const worktrees = new Map<string, string>();
    for await (const { id, worktree } of tables.rows("project", ["id", "worktree"])) {
      worktrees.set(String(id), String(worktree));
    }
    const sessions = await Array.fromAsync(tables.rows("session", SESSION));
    const messages = new StoredMessages(tables, file, notes);
    for (const row of sessions.sort(byId)) {
      const id = nameOf(row.id);
      if (id === undefined) continue;
      const about = { ...row, revert: json(row.revert), model: json(row.model) };
      const project = worktrees.get(String(row.project_id));
      yield { id, about, project, messages: () => messages.of(id) };
    }
  } catch (error) {
    skipDamaged(error, file, notes);
  } finally {
    db.close();
  }
}

const SESSION = [
  ...["id", "project_id", "parent_id", "directory", "title"],
  ...["revert", "model", "time_created", "time_updated"],
];

/** The bytes of the database, and of its log of changes that are not in it yet. */
function bytesOf(path: string): number {
  const sizes = ["", "-wal"].map((end) => lstatSync(path + end, { throwIfNoEntry: false })?.size);
  return sizes.reduce<number>((sum, size = 0) => sum + size, 0);
}

/** SQLite's codes for a file that exists but cannot be used now: no permission, locked, a failing disk. */
const UNREADABLE = new Set([3, 5, 6, 10, 14, 23]);

/** Another problem is one of the file's content. */
function skipDamaged(error: unknown, file: FoundFile, notes: ImportNotes): void {
  const { code, errcode } = (isObject(error) ? error : {}) as { code?: unknown; errcode?: unknown };
  const kind = typeof errcode === "number" ? errcode & 0xff : 0;
  if (error instanceof StrangeDatabase) notes.skip(file, undefined, error.message);
  else if (code === "ERR_OUT_OF_RANGE") {
    notes.skip(file, undefined, "the database has a number that is too large");
  } else if (kind === 0 || UNREADABLE.has(kind)) throw error;
  else notes.skip(file, undefined, `the database is damaged or of another kind: ${String(error)}`);
}

/** A database that opencode does not make, and that would cost more than its bytes. */
class StrangeDatabase extends Error {}

/** SQLite stores a row in three bytes at least, with its place in the page. */
const ROW_BYTES_MIN = 3;
/** Some rows are read twice, and SQLite's own texts may be stored in half of JavaScript's bytes. */
const READ_TIMES = 4;
/** Reading a megabyte takes a few milliseconds. */
const MS_BASE = 10_000;
const MS_OF_MEGABYTE = 500;
/** Milliseconds after which other work has its turn. */
const SLICE_MS = 25;

/** Longer texts are not read: a title, a folder, what is hidden. */
const FIELD_BYTES_MAX = 8 * 1024 * 1024;
/** As much as a line of other transcripts. */
const DATA_BYTES_MAX = 64 * 1024 * 1024;

/** A column, or null where it is longer. SQLite knows the length without reading it. */
function within(column: string, bytes: number): string {
  return `CASE WHEN octet_length("${column}") <= ${bytes} THEN "${column}" END`;
}

/** The tables of a database that only store what they have, read within the limits of what its file can have. */
class PlainTables {
  readonly #db: DatabaseSync;
  readonly #sql: ReadonlyMap<string, string>;
  #rowsLeft: number;
  #bytesLeft: number;
  #msLeft: number;

  constructor(db: DatabaseSync, bytes: number) {
    this.#db = db;
    this.#rowsLeft = (READ_TIMES * bytes) / ROW_BYTES_MIN;
    this.#bytesLeft = READ_TIMES * bytes;
    this.#msLeft = MS_BASE + (MS_OF_MEGABYTE * bytes) / 1e6;
    const named = db.prepare(
      "SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND sql IS NOT NULL",
    );
    const sql = new Map<string, string>();
    for (const { name, sql: text } of this.#counted(named.iterate())) {
      sql.set(String(name), String(text));
    }
    this.#sql = sql;
  }

  has(table: string): boolean {
    return this.#sql.has(table);
  }

  /** Every row, in the order in which the table has them. Columns that it lacks are null. */
  async *rows(table: string, columns: readonly string[]): AsyncGenerator<Json> {
    if (!this.has(table)) return;
    const stored = this.#columnsOf(table);
    const shown = columns.map((name) =>
      stored.has(name) ? `${within(name, FIELD_BYTES_MAX)} AS "${name}"` : `NULL AS "${name}"`,
    );
    const rows = this.#db.prepare(
      `SELECT rowid AS row, ${shown.join(", ")} FROM "${table}" NOT INDEXED`,
    );
    let turn = performance.now();
    for (const row of this.#counted(rows.iterate())) {
      yield row;
      if (performance.now() - turn < SLICE_MS) continue;
      await turnOfLoop();
      turn = performance.now();
    }
  }

  /** A reader of the column `data`, by the numbers of rows. */
  dataOf(table: string): (row: unknown) => unknown {
    const has = this.#columnsOf(table).has("data");
    const column = has ? within("data", DATA_BYTES_MAX) : "NULL";
    const one = this.#db.prepare(`SELECT ${column} AS data FROM "${table}" WHERE rowid = ?`);
    return (row) => {
      const [found] = [...this.#counted(one.iterate(row as number))];
      return found?.data;
    };
  }

  /** The stored columns of a table. */
  #columnsOf(table: string): ReadonlySet<unknown> {
    if (!/^CREATE TABLE\b/i.test(this.#sql.get(table) ?? "")) {
      throw new StrangeDatabase(`its "${table}" is not a table that only stores what it has`);
    }
    const columns = this.#db.prepare("SELECT name, hidden FROM pragma_table_xinfo(?)").all(table);
    if (columns.some(({ name }) => /^(?:rowid|oid|_rowid_)$/i.test(String(name)))) {
      throw new StrangeDatabase(`its table "${table}" hides the numbers of its rows`);
    }
    const computed = columns.find(({ hidden }) => hidden !== 0);
    if (computed) {
      throw new StrangeDatabase(
        `its table "${table}" computes the column "${String(computed.name)}", which opencode's does not`,
      );
    }
    return new Set(columns.map(({ name }) => name));
  }

  /** The rows of a statement, with what they cost taken off the limits. */
  *#counted(rows: Iterator<Record<string, unknown>>): Generator<Json> {
    for (;;) {
      const start = performance.now();
      const { done, value } = rows.next();
      this.#msLeft -= performance.now() - start;
      if (done) return;
      this.#rowsLeft -= 1;
      for (const field of Object.values(value)) {
        if (typeof field === "string") this.#bytesLeft -= field.length;
        else if (field instanceof Uint8Array) this.#bytesLeft -= field.byteLength;
      }
      if (this.#rowsLeft < 0 || this.#bytesLeft < 0) {
        throw new StrangeDatabase("its tables have more than its file can hold");
      }
      if (this.#msLeft < 0) throw new StrangeDatabase("it takes far longer than its size explains");
      yield value;
    }
  }
}

/** A row without its content, which is read when it is needed. */
interface RowPlace {
  readonly row: unknown;
  readonly id: unknown;
  readonly time_created?: unknown;
  readonly type?: unknown;
}

/** Bad records of a database that a report names. */
const NAMED_MAX = 20;

/** The messages of all sessions: where they are, and their content one by one. */
class StoredMessages {
  readonly #tables: PlainTables;
  readonly #file: FoundFile;
  readonly #notes: ImportNotes;
  #notJson = 0;
  #places: Promise<Record<"message" | "part" | "newer", Places>> | undefined;

  constructor(tables: PlainTables, file: FoundFile, notes: ImportNotes) {
    this.#tables = tables;
    this.#file = file;
    this.#notes = notes;
  }

  async *of(session: string): AsyncGenerator<StoredMessage> {
    try {
      this.#places ??= this.#findAll();
      const { message, part, newer } = await this.#places;
      let count = 0;
      for await (const found of this.#withParts(message.get(session) ?? [], part)) {
        count += 1;
        yield found;
      }
      if (count === 0) yield* this.#newer(newer.get(session) ?? []);
    } catch (error) {
      skipDamaged(error, this.#file, this.#notes);
    }
  }

  *#withParts(messages: readonly RowPlace[], parts: Places): Generator<StoredMessage> {
    if (messages.length === 0) return;
    const [dataOfMessage, dataOfPart] = ["message", "part"].map((table) =>
      this.#tables.dataOf(table),
    ) as [Reader, Reader];
    for (const place of messages) {
      const info = this.#object(place, dataOfMessage);
      const id = nameOf(place.id);
      if (!info || id === undefined) continue;
      const withIds = (parts.get(id) ?? []).flatMap((part) => {
        const data = this.#object(part, dataOfPart);
        return data ? [{ ...data, id: part.id }] : [];
      });
      yield { id, info: withTime(info, place), parts: withIds };
    }
  }

  *#newer(records: readonly RowPlace[]): Generator<StoredMessage> {
    if (records.length === 0) return;
    const dataOf = this.#tables.dataOf("session_message");
    for (const place of records) {
      const data = this.#object(place, dataOf);
      const id = nameOf(place.id);
      if (data && id !== undefined) {
        yield { id, info: withTime({ ...data, type: place.type }, place) };
      }
    }
  }

  #object(place: RowPlace, dataOf: Reader): Json | undefined {
    const data = json(dataOf(place.row));
    if (data !== undefined) return objectOf(data);
    this.#notJson += 1;
    const which =
      this.#notJson < NAMED_MAX
        ? `record ${String(place.id).slice(0, 100)} is`
        : "more records are";
    if (this.#notJson <= NAMED_MAX)
      this.#notes.skip(this.#file, undefined, `${which} not JSON, or larger than 64 MB`);
    return undefined;
  }

  async #findAll() {
    const both = this.#tables.has("message") && this.#tables.has("part");
    const times = ["id", "session_id", "time_created"];
    return {
      message: both ? await this.#find("message", "session_id", times) : new Map(),
      part: both ? await this.#find("part", "message_id", ["id", "message_id"]) : new Map(),
      newer: await this.#find("session_message", "session_id", [...times, "type"]),
    };
  }

  /** The rows of a table by the id that they belong to, in order. */
  async #find(table: string, owner: string, columns: readonly string[]): Promise<Places> {
    const places = new Map<unknown, RowPlace[]>();
    for await (const { [owner]: of, ...place } of this.#tables.rows(table, columns)) {
      const known = places.get(of);
      if (known) known.push(place as unknown as RowPlace);
      else places.set(of, [place as unknown as RowPlace]);
    }
    for (const some of places.values()) some.sort(byTime);
    return places;
  }
}

type Places = ReadonlyMap<unknown, readonly RowPlace[]>;
type Reader = (row: unknown) => unknown;

function byId(one: Json | RowPlace, other: Json | RowPlace): number {
  return compared(one.id, other.id);
}

function byTime(one: RowPlace, other: RowPlace): number {
  return compared(one.time_created, other.time_created) || byId(one, other);
}

/** SQLite's order: numbers before texts. */
function compared(one: unknown, other: unknown): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  if (typeof one === typeof other) return String(one) < String(other) ? -1 : one === other ? 0 : 1;
  return typeof one === "number" ? -1 : 1;
}

function withTime(info: Json, row: RowPlace): Json {
  return { ...info, time: { created: row.time_created, ...objectOf(info.time) } };
}

function json(value: unknown): unknown {
  return typeof value === "string" ? parsedJson(value) : undefined;
}
