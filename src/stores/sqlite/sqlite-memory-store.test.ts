import { existsSync, readFileSync, renameSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ConceptEmbedder } from "../../../test/support/concept-embedder.ts";
import { LONG } from "../../../test/support/trials.ts";
import type { MemoryEntry } from "../../core/memory-store.ts";
import { sqliteStores } from "../../sqlite.ts";
import type { IndexedMemoryOptions } from "../indexed-memory.ts";
import { openDatabase } from "./database.ts";
import { SqliteIndexStore } from "./sqlite-index-store.ts";
import { SqliteMemoryStore } from "./sqlite-memory-store.ts";

let folder: string;
let opened: SqliteMemoryStore[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rkat-"));
  opened = [];
});

afterEach(async () => {
  await Promise.all(opened.map((store) => store.close()));
  await rm(folder, { recursive: true });
});

const path = () => join(folder, "rkat.db");

function open(options: IndexedMemoryOptions = {}): SqliteMemoryStore {
  const store = new SqliteMemoryStore(openDatabase({ path: path() }), options);
  opened.push(store);
  return store;
}

function entry(id: string, content: string, rest: Partial<MemoryEntry> = {}): MemoryEntry {
  return { id, content, sessionId: "s", turn: 0, kind: "message", ...rest };
}

async function found(store: SqliteMemoryStore, query: string): Promise<string[]> {
  return (await store.search({ query, limit: 10 })).map(({ id }) => id);
}

/** Asks the file behind the back of the store. */
function inFile<Result>(ask: (db: DatabaseSync) => Result): Result {
  const db = new DatabaseSync(path());
  try {
    return ask(db);
  } finally {
    db.close();
  }
}

/** Every byte of the store's files, in lower case. */
function bytesOfFiles(): string {
  return ["", "-wal", "-shm"]
    .map((end) => `${path()}${end}`)
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, "latin1").toLowerCase())
    .join("\n");
}

test("an add that was undone leaves nothing behind, in the file or in memory", async () => {
  const store = open();
  await store.add([entry("a", "The otter sleeps.")]);
  renameSync(path(), `${path()}.away`);
  await expect(store.add([entry("b", "The badger digs.")])).rejects.toThrow(/removed or replaced/);
  renameSync(`${path()}.away`, path());
  expect(await found(store, "badger")).toEqual([]);
  await store.add([entry("c", "The heron waits.")]);
  expect(await found(store, "heron")).toEqual(["c"]);
  expect(await store.verify()).toEqual({ entries: 2, problems: [] });
});

test("what is added after the first add of a namespace was undone is its own", async () => {
  const [one, other] = [open({ namespace: "one" }), open({ namespace: "other" })];
  expect(await found(one, "otter")).toEqual([]);
  renameSync(path(), `${path()}.away`);
  await expect(one.add([entry("a", "The otter sleeps.")])).rejects.toThrow(/removed or replaced/);
  renameSync(`${path()}.away`, path());
  await other.add([entry("b", "The badger digs.")]);
  await one.add([entry("c", "The heron waits.")]);
  for (const [store, content, not] of [
    [open({ namespace: "one" }), "The heron waits.", "badger"],
    [open({ namespace: "other" }), "The badger digs.", "heron"],
  ] as const) {
    expect((await store.list({ limit: 10 })).map((one) => one.content)).toEqual([content]);
    expect(await found(store, not)).toEqual([]);
    expect(await store.verify()).toEqual({ entries: 1, problems: [] });
  }
});

describe("namespaces", () => {
  test("never see each other's entries, ids or sessions", async () => {
    const [one, other] = [open({ namespace: "one" }), open({ namespace: "other" })];
    await one.add([entry("1", "The vault code is 4711.")]);
    expect(await found(other, "vault code")).toEqual([]);
    expect(await found(other, "The vault code is 4711.")).toEqual([]);
    expect((await other.stats()).entries).toBe(0);
    expect(await other.add([entry("1", "Another vault.")])).toBe(1);
    expect(await other.delete({ sessionId: "s" })).toBe(1);
    expect(await found(one, "vault code")).toEqual(["1"]);
  });

  test("do not change each other's scores", async () => {
    const one = open({ namespace: "one" });
    await one.add([entry("1", "The heron nests by the weir."), entry("2", "The weir leaks.")]);
    const before = await one.search({ query: "heron weir", limit: 5 });
    await open({ namespace: "other" }).add(
      Array.from({ length: 200 }, (_, index) => entry(`${index}`, `heron ${index}`)),
    );
    expect(await one.search({ query: "heron weir", limit: 5 })).toEqual(before);
  });
});

