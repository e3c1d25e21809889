import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { becomeSchema14 } from "../../../test/support/earlier-store.ts";
import type { NewEvent } from "../../core/event.ts";
import { newId } from "../../core/ids.ts";
import { SessionState } from "../../core/session-state.ts";
import type { Connection } from "./connection.ts";
import { openDatabase } from "./database.ts";
import { openConnection, requireSqlite, SCHEMA_VERSION } from "./open-connection.ts";
import { sqliteStores } from "./sqlite-stores.ts";

let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rkat-test-"));
  path = join(folder, ".rkat", "rkat.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a store and its folder are private to the user", () => {
  const db = openConnection(path);
  db.write(() => db.run("INSERT INTO log (namespace, session_id) VALUES ('n', 's')"));
  const mode = (name: string) => statSync(name).mode & 0o777;
  expect(mode(join(folder, ".rkat"))).toBe(0o700);
  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(mode(file)).toBe(0o600);
  db.close();
});

test("a folder that was there keeps its mode", () => {
  mkdirSync(join(folder, ".rkat"));
  // Your umask would take from the mode of a folder that is made.
  chmodSync(join(folder, ".rkat"), 0o755);
  openConnection(path).close();
  expect(statSync(join(folder, ".rkat")).mode & 0o777).toBe(0o755);
});

test("what a store says of itself: WAL, synced at each commit, overwritten when deleted, ours", () => {
  const db = openConnection(path);
  const pragma = (name: string) => Object.values(db.get<object>(`PRAGMA ${name}`) ?? {})[0];
  expect(pragma("journal_mode")).toBe("wal");
  expect(pragma("synchronous")).toBe(2);
  expect(pragma("secure_delete")).toBe(1);
  expect(pragma("foreign_keys")).toBe(1);
  expect(pragma("busy_timeout")).toBe(0);
  expect(pragma("user_version")).toBe(SCHEMA_VERSION);
  expect(pragma("application_id")).toBe(Buffer.from("rkat").readInt32BE());
  db.close();
});

test("an empty file becomes a store", () => {
  path = join(folder, "empty.db");
  writeFileSync(path, "");
  openConnection(path).close();
  openConnection(path).close();
});

test("of several that open a new store at once, all succeed", async () => {
  const databases = [1, 2, 3, 4].map(() => openDatabase({ path, thread: "worker" }));
  const found = await Promise.all(databases.map((db) => db.run("lastSeq", "default", "s")));
  expect(found).toEqual([0, 0, 0, 0]);
  await Promise.all(databases.map((db) => db.close()));
});

