import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { MemoryEntry } from "../../core/memory-store.ts";
import { openDatabase } from "./database.ts";
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

test("an index of other words is built again before it is searched, and slots stay", async () => {
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