describe("adding", () => {
  test("a batch that the file refuses halfway leaves nothing", async () => {
    const store = open();
    const broken = { ...entry("2", "second"), turn: "not a number" as unknown as number };
    await expect(store.add([entry("1", "first"), broken])).rejects.toThrow();
    expect((await store.stats()).entries).toBe(0);
    expect(await found(store, "first")).toEqual([]);
  });

  test("sessions may alternate within a batch and between batches", async () => {
    const store = open();
    for (const batch of [0, 1, 2]) {
      await store.add(
        Array.from({ length: 60 }, (_, index) =>
          entry(`${batch}-${index}`, `note${batch}x${index}`, { sessionId: `s${index % 7}` }),
        ),
      );
    }
    expect(await found(store, "note2x59")).toEqual(["2-59"]);
    expect(await found(store, "note0x0")).toEqual(["0-0"]);
    expect((await store.stats()).sessions).toBe(7);
  });

  test("a session goes on in run after run, and stays one session", async () => {
    const store = open();
    for (let number = 0; number < 30; number += 1) {
      await store.add([
        entry(`s-${number}`, `osprey ${number}`),
        entry(`r-${number}`, `gull ${number}`, { sessionId: "r" }),
      ]);
    }
    const runs = inFile((db) => db.prepare("SELECT runs FROM memory_session").all());
    const sizes = runs.map((session) =>
      JSON.parse(`${session.runs}`).map(([, size]: number[]) => size),
    );
    expect(sizes).toEqual([
      [4, 8, 16, 32],
      [4, 8, 16, 32],
    ]);
    expect((await store.stats()).sessions).toBe(2);
    const inSession = await store.search({ query: "osprey", sessionId: "s", limit: 50 });
    expect(new Set(inSession.map(({ id }) => id))).toEqual(
      new Set(Array.from({ length: 30 }, (_, number) => `s-${number}`)),
    );
    const [hit] = await store.search({ query: "osprey 13", neighbours: 12, limit: 1 });
    const around = [...(hit?.neighbours?.before ?? []), ...(hit?.neighbours?.after ?? [])];
    expect(around.map(({ id }) => id)).toEqual(
      Array.from({ length: 25 }, (_, index) => `s-${index + 1}`).filter((id) => id !== "s-13"),
    );
    expect(await store.delete({ sessionId: "s" })).toBe(30);
    expect((await store.stats()).entries).toBe(30);
  });

  test("slots of a session that was deleted are given to others", async () => {
    const store = open();
    for (let round = 0; round < 5; round += 1) {
      const sessionId = `session ${round}`;
      await store.add(
        Array.from({ length: 50 }, (_, index) => entry(`${index}`, `tern ${index}`, { sessionId })),
      );
      expect(await found(store, `tern ${round}`)).toContain(`${round}`);
      await store.delete({ sessionId });
    }
    expect(inFile((db) => db.prepare("SELECT slots FROM memory_namespace").get())).toEqual({
      slots: 54,
    });
  });
});

/** So that the index has many words. */
const unlikeWords = (number: number) =>
  Array.from({ length: 8 }, (_, index) => `k${(number * 8 + index).toString(36)}m`).join(" ");

test("a search for a text reads no entry with it that the filter leaves out", async () => {
  const store = open();
  const yes = Array.from({ length: 300 }, (_, at) =>
    entry(`${at}`, "Yes.", { sessionId: `${at % 9}` }),
  );
  await store.add([...yes, entry("own", "Yes.", { sessionId: "own", role: "tool" })]);
  const read = vi.spyOn(SqliteIndexStore.prototype, "entries");
  onTestFinished(() => read.mockRestore());
  for (const filter of [{ sessionId: "own" }, { role: "tool" }, { sessions: { only: ["own"] } }]) {
    read.mockClear();
    const hits = await store.search({ query: "Yes.", limit: 5, ...filter });
    expect(hits.map(({ id }) => id)).toEqual(["own"]);
    const rows = read.mock.results.flatMap(({ value }) => value);
    expect(rows.length).toBeLessThanOrEqual(2);
  }
});

