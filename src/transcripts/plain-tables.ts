import { copyFileSync, lstatSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { isObject } from "../core/fields.ts";
import { bytesAt, type FoundFile } from "./found-file.ts";
import type { ImportNotes } from "./imported.ts";
import type { Json } from "./json-fields.ts";

export function isSqlite(head: Uint8Array): boolean {
  return Buffer.from(head.subarray(0, 15)).toString("latin1") === "SQLite format 3";
}

/**
 * Reads a database of another program. It is opened read-only, waits for a writer, and leaves no file beside it.
 *
 * The file may be a stranger's. So nothing that its schema says is computed: only columns that are stored are read,
 * of tables that are plain. Each statement takes rows one by one, or one row by its number, because a step that looks
 * for something in a table whose pages lead to each other may never end. What is read is counted.
 *
 * @throws Error when it stays locked, or cannot be opened.
 */
export async function* withPlainTables<Found>(
  file: FoundFile,
  notes: ImportNotes,
  work: (tables: PlainTables) => AsyncIterable<Found>,
  lockTimeoutMs = 5000,
): AsyncGenerator<Found> {
  // Loaded late: only imports from databases need SQLite here.
  const { DatabaseSync } = await import("node:sqlite");
  const strange = BESIDE.find((end) => lookedAt(file.path + end)?.isFile() === false);
  if (strange !== undefined) {
    notes.skip(
      file,
      undefined,
      `what is called ${basename(file.path)}${strange} is no regular file`,
    );
    return;
  }
  const place = await placeOf(file);
  try {
    const db = new DatabaseSync(place.address, { readOnly: true, timeout: lockTimeoutMs });
    try {
      // One state of the file, from the first row to the last.
      db.exec("PRAGMA trusted_schema = OFF; BEGIN");
      yield* work(new PlainTables(db, bytesOf(file.path)));
    } catch (error) {
      skipDamaged(error, file, notes);
    } finally {
      db.close();
    }
  } finally {
    if (place.copy) rmSync(place.copy, { recursive: true, force: true });
  }
}

/**
 * The address to open a database at. Opening one with a log of changes (WAL) writes files beside it:
 *
 *     no log, or an empty one     it does not change: opened as immutable, which writes nothing
 *     a log, and `-shm`           another program has it open, and both files are there already
 *     a log, and no `-shm`        it was copied or restored: read in a copy
 */
async function placeOf({
  path,
  read,
}: FoundFile): Promise<{ address: string | URL; copy?: string }> {
  const head = await bytesAt({ read }, 0, 20);
  if (head[18] !== WAL) return { address: path };
  if (!sizeOf(`${path}-wal`))
    return { address: new URL(`${pathToFileURL(path).href}?immutable=1`) };
  if (sizeOf(`${path}-shm`) !== undefined) return { address: path };
  const copy = mkdtempSync(join(tmpdir(), "rkat-database-"));
  for (const end of ["", "-wal"]) copyFileSync(path + end, join(copy, basename(path) + end));
  return { address: join(copy, basename(path)), copy };
}

/** The version of the file's format that has a log of changes. */
const WAL = 2;

/** The files beside a database that SQLite opens too. It follows a link, and waits for ever at a pipe. */
const BESIDE = ["-wal", "-shm", "-journal"] as const;

function lookedAt(path: string) {
  return lstatSync(path, { throwIfNoEntry: false });
}

function sizeOf(path: string): number | undefined {
  return lookedAt(path)?.size;
}

/** The bytes of the database, and of its log of changes that are not in it yet. */
function bytesOf(path: string): number {
  return (sizeOf(path) ?? 0) + (sizeOf(`${path}-wal`) ?? 0);
}

/** SQLite's codes for a file that exists but cannot be used now: no permission, locked, a failing disk. */
const UNREADABLE = new Set([3, 5, 6, 10, 14, 23]);

/** Another problem is one of the file's content. */
export function skipDamaged(error: unknown, file: FoundFile, notes: ImportNotes): void {
  const { code, errcode } = (isObject(error) ? error : {}) as { code?: unknown; errcode?: unknown };
  const kind = typeof errcode === "number" ? errcode & 0xff : 0;
  if (error instanceof StrangeDatabase) notes.skip(file, undefined, error.message);
  else if (code === "ERR_OUT_OF_RANGE") {
    notes.skip(file, undefined, "the database has a number that is too large");
  } else if (kind === 0 || UNREADABLE.has(kind)) throw error;
  else notes.skip(file, undefined, `the database is damaged or of another kind: ${String(error)}`);
}

/** A database that its program does not make, and that would cost more than its bytes. */
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
/** The same limit as for a line of other transcripts. */
const DATA_BYTES_MAX = 64 * 1024 * 1024;

/** A column, or null where it is longer. SQLite knows the length without reading it. */
function within(column: string, bytes: number): string {
  return `CASE WHEN octet_length("${column}") <= ${bytes} THEN "${column}" END`;
}

/** The tables of a database that only store what they have, read within the limits of what its file can have. */
export class PlainTables {
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

  /** A reader of a column with long values, by the numbers of rows. */
  dataOf(table: string, name = "data"): (row: unknown) => unknown {
    const column = this.#columnsOf(table).has(name) ? within(name, DATA_BYTES_MAX) : "NULL";
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
        `its table "${table}" computes the column "${String(computed.name)}", which its program's does not`,
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