test("a store of a newer rkat is refused and left as it is", () => {
  openConnection(path).close();
  const newer = new DatabaseSync(path);
  newer.exec("PRAGMA user_version = 99");
  newer.close();
  const before = readFileSync(path);
  assert.throws(() => openConnection(path), {
    code: "SESSION_STORE_ERROR",
    message: `The store failed. ${path} was written by a newer rkat (schema 99; this one knows ${SCHEMA_VERSION}).`,
  });
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("a store of schema 7 becomes one of today, by whatever process opens it first", async () => {
  const made = openConnection(path);
  const schema = schemaOf(made);
  made.close();
  const snapshot = new SessionState("old").snapshot();
  becomeSchema14(path);
  const older = new DatabaseSync(path);
  older.exec(`
    ALTER TABLE knowledge_entry DROP COLUMN checksum;
    ALTER TABLE knowledge_entry RENAME COLUMN likeness TO signature;
    DROP TABLE forgotten_text;
    DROP TABLE forgetting_key;
    DROP TABLE imported_message;
    DROP TABLE imported_file;
    ALTER TABLE lease DROP COLUMN stop;
    DROP INDEX memory_entry_marked;
    ALTER TABLE memory_entry DROP COLUMN marks;
    DROP INDEX event_by_kind;
    DROP INDEX snapshot_by_archived;
    DROP INDEX snapshot_by_source;
    ALTER TABLE snapshot DROP COLUMN agent;
    ALTER TABLE snapshot DROP COLUMN project;
    ALTER TABLE snapshot DROP COLUMN branch;
    ALTER TABLE snapshot DROP COLUMN source;
    INSERT INTO snapshot VALUES ('default', 'old', 1, 2, 0, '{}', '${JSON.stringify(snapshot)}');
    PRAGMA user_version = 7;
  `);
  older.close();
  const stores = [1, 2, 3, 4].map(() => sqliteStores({ path, thread: "worker" }));
  for (const { sessions } of stores) {
    expect(await sessions.list({})).toEqual([snapshot]);
    const own = { source: { agent: "rkat", own: true } };
    expect(await sessions.list(own)).toHaveLength(1);
  }
  await Promise.all(stores.map((one) => one.close()));
  const db = openConnection(path);
  expect(db.get("PRAGMA user_version")).toEqual({ user_version: SCHEMA_VERSION });
  expect(schemaOf(db)).toEqual(schema);
  db.close();
});

test("a store of schema 14 keeps its words and its positions, and adds words of new events later", async () => {
  const before = sqliteStores({ path });
  const { events } = before;
  await events.append("one", 0, [said("A heron."), said("An otter.")]);
  await events.append("two", 0, [said("A badger.")]);
  // They come into the index, as in schema 14.
  expect(await events.search({ query: "heron", limit: 5 })).toHaveLength(1);
  await before.close();
  becomeSchema14(path);
  const running = new DatabaseSync(path);
  const add = running.prepare("INSERT INTO event_text (rowid, text) VALUES (?, ?)");

  const migrating = openConnection(path);
  assert.throws(
    () => migrating.exec("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema"),
    /may not be modified/,
  );
  migrating.close();
  const stores = sqliteStores({ path });
  const last = async () => (await stores.events.readAll(0, 10)).at(-1)?.position;
  expect(await last()).toBe(3);
  assert.throws(() => add.run(4, "lynx"), /no such table: event_text/);
  running.close();
  await stores.events.delete("two");
  await stores.events.append("one", 2, [said("A badger and a heron.")]);
  expect(await last()).toBe(4);
  const found = async (query: string) =>
    (await stores.events.search({ query, limit: 5 })).map(({ content }) => content);
  expect(await found("heron")).toEqual(["A heron.", "A badger and a heron."]);
  expect(await found("badger")).toEqual(["A badger and a heron."]);
  expect(await found("otter")).toEqual(["An otter."]);
  await stores.close();

  const db = openConnection(path);
  expect(db.get("SELECT sql FROM sqlite_schema WHERE name = 'event'")).toEqual({
    sql: expect.not.stringContaining("AUTOINCREMENT"),
  });
  expect(db.get("PRAGMA integrity_check")).toEqual({ integrity_check: "ok" });
  db.close();
});

function said(content: string): NewEvent {
  return {
    event_id: newId(),
    timestamp_ms: 1,
    event: { type: "message_added", message: { role: "user", content } },
  };
}

/** The columns of each table and the indexes, however they came to be. */
function schemaOf(db: Connection): unknown {
  return db.all(`
    SELECT entry.type, entry.name, entry.tbl_name, column.*, iif(entry.type = 'index', entry.sql, NULL) AS sql
    FROM sqlite_schema AS entry LEFT JOIN pragma_table_xinfo(entry.name) AS column ON entry.type = 'table'
    ORDER BY entry.name, column.cid
  `);
}

test("another program's database is refused and left as it is", () => {
  path = join(folder, "other.db");
  const other = new DatabaseSync(path);
  other.exec("CREATE TABLE thing (name TEXT)");
  other.close();
  const before = readFileSync(path);
  assert.throws(() => openConnection(path), {
    code: "SESSION_STORE_ERROR",
    message: /other\.db is a database of another program\.$/,
  });
  expect(readFileSync(path).equals(before)).toBe(true);
});

for (const thread of ["main", "worker"] as const) {
  test(`a file that is not a database is refused by name (${thread} thread)`, async () => {
    path = join(folder, "notes.txt");
    writeFileSync(path, "These are notes, and they stay. ".repeat(100));
    const database = openDatabase({ path, thread });
    await assert.rejects(database.run("lastSeq", "default", "s"), {
      name: "SessionError",
      code: "SESSION_STORE_ERROR",
      message: `The store failed. ${path} is not a database (file is not a database).`,
      hint: /Name another path/,
    });
    await database.close();
    expect(readFileSync(path, "utf8")).toMatch(/^These are notes/);
  });
}

test("a folder that cannot be made is a failure of the store", async () => {
  writeFileSync(join(folder, "file"), "");
  const database = openDatabase({ path: join(folder, "file", "rkat.db") });
  await assert.rejects(database.run("lastSeq", "default", "s"), {
    code: "SESSION_STORE_ERROR",
    message: /rkat\.db cannot be opened \(.*mkdir/,
  });
});

test("a SQLite library that may corrupt the store is refused in one line", () => {
  for (const version of ["3.51.2", "3.45.1", "3.9.99", "2.99.99"]) {
    assert.throws(() => requireSqlite(version), {
      code: "SESSION_STORE_ERROR",
      message: new RegExp(`^[^\n]*SQLite ${version.replaceAll(".", "\\.")}[^\n]*3\\.51\\.3[^\n]*$`),
    });
  }
  for (const version of ["3.51.3", "3.51.10", "3.53.4", "4.0.0"]) requireSqlite(version);
  requireSqlite();
});