test("the next page of a session is read behind the last one", async () => {
  const store = open();
  const said = (count: number, sessionId: string) =>
    Array.from({ length: count }, (_, at) => entry(`${sessionId}${at}`, "Hello.", { sessionId }));
  for (let at = 0; at < 4; at += 1) {
    const [one, other] = [said(40, "a"), said(40, "b")];
    await store.add([...one, ...other].map((each) => ({ ...each, id: `${at} ${each.id}` })));
  }
  const [first] = await store.list({ limit: 1, sessionId: "b" });
  const all = await store.list({ limit: 1000, sessionId: "b" });
  const read = vi.spyOn(SqliteIndexStore.prototype, "entries");
  onTestFinished(() => read.mockRestore());
  for (const at of [0, 39, 40, 119, 159]) {
    read.mockClear();
    const after = all[at]?.id ?? "";
    const page = await store.list({ limit: 30, sessionId: "b", after });
    expect(page).toEqual(all.slice(at + 1, at + 31));
    const [{ slot = 0 } = {}] = read.mock.results[0]?.value ?? [];
    const places = read.mock.calls.flatMap(([which]) => ("first" in which ? which.first : []));
    expect(Math.min(...places)).toBe(slot + 1);
  }
  const ofOther = await store.list({ limit: 1000, sessionId: "b", after: "1 a39" });
  expect(ofOther).toEqual(all.slice(40));
  expect(first).toEqual(all[0]);
});

test("of two entries that say the same, the older comes first, also one of the first moment of 1970", async () => {
  const store = open();
  await store.add([
    entry("2", "The ferry leaves at noon.", { sessionId: "b", time: "1970-01-02T00:00:00.000Z" }),
    entry("1", "The ferry leaves at noon.", { sessionId: "a", time: "1970-01-01T00:00:00.000Z" }),
    entry("0", "The ferry leaves at noon.", { sessionId: "c", time: "1969-12-31T00:00:00.000Z" }),
    entry("none", "The ferry leaves at noon.", { sessionId: "d" }),
  ]);
  expect(await found(store, "ferry noon")).toEqual(["0", "1", "2", "none"]);
});

test("segments are merged in the background, also after a store was closed in between", async () => {
  const segments = () =>
    inFile((db) => db.prepare("SELECT count(*) AS count FROM memory_segment").get()?.count);
  const freePages = () => inFile((db) => db.prepare("PRAGMA freelist_count").get()?.freelist_count);
  const first = open();
  for (let batch = 0; batch < 5; batch += 1) {
    await first.add(
      Array.from({ length: 400 }, (_, index) =>
        entry(
          `${batch}-${index}`,
          `plover ${batch * 400 + index} by the weir ${index % 7} ${unlikeWords(batch * 400 + index)}`,
        ),
      ),
    );
  }
  await first.close();
  opened.length = 0;
  const store = open();
  await store.finishMerging();
  expect(segments()).toBe(1);
  // The space of merged segments is given back.
  expect(freePages()).toBeLessThan(100);
  expect(await found(store, "plover 1921")).toContain("4-321");
  expect((await store.verify()).problems).toEqual([]);
});

describe("deleting", () => {
  test("takes text, words and labels out of every byte of the store", async () => {
    const store = open();
    const secret = (number: number) => `xq${(number * 7919 + 104729).toString(36)}zv`;
    const one = (number: number, rest: Partial<MemoryEntry> = {}) =>
      entry(`id-${number}`, `The word is ${secret(number)}, heron ${number}?`, rest);
    for (let start = 0; start < 3000; start += 150) {
      await store.add(
        Array.from({ length: 150 }, (_, index) =>
          one(start + index, {
            sessionId: `session-${Math.floor((start + index) / 40)}`,
            ...((start + index) % 40 === 7 ? { speaker: `Speaker${secret(start + index)}` } : {}),
          }),
        ),
      );
    }
    await store.finishMerging();
    await store.add([one(3000), one(3001)]);
    const gone = [
      7,
      8,
      9,
      1500,
      2999,
      3000,
      ...Array.from({ length: 40 }, (_, index) => 400 + index),
    ];
    const before = bytesOfFiles();
    for (const number of gone) expect(before.includes(secret(number))).toBe(true);
    await store.delete({ ids: [7, 8, 9, 1500, 2999, 3000].map((number) => `id-${number}`) });
    await store.delete({ sessionId: "session-10" });
    const after = bytesOfFiles();
    for (const number of gone) expect(after.includes(secret(number)), `${number}`).toBe(false);
    expect(after.includes(secret(10))).toBe(true);
    expect((await store.verify()).problems).toEqual([]);
  });

  test("leaves nothing of what it deletes, whatever it was", async () => {
    const store = open();
    await store.add([
      entry("1", "Zanzibar in the rain?", { speaker: "Ophelia", time: "2019-12-01" }),
      entry("2", "東京 lone \ud800 nul \u0000 end", { sessionId: "r" }),
    ]);
    await store.delete({ ids: ["1"] });
    await store.delete({ sessionId: "r" });
    for (const table of ["entry", "session", "label", "segment", "word_block"]) {
      expect(
        inFile((db) => db.prepare(`SELECT * FROM memory_${table}`).all()),
        table,
      ).toEqual([]);
    }
  });

  test("a long session goes whole", async () => {
    const store = open();
    const all = Array.from({ length: 1200 }, (_, index) => entry(`${index}`, `gull ${index}`));
    await store.add([...all, entry("other", "gull", { sessionId: "r" })]);
    expect(await store.delete({ sessionId: "s" })).toBe(1200);
    expect(await found(store, "gull")).toEqual(["other"]);
  });
});

