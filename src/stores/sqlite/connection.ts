import { type BigIntStats, lstatSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from "node:sqlite";
import { SessionError } from "../../core/errors.ts";

/** One open SQLite file, as the commands see it: cached statements and short transactions. */
export class Connection {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** Set once the store is open. A store in memory has none. */
  files: OpenFiles | undefined;

  constructor(path: string) {
    this.path = path;
    // Waiting inside SQLite would block the thread, and lets saturating writers starve us: `run` waits.
    this.#db = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: true });
  }

  /** The prepared statement of `sql`, kept as long as the connection: texts are constants. */
  prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.prepare(sql).get(...values) as Row | undefined;
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.prepare(sql).all(...values) as Row[];
  }

  /**
   * Rows as arrays of their columns. They are quicker to read than the objects of `all`, and much quicker
   * to copy. A statement is asked in one of the two ways only.
   */
  arrays(sql: string, ...values: SQLInputValue[]): readonly SQLOutputValue[][] {
    const statement = this.prepare(sql);
    statement.setReturnArrays(true);
    return statement.all(...values) as unknown as SQLOutputValue[][];
  }

  /** The first of them. */
  array(sql: string, ...values: SQLInputValue[]): readonly SQLOutputValue[] | undefined {
    const statement = this.prepare(sql);
    statement.setReturnArrays(true);
    return statement.get(...values) as unknown as SQLOutputValue[] | undefined;
  }

  /** Another number when another connection has written since. Writing here does not change it. */
  dataVersion(): number {
    return this.array("PRAGMA data_version")?.[0] as number;
  }

  /** Rows as they are asked for: leaving the loop early reads no more of them. */
  iterate<Row>(sql: string, ...values: SQLInputValue[]): Iterable<Row> {
    return this.prepare(sql).iterate(...values) as Iterable<Row>;
  }

  /** Runs a statement and returns how many rows it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.prepare(sql).run(...values).changes);
  }

  /** Inserts a row and returns its rowid. */
  insert(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.prepare(sql).run(...values).lastInsertRowid);
  }

  /** Rows changed since the connection was opened. */
  totalChanges(): number {
    return this.get<{ changes: number }>("SELECT total_changes() AS changes")?.changes ?? 0;
  }

  /** Runs several statements that bind nothing. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** Replaces a part of a table's definition that says nothing about its rows, so none of them is written again. */
  changeTable(name: string, part: string, replacement: string): void {
    // A Node without it is not defensive.
    this.#db.enableDefensive?.(false);
    try {
      this.#db.exec("PRAGMA writable_schema = ON");
      const sql = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = ?";
      this.#db.prepare(sql).run(part, replacement, name);
    } finally {
      // It reads the tables again, too.
      this.#db.exec("PRAGMA writable_schema = RESET");
      this.#db.enableDefensive?.(true);
    }
  }

  /**
   * Does `work` whole or not at all, with no other writer in between.
   *
   * @throws SessionError `SESSION_STORE_ERROR` when the store's files were removed or replaced
   */
  write<Result>(work: () => Result): Result {
    // A deferred transaction that turns into a writer fails with "busy" when another has written since.
    return this.#transaction("BEGIN IMMEDIATE", () => {
      const result = work();
      this.files?.requireInPlace();
      return result;
    });
  }

  /**
   * Like `write`, but a power failure may undo it, which spares a sync: for what the log gives
   * again (snapshots, checkpoints), and for what is worth nothing once all processes are gone (leases).
   */
  writeUnsynced<Result>(work: () => Result): Result {
    this.#db.exec("PRAGMA synchronous = NORMAL");
    try {
      return this.write(work);
    } finally {
      this.#db.exec("PRAGMA synchronous = FULL");
    }
  }

  /** Does `work`, which only reads, on one state of the file. */
  read<Result>(work: () => Result): Result {
    return this.#transaction("BEGIN", work);
  }

  /** Like `read`, for work in steps: they all see the same state of the file. */
  *readInSteps<Step, Result>(work: () => Generator<Step, Result>): Generator<Step, Result> {
    this.prepare("BEGIN").run();
    try {
      return yield* work();
    } finally {
      if (this.#db.isTransaction) this.prepare("COMMIT").run();
    }
  }

  #transaction<Result>(begin: string, work: () => Result): Result {
    this.prepare(begin).run();
    try {
      const result = work();
      this.prepare("COMMIT").run();
      return result;
    } catch (error) {
      // SQLite has rolled back by itself after some errors, such as a full disk.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  /**
   * Moves the WAL into the file and empties it: what was deleted leaves both. Returns false when
   * others are reading, who keep it from being emptied.
   */
  emptyLog(): boolean {
    return this.get<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)")?.busy === 0;
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }
}

