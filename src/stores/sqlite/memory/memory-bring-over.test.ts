import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { MemoryEntry } from "../../../core/memory-store.ts";
import { openDatabase } from "../database.ts";
import { openConnection } from "../open-connection.ts";
import { sessionSchema } from "../session-schema.ts";
import { SqliteMemoryStore } from "../sqlite-memory-store.ts";
import { findNamespace } from "./memory-namespace.ts";
import { memorySchema } from "./memory-schema.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rkat-test-"));
});
afterEach(() => rm(folder, { recursive: true }));

const path = () => join(folder, "rkat.db");
const open = (namespace = "default") =>
  new SqliteMemoryStore(openDatabase({ path: path() }), { namespace });

/** A store as rkat wrote it when SQLite's FTS5 was its index. */
function writeOldStore(namespaces: ReadonlyMap<string, readonly MemoryEntry[]>): void {
  const db = new DatabaseSync(path());
  db.exec(`
    PRAGMA journal_mode = WAL;
    BEGIN;
    ${sessionSchema}
    ${memorySchema}
    PRAGMA application_id = ${0x726b6174};
    PRAGMA user_version = 2;
  `);
  for (const [number, [name, entries]] of [...namespaces].entries()) {
    db.prepare("INSERT INTO memory_namespace VALUES (?, ?, ?)").run(number, name, entries.length);
    const sessions = [...new Set(entries.map(({ sessionId }) => sessionId))];
    for (const [index, id] of sessions.entries()) {
      db.prepare("INSERT INTO memory_session VALUES (?, ?, ?, 9, 9, 9)").run(
        number * 2 ** 22 + index,
        number,
        id,
      );
    }
    for (const [index, entry] of entries.entries()) {
      const session = number * 2 ** 22 + sessions.indexOf(entry.sessionId);
      const position = session * 2 ** 16 + 2 + index;
      db.prepare("INSERT INTO memory_entry VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?)").run(
        position,
        number,
        entry.id,
        entry.turn,
        entry.kind,
        entry.time ?? null,
        entry.role ?? null,
        entry.speaker ?? null,
        entry.source?.from ?? null,
        entry.source?.to ?? null,
        entry.content,
      );
      db.prepare("INSERT INTO memory_words (rowid, words) VALUES (?, ?)").run(
        2 * position,
        entry.content.toLowerCase(),
      );
    }
  }
  db.exec("COMMIT");
  db.close();
}

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

test("what an older rkat remembered is found, whole, from the first search on", async () => {
  const full = entry(0, {
    kind: "fact",
    time: "2024-05-06T07:08:09Z",
    role: "user",
    speaker: "Caroline",
    source: { from: 3, to: 5 },
  });
  const entries = [full, ...Array.from({ length: 1200 }, (_, index) => entry(index + 1))];
  const others = [entry(1, { content: "an osprey", sessionId: "r" })];
  writeOldStore(
    new Map([
      ["default", entries],
      ["other", others],
    ]),
  );
  const [one, another] = [open(), open()];
  const found = await Promise.all(
    [one, another].map((store) => store.search({ query: "number777", limit: 1 })),
  );
  expect(found.map(([hit]) => hit?.id)).toEqual(["entry-777", "entry-777"]);
  expect(await one.list({ limit: 5000 })).toEqual(entries);
  expect((await one.verify()).problems).toEqual([]);
  const other = open("other");
  expect(await other.add([entry(1), entry(2, { content: "an osprey too", sessionId: "r" })])).toBe(
    1,
  );
  const [hit] = await other.search({ query: "osprey", limit: 1, neighbours: 1, minScore: 0 });
  expect(hit?.neighbours?.after.map(({ id }) => id)).toEqual(["entry-2"]);
  await Promise.all([one, another, other].map((store) => store.close()));
});

test("bringing over goes on where it was interrupted, and leaves nothing behind", async () => {
  const entries = Array.from({ length: 1300 }, (_, index) =>
    entry(index, { content: `secretword${index} heron`, sessionId: `s${index % 3}` }),
  );
  writeOldStore(new Map([["default", entries]]));
  const database = openDatabase({ path: path() });
  await database.run("prepareMemories", "default");
  await database.close();
  const store = open();
  expect((await store.stats()).entries).toBe(1300);
  expect((await store.verify()).problems).toEqual([]);
  await store.delete({ ids: ["entry-7", "entry-1299"] });
  await store.close();
  const bytes = (await readFile(path())).toString("latin1");
  expect(bytes).not.toContain("secretword1299");
  expect(bytes).toContain("secretword1298");
});

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
  expect(findNamespace(db, "default")?.version).toBe(99);
  db.close();
  await expect(store.search({ query: "heron", limit: 1 })).rejects.toThrow(/another rkat/);
  await expect(store.add([entry(2)])).rejects.toThrow(/another rkat/);
  await store.close();
});