describe("search", () => {
  test("finds what is written another way", async () => {
    const store = open();
    await store.add([
      entry("accent", "We met at the Café Müller."),
      entry("verb", "They went home early and bought bread."),
      entry("identifier", "Call getUserName() before renderHeader()."),
      entry("path", "The bug was in src/core/turn_id.ts."),
      entry("number", "It cost 12,500 crowns."),
      entry("kanji", "明日は京都へ行きます。"),
    ]);
    expect((await found(store, "cafe muller"))[0]).toBe("accent");
    expect((await found(store, "buys"))[0]).toBe("verb");
    expect((await found(store, "user name"))[0]).toBe("identifier");
    expect((await found(store, "getusername"))[0]).toBe("identifier");
    expect((await found(store, "turn_id.ts"))[0]).toBe("path");
    expect((await found(store, "12500"))[0]).toBe("number");
    expect((await found(store, "京"))[0]).toBe("kanji");
  });

  test("finds an answer by the words of its question", async () => {
    const store = open();
    await store.add([
      entry("question", "Which port does staging use?"),
      entry("answer", "It is 5433."),
      entry("later", "Thanks, I will write it down."),
    ]);
    expect((await found(store, "port of staging")).slice(0, 2)).toEqual(["question", "answer"]);
  });

  test("finds it also when another store has added the question", async () => {
    await open().add([entry("question", "Which port does staging use?")]);
    const store = open();
    await store.add([entry("answer", "It is 5433.")]);
    expect(await found(store, "port of staging")).toEqual(["question", "answer"]);
  });

  test("puts the one who is named first", async () => {
    const store = open();
    await store.add([
      entry("melanie", "I painted a boat.", { speaker: "Melanie" }),
      entry("caroline", "I painted a house.", { speaker: "Caroline" }),
    ]);
    expect((await found(store, "What did Caroline paint?"))[0]).toBe("caroline");
    expect((await found(store, "What did Melanie paint?"))[0]).toBe("melanie");
  });

  test("finds a long message by one of its paragraphs", async () => {
    const store = open();
    const filler = (word: string) => `${`${word} `.repeat(70)}.\n`;
    const sentence = "The seal on the pump was replaced.\n";
    const long = [filler("lorem"), filler("ipsum"), sentence, filler("dolor")].join("");
    await store.add([entry("long", long), entry("short", "The pump hums.")]);
    expect((await found(store, "seal of the pump replaced"))[0]).toBe("long");
  });

  test("prefers what has both words to what has one of them", async () => {
    const store = open();
    await store.add([
      entry("both", "The kiln reached cone six."),
      entry("one", "The kiln is cold."),
    ]);
    const hits = await store.search({ query: "kiln cone", limit: 5 });
    expect(hits.map(({ id }) => id)).toEqual(["both", "one"]);
    expect(hits[0]?.score).toBeLessThan(1);
  });
});

test.each(LONG ? (["main", "worker"] as const) : (["main"] as const))(
  "a store in memory has the whole engine, on the %s thread",
  async (thread) => {
    const embedder = new ConceptEmbedder();
    const stores = sqliteStores({ path: ":memory:", thread, embedder });
    const { memory, sessions } = stores;
    await Promise.all(
      Array.from({ length: 5 }, (_, batch) =>
        memory.add(
          Array.from({ length: 300 }, (_, index) =>
            entry(`${batch}-${index}`, `plover ${batch * 300 + index} ${unlikeWords(index)}`),
          ),
        ),
      ),
    );
    await memory.add([entry("dog", "Our greyhound sleeps all day.", { sessionId: "pets" })]);
    await memory.finishMerging();
    await memory.reindex();
    expect((await memory.stats()).index).toMatch(/segments: [1-4]$/);
    expect(await memory.finishEmbedding()).toMatchObject({ pending: 0 });
    const found = await memory.search({ query: "puppy", limit: 1, minScore: 0 });
    expect(found.map(({ id }) => id)).toEqual(["dog"]);
    expect(await memory.delete({ sessionId: "pets" })).toBe(1);
    expect((await memory.verify()).problems).toEqual([]);
    expect(await sessions.list({})).toEqual([]);
    const others = sqliteStores({ path: ":memory:" });
    expect((await others.memory.stats()).entries).toBe(0);
    await Promise.all([stores.close(), others.close()]);
    expect(existsSync(":memory:")).toBe(false);
  },
);
