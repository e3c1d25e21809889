import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { MemoryEntry } from "../../core/memory-store.ts";
import { openDatabase } from "./database.ts";
import { examineIndexes } from "./examine-sqlite.ts";
import { openConnection } from "./open-connection.ts";
import { SqliteMemoryStore } from "./sqlite-memory-store.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rkat-test-"));
});
afterEach(() => rm(folder, { recursive: true }));

const path = () => join(folder, "rkat.db");
const open = (namespace = "default") =>
  new SqliteMemoryStore(openDatabase({ path: path() }), { namespace });

function entry(number: number, rest: Partial<MemoryEntry> = {}): MemoryEntry {
  return {
    id: `entry-${number}`,
    content: `heron number${number} by the weir`,
    sessionId: "s",
    turn: number,
    kind: "message",
    ...rest,
  };
}

test("a small index of an earlier rkat is made again at its first use, and slots stay", async () => {
  const before = open();
  await before.add(Array.from({ length: 700 }, (_, index) => entry(index)));
  await before.close();
  const slots = () => {
    const db = openConnection(path());
    try {
      return db.all("SELECT id, slot FROM memory_entry ORDER BY id");
    } finally {
      db.close();
    }
  };
  const atFirst = slots();
  const db = openConnection(path());
  // As if an older rkat had indexed it, and found other words.
  db.exec("UPDATE memory_namespace SET version = 0; DELETE FROM memory_word_block");
  db.close();
  const store = open();
  expect((await store.search({ query: "number42", limit: 1 }))[0]?.id).toBe("entry-42");
  expect((await store.verify()).problems).toEqual([]);
  await store.close();
  expect(slots()).toEqual(atFirst);
});

test("a large index of an earlier rkat is made again by processes that end soon, each of which finds all", async () => {
  const before = open();
  const others = open("default\nuser ada");
  await before.add(Array.from({ length: 4000 }, (_, index) => entry(index)));
  await others.add([entry(1)]);
  await Promise.all([before.close(), others.close()]);
  const db = openConnection(path());
  db.exec("UPDATE memory_namespace SET version = 1");
  const versionOf = (name: string) =>
    db.get<{ version: number }>("SELECT version FROM memory_namespace WHERE name = ?", name)
      ?.version;
  const notes: (string | undefined)[] = [];
  for (let processes = 0; versionOf("default") === 1; processes += 1) {
    notes.push(examineIndexes(path()));
    const store = open();
    const [hit] = await store.search({ query: "number3977", limit: 1 });
    expect(hit?.id).toBe("entry-3977");
    await store.close();
    expect(processes).toBeLessThan(10);
  }
  expect(notes.slice(0, 2)).toEqual([
    expect.stringContaining(" 0 of 4001 entries are indexed again"),
    expect.stringContaining(" 1000 of 4001 entries are indexed again"),
  ]);
  expect(versionOf("default\nuser ada")).toBe(1);
  expect(examineIndexes(path())).toContain(" 0 of 1 entries");
  const user = open("default\nuser ada");
  expect(await user.search({ query: "heron", limit: 9 })).toHaveLength(1);
  await user.close();
  expect(examineIndexes(path())).toBeUndefined();
  db.close();
  const store = open();
  expect((await store.verify()).problems).toEqual([]);
  await store.close();
});

test("a store whose index another rkat changes meanwhile is not searched with the wrong words", async () => {
  const store = open();
  await store.add([entry(1)]);
  const db = openConnection(path());
  db.exec("UPDATE memory_namespace SET version = 99");
  db.close();
  await expect(store.search({ query: "heron", limit: 1 })).rejects.toThrow(/another rkat/);
  await expect(store.add([entry(2)])).rejects.toThrow(/another rkat/);
  await store.close();
});