/** Pages that are moved at a time. Other writers wait meanwhile. */
const STEP_PAGES = 256;
/** Fewer free ones are left for what is added next. */
const FREE_SHARE_MAX = 0.04;
const FREE_PAGES_MIN = 64;

/**
 * Makes the file a little smaller when much of it is free, as it is when a large segment has taken the
 * place of several; returns whether there is more to do. Files of a rkat that did not set
 * `auto_vacuum` stay as large as they are.
 */
export function giveFreePagesBack(db: Connection): boolean {
  if (pragma(db, "auto_vacuum") !== INCREMENTAL) return false;
  const free = pragma(db, "freelist_count");
  if (free < FREE_PAGES_MIN || free < FREE_SHARE_MAX * pragma(db, "page_count")) return false;
  db.write(() => db.exec(`PRAGMA incremental_vacuum(${STEP_PAGES})`));
  return true;
}

/** Maximum size of a small file, which is written in a fifth of a second. */
const REWRITTEN_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Rewrites a small file. SQLite leaves copies of rows that it moves in unused parts of pages, also with
 * `secure_delete`, and deleting the row leaves the copy.
 */
export function rewriteSmallFile(db: Connection): void {
  const bytes = pragma(db, "page_count") * pragma(db, "page_size");
  if (bytes <= REWRITTEN_BYTES_MAX) db.exec("VACUUM");
}

const INCREMENTAL = 2;

function pragma(
  db: Connection,
  name: "auto_vacuum" | "freelist_count" | "page_count" | "page_size",
): number {
  return db.get<Record<string, number>>(`PRAGMA ${name}`)?.[name] ?? 0;
}

/** File systems that count in whole or even seconds give changes within that time the same time. */
const TICK_MS = 2000;

/**
 * The files of a store, as they were when it was opened.
 *
 * On Unix an open file stays usable after it is deleted: SQLite keeps writing, and everything is gone
 * when the process ends. So each commit first checks that the paths still name these files.
 *
 * Removing or replacing a file changes the time of its folder, which no program can set back (`ctime`).
 * While that time is the same, one look at the folder is enough.
 */
export class OpenFiles {
  readonly #path: string;
  readonly #folder: string;
  readonly #now: () => number;
  readonly #identities: ReadonlyMap<string, string>;
  readonly #areTogether: boolean;
  /** The folder when all files were last found in place. */
  #unchanged: BigIntStats | undefined;

  /** The store at `path` must be open: SQLite keeps its log and the log's index while it is. */
  constructor(path: string, { now = Date.now }: { readonly now?: () => number } = {}) {
    this.#path = resolve(path);
    this.#folder = dirname(this.#path);
    this.#now = now;
    const files = ["", "-wal", "-shm"].map((end) => this.#path + end);
    this.#identities = new Map(
      files.flatMap((file) => {
        const found = look(file);
        return found ? [[file, identityOf(found)]] : [];
      }),
    );
    // If the path is a link, the files are in another folder.
    this.#areTogether = this.#identities.size === files.length && lstatSync(this.#path).isFile();
  }

  /** @throws SessionError `SESSION_STORE_ERROR` when one of the files was removed or replaced. */
  requireInPlace(): void {
    const folder = this.#areTogether ? look(this.#folder) : undefined;
    if (folder && this.#unchanged && isSame(folder, this.#unchanged)) return;
    for (const [file, identity] of this.#identities) {
      const found = look(file);
      if (!found || identityOf(found) !== identity) throw this.#gone();
    }
    // A file may still be removed in the same tick as the folder's last change.
    const isSettled = folder && this.#now() - Number(folder.ctimeMs) > TICK_MS;
    this.#unchanged = isSettled ? folder : undefined;
  }

  #gone(): SessionError {
    return new SessionError("SESSION_STORE_ERROR", {
      detail: `${this.#path} was removed or replaced while it was open. Nothing was stored.`,
      hint: "Stop this process. Put the store back, or let the next start make an empty one.",
    });
  }
}

function look(path: string): BigIntStats | undefined {
  return statSync(path, { throwIfNoEntry: false, bigint: true });
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.ctimeNs === other.ctimeNs && one.ino === other.ino && one.dev === other.dev;
}

function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}-${ino}`;
}
