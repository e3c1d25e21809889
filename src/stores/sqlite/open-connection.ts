import { chmodSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SessionError } from "../../core/errors.ts";
import { is, requireArgument } from "../../core/options.ts";
import { makeFolders } from "../../files/make-folders.ts";
import { checksumOf } from "../stored-json.ts";
import { Connection, OpenFiles } from "./connection.ts";
import { indexSchema, MARKS_OF_ENTRIES } from "./index-schema.ts";
import {
  CHECKSUM_OF_KNOWLEDGE,
  FOUND_BY_KIND,
  forgottenSchema,
  importSchema,
  knowledgeSchema,
  SOURCE_OF_SNAPSHOT,
  STOP_OF_LEASE,
  sessionSchema,
  WORDS_THAT_WAIT,
} from "./plain-schema.ts";

/** The path of a database that is in the memory of one connection, and gone with it. */
export const IN_MEMORY = ":memory:";

/** "rkat", for `file` and for us to know our own files by. */
const APPLICATION_ID = 0x726b6174;

/**
 * Opens the store at `path`, and makes it when there is none. Reads a page or
 * two when the schema is current.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when the file is another program's, or a newer rkat's.
 */
export function openConnection(path: string): Connection {
  requireSqlite();
  const isFile = path !== IN_MEMORY;
  if (isFile) makeFolders(dirname(path), 0o700);
  const db = new Connection(path);
  try {
    // In one transaction: another process may be making the store right now.
    const version = db.read(() => versionOf(db));
    // Now, while it is empty: SQLite gives the WAL and its index the mode of the file.
    if (version === 0 && isFile) chmodSync(path, 0o600);
    // As early as that too: a file keeps what it began with. `giveFreePagesBack` makes use of it.
    if (version === 0) db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA secure_delete = ON;
    `);
    if (version === 0) createTables(db);
    else if (version < SCHEMA_VERSION) migrate(db);
    if (isFile) db.files = new OpenFiles(path);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * The schema version of a store of ours; 0 for an empty file.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when the file is another program's, or another rkat's
 */
export function versionOf(db: Pick<Connection, "path" | "get">): number {
  const application = pragma(db, "application_id");
  const version = pragma(db, "user_version");
  if (application === 0 && version === 0 && isEmpty(db)) return 0;
  if (application !== APPLICATION_ID) {
    throw refusal(db, "is a database of another program", "Name another path.");
  }
  if (version === SCHEMA_VERSION || version in MIGRATIONS) return version;
  const isNewer = version > SCHEMA_VERSION;
  throw refusal(
    db,
    `was written by ${isNewer ? "a newer" : "an unreleased"} rkat (schema ${version}; this one knows ${SCHEMA_VERSION})`,
    isNewer ? "Update rkat, or name another path." : "Delete it, or name another path.",
  );
}

function createTables(db: Connection): void {
  db.write(() => {
    // Checked again inside the transaction: another process may have created them meanwhile.
    if (versionOf(db) !== 0) return;
    db.exec(`
      ${SCHEMA}
      PRAGMA application_id = ${APPLICATION_ID};
      PRAGMA user_version = ${SCHEMA_VERSION};
    `);
  });
}

/** Brings a store of an earlier version to this one. The statements of each step, by the version that they start from. */
const MIGRATIONS: Readonly<Record<number, string>> = {
  7: SOURCE_OF_SNAPSHOT,
  8: forgottenSchema,
  9: importSchema,
  10: STOP_OF_LEASE,
  11: CHECKSUM_OF_KNOWLEDGE,
  12: FOUND_BY_KIND,
  13: MARKS_OF_ENTRIES,
  14: WORDS_THAT_WAIT,
};

function migrate(db: Connection): void {
  db.write(() => {
    // Read again inside the transaction: another process may have done it meanwhile.
    for (let version = versionOf(db); version < SCHEMA_VERSION; version += 1) {
      db.exec(`${MIGRATIONS[version]} PRAGMA user_version = ${version + 1};`);
      if (version === 11) addChecksums(db);
      if (version === 14) db.changeTable("event", " AUTOINCREMENT", "");
    }
  });
}

/** Adds checksums to the knowledge that an earlier version learned. */
function addChecksums(db: Connection): void {
  const rows = db.all<{ key: number; entry: string }>("SELECT key, entry FROM knowledge_entry");
  for (const { key, entry } of rows) {
    db.run("UPDATE knowledge_entry SET checksum = ? WHERE key = ?", checksumOf(entry), key);
  }
}

function pragma(db: Pick<Connection, "get">, name: "application_id" | "user_version"): number {
  return db.get<Record<string, number>>(`PRAGMA ${name}`)?.[name] ?? 0;
}

function isEmpty(db: Pick<Connection, "get">): boolean {
  return db.get("SELECT 1 FROM sqlite_schema LIMIT 1") === undefined;
}

function refusal(db: Pick<Connection, "path">, what: string, hint: string): SessionError {
  return new SessionError("SESSION_STORE_ERROR", { detail: `${db.path} ${what}.`, hint });
}

/** Written to the file. Raise it with every change of a table, and add the migration from the version before. */
export const SCHEMA_VERSION = 15;

/** All tables of a new store. */
const SCHEMA = [sessionSchema, importSchema, indexSchema, knowledgeSchema, forgottenSchema].join(
  "\n",
);

/** Older libraries may corrupt a WAL file that several processes use: https://sqlite.org/wal.html#walresetbug */
const OLDEST = "3.51.3";

/**
 * Makes sure that Node's SQLite library can be trusted with a store.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when it is too old.
 */
export function requireSqlite(version: string = sqliteVersion()): void {
  requireArgument("the version of requireSqlite", VERSION, version);
  if (compareVersions(version, OLDEST) >= 0) return;
  throw new SessionError("SESSION_STORE_ERROR", {
    detail: `This Node brings SQLite ${version}, whose WAL reset bug corrupts stores that several processes use; install a Node that brings SQLite ${OLDEST} or newer, such as the latest 22, 24 or 26.`,
    hint: "Install the latest Node 22, 24 or 26.",
  });
}

const VERSION = is(
  "a version, such as 3.51.3",
  (value) => typeof value === "string" && /^\d+(?:\.\d+)*$/.test(value),
);

/** The version of Node's SQLite library. */
export function sqliteVersion(): string {
  const db = new DatabaseSync(":memory:");
  try {
    return String(db.prepare("SELECT sqlite_version() AS version").get()?.version);
  } finally {
    db.close();
  }
}

function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((version) => version.split(".").map(Number));
  const differing = left?.findIndex((part, index) => part !== right?.[index]) ?? -1;
  return differing < 0 ? 0 : (left?.[differing] ?? 0) - (right?.[differing] ?? 0);
}
