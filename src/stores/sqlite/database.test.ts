import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { execFile } from "../../../test/support/start-process.ts";
import { SessionError } from "../../core/errors.ts";
import { openDatabase } from "./database.ts";
import { openConnection } from "./open-connection.ts";
import { storeFailure } from "./store-failure.ts";

let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rkat-test-"));
  path = join(folder, "rkat.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

describe.each(["main", "worker"] as const)("a database in the %s thread", (thread) => {
  test("is not opened before it is used, and can be closed without", async () => {
    const database = openDatabase({ path, thread });
    expect(existsSync(path)).toBe(false);
    await database.close();
    expect(existsSync(path)).toBe(false);
  });

  test("refuses commands once it is closed", async () => {
    const database = openDatabase({ path, thread });
    await database.run("lastSeq", "default", "s");
    await database.close();
    await database.close();
    await assert.rejects(database.run("lastSeq", "default", "s"), {
      code: "SESSION_STORE_ERROR",
      message: `${path} is closed.`,
      hint: /before the store/,
    });
  });

  test("lets an error keep its code, its message and its hint", async () => {
    const database = openDatabase({ path, thread });
    const error = await database.run("appendEvents", "default", "s", 7, []).catch((error) => error);
    expect(SessionError.is(error)).toBe(true);
    expect(error.code).toBe("SESSION_CONFLICT");
    expect(error.message).toBe(
      "The session has changed since it was read. Its log ends at 0, not at 7.",
    );
    expect(error.hint).toBe("Read it again and retry.");
    await database.close();
  });

  test("waits for a lock without holding up the process, and reads meanwhile", async () => {
    const database = openDatabase({ path, thread });
    await database.run("lastSeq", "default", "s");
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    let appended = false;
    const appending = database
      .run("appendEvents", "default", "s", 0, [STARTED])
      .then(() => (appended = true));
    expect(await database.run("lastSeq", "default", "s")).toBe(0);
    expect(appended).toBe(false);
    other.exec("ROLLBACK");
    other.close();
    await appending;
    expect(await database.run("lastSeq", "default", "s")).toBe(1);
    await database.close();
  });

  test("gives up on a lock after its time, and says that a retry may help", async () => {
    const database = openDatabase({ path, thread, busyTimeoutMs: 20 });
    await database.run("lastSeq", "default", "s");
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await assert.rejects(database.run("appendEvents", "default", "s", 0, [STARTED]), {
      code: "SESSION_STORE_ERROR",
      message: /is busy: others kept writing for 20 ms/,
      retry: {},
    });
    other.close();
    expect(await database.run("lastSeq", "default", "s")).toBe(0);
    await database.close();
  });

  test("does not keep a process from ending that forgets to close it", async () => {
    const script = `
      import { openDatabase } from ${JSON.stringify(new URL("./database.ts", import.meta.url).href)};
      const database = openDatabase({ path: process.argv[1], thread: ${JSON.stringify(thread)} });
      console.log(await database.run("lastSeq", "default", "s"));
    `;
    const args = ["--input-type=module", "--eval", script, path];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toBe("0\n");
  });

  test("reports a damaged file as damaged", async () => {
    const before = openDatabase({ path });
    await before.run("appendEvents", "default", "s", 0, Array(200).fill(STARTED));
    await before.close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0x5a, 4096));
    const database = openDatabase({ path, thread });
    await assert.rejects(database.run("readEvents", "default", "s", 0, 10), {
      code: "SESSION_STORE_ERROR",
      message: /rkat\.db is damaged \(/,
      hint: /backup/,
    });
    await database.close();
  });
});

test("a full disk undoes what did not fit, and the store goes on when there is room", () => {
  const db = openConnection(path);
  const add = (text: string) =>
    db.write(() => {
      db.run("INSERT INTO log (namespace, session_id) VALUES ('n', 's')");
      db.run("INSERT INTO log (namespace, session_id) VALUES ('n', ?)", text);
    });
  const pages = db.get<{ page_count: number }>("PRAGMA page_count")?.page_count ?? 0;
  db.exec(`PRAGMA max_page_count = ${pages + 5}`);
  const error = (() => {
    try {
      add("x".repeat(100_000));
    } catch (error) {
      return storeFailure(error, path);
    }
  })();
  assert.ok(SessionError.is(error));
  expect(error.code).toBe("SESSION_STORE_ERROR");
  expect(error.message).toMatch(/could not grow, the disk is full/);
  expect(error.hint).toMatch(/space/);
  expect(error.cause).toBeInstanceOf(Error);
  expect(db.all("SELECT * FROM log")).toEqual([]);
  add("small");
  expect(db.all("SELECT * FROM log")).toHaveLength(2);
  db.close();
});

const STARTED = {
  event_id: "e",
  timestamp_ms: 1,
  event: { type: "turn_started", turn_number: 0 },
} as const;
