import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { builtProgram } from "../../../test/support/built-package.ts";
import { temporaryFolder } from "../../../test/support/obey.ts";
import { execFile, spawn } from "../../../test/support/start-process.ts";
import { LONG } from "../../../test/support/trials.ts";
import type { Embedder } from "../../core/embedder.ts";
import type { MemoryEntry } from "../../core/memory-store.ts";
import { BagOfWordsEmbedder, LocalEmbedder } from "../../embedders/word-embedders.ts";
import { openDatabase } from "../sqlite/database.ts";
import { SqliteMemoryStore } from "../sqlite/sqlite-memory-store.ts";
import { HnswMemoryStore, type HnswMemoryStoreOptions } from "./hnsw-memory-store.ts";

/** Counts what it is asked for, and fails when it is told to. */
class CountingEmbedder implements Embedder {
  readonly #embedder: Embedder;
  readonly id: string;
  readonly dimensions: number;
  readonly trained = false;
  texts = 0;
  fails = false;

  constructor(embedder: Embedder = new BagOfWordsEmbedder()) {
    this.#embedder = embedder;
    this.id = embedder.id;
    this.dimensions = embedder.dimensions;
  }

  async embed(texts: readonly string[]) {
    if (this.fails) throw new Error("The embedder is down.");
    this.texts += texts.length;
    return this.#embedder.embed(texts);
  }
}

function open(folder: string, options: Partial<HnswMemoryStoreOptions> = {}): HnswMemoryStore {
  const entries = new SqliteMemoryStore(openDatabase({ path: join(folder, "rkat.db") }));
  const store = new HnswMemoryStore({ entries, file: join(folder, "memory.hnsw"), ...options });
  onTestFinished(() => store.close());
  return store;
}

const ANIMALS = ["otter", "badger", "heron", "walrus", "lynx", "stoat", "ibex", "newt"];

function entry(id: string, content: string, rest: Partial<MemoryEntry> = {}): MemoryEntry {
  return { id, content, sessionId: "s", turn: 0, kind: "message", ...rest };
}

function entries(count: number, from = 0): MemoryEntry[] {
  return Array.from({ length: count }, (_, index) => {
    const number = index + from;
    return entry(`${number}`, `The ${ANIMALS[number % 8]} of pond ${number} sleeps.`);
  });
}

async function ids(store: HnswMemoryStore, query: string, limit = 5): Promise<string[]> {
  return (await store.search({ query, limit })).map(({ id }) => id);
}

test("a match is the cosine, and 1 only for the same text", async () => {
  const store = open(await temporaryFolder());
  await store.add([entry("1", "hello world"), entry("2", "hello there")]);
  const hits = await store.search({ query: "hello world", limit: 5, explain: true });
  expect(hits.map(({ id, match }) => [id, match])).toEqual([
    ["1", 1],
    ["2", expect.closeTo(Math.SQRT1_2, 3)],
  ]);
  expect(hits[0]?.explanation?.parts).toEqual([
    { name: "vector", of: "local/bag-of-words/4096", adds: 1 },
  ]);
});

test("opening again embeds nothing but the question", async () => {
  const folder = await temporaryFolder();
  const before = open(folder);
  await before.add(entries(200));
  const found = await ids(before, "otter pond 16");
  await before.close();
  const embedder = new CountingEmbedder();
  expect(await ids(open(folder, { embedder }), "otter pond 16")).toEqual(found);
  expect(embedder.texts).toBe(1);
});

test("entries that the store had before it was indexed are found", async () => {
  const folder = await temporaryFolder();
  const plain = new SqliteMemoryStore(openDatabase({ path: join(folder, "rkat.db") }));
  await plain.add(entries(20));
  await plain.close();
  expect((await ids(open(folder), "heron pond 10"))[0]).toBe("10");
});

test("texts that are the same are embedded once", async () => {
  const embedder = new CountingEmbedder();
  const store = open(await temporaryFolder(), { embedder });
  await store.add(Array.from({ length: 50 }, (_, index) => entry(`${index}`, "tests pass")));
  expect(embedder.texts).toBe(1);
  expect(await ids(store, "tests", 100)).toHaveLength(50);
  await store.delete({ ids: ["7"] });
  expect(await ids(store, "tests", 100)).toHaveLength(49);
});

test.each<[string, (file: string) => void]>([
  ["is missing", (file) => rmSync(file)],
  ["was cut short", (file) => truncateSync(file, statSync(file).size >> 1)],
  ["is empty", (file) => truncateSync(file, 0)],
  ["lost a bit", (file) => flipBit(file, 1000)],
  ["lost a bit of its notes", (file) => flipBit(file, statSync(file).size - 60)],
  ["is another program's", (file) => writeFileSync(file, "RKATHNS1".repeat(9000))],
])("an index that %s is rebuilt from the entries", async (_, damage) => {
  const folder = await temporaryFolder();
  const before = open(folder);
  await before.add(entries(40));
  const found = await ids(before, "otter pond 16");
  await before.close();
  damage(join(folder, "memory.hnsw"));
  const embedder = new CountingEmbedder();
  const store = open(folder, { embedder });
  expect(await ids(store, "otter pond 16")).toEqual(found);
  expect(embedder.texts).toBe(41);
  expect(await store.verify()).toEqual({ entries: 40, problems: [] });
});

test("an index that fell behind gets what is missing, and nothing else", async () => {
  const folder = await temporaryFolder();
  const file = join(folder, "memory.hnsw");
  const before = open(folder);
  await before.add(entries(100));
  await before.close();
  const old = readFileSync(file);
  const after = open(folder);
  await after.add(entries(10, 100));
  await after.delete({ ids: ["16"] });
  await after.close();
  writeFileSync(file, old);
  const embedder = new CountingEmbedder();
  const store = open(folder, { embedder });
  expect((await ids(store, "newt pond 103"))[0]).toBe("103");
  expect(embedder.texts).toBe(11);
  expect(await ids(store, "otter pond 16")).not.toContain("16");
});

test("an index of another embedder is rebuilt", async () => {
  const folder = await temporaryFolder();
  const before = open(folder);
  await before.add(entries(20));
  await before.close();
  const embedder = new CountingEmbedder(new LocalEmbedder());
  expect((await ids(open(folder, { embedder }), "lynx pond 12"))[0]).toBe("12");
  expect(embedder.texts).toBe(21);
});

test("while the embedder fails, words find what is there, and nothing is lost", async () => {
  const embedder = new CountingEmbedder();
  const errors: unknown[] = [];
  const store = open(await temporaryFolder(), {
    embedder,
    onBackgroundError: (error) => errors.push(error),
  });
  await store.add([entry("1", "The otter swims.")]);
  embedder.fails = true;
  await store.add([entry("2", "The walrus sleeps."), entry("3", "The walrus eats.")]);
  expect((await ids(store, "walrus sleeps"))[0]).toBe("2");
  expect(await ids(store, "otter")).toEqual(["1"]);
  expect(errors.length).toBeGreaterThan(0);
  embedder.fails = false;
  expect(await ids(store, "walrus sleeps")).toEqual(["2", "3"]);
  expect(await store.verify()).toEqual({ entries: 3, problems: [] });
});

test.each<[string, (vectors: readonly Float32Array[]) => readonly Float32Array[]]>([
  ["numbers that are none", (all) => all.map((vector) => vector.fill(Number.NaN, 0, 1))],
  ["vectors of another length", (all) => all.map((vector) => vector.subarray(1))],
  ["fewer vectors than texts", (all) => all.slice(1)],
])("an embedder that gives %s is told of, and its answer is not kept", async (_, change) => {
  const embedder = new BagOfWordsEmbedder();
  const right = embedder.embed.bind(embedder);
  let isWrong = true;
  embedder.embed = async (texts) => {
    const vectors = await right(texts);
    return isWrong ? change(vectors) : vectors;
  };
  const errors: unknown[] = [];
  const store = open(await temporaryFolder(), {
    embedder,
    onBackgroundError: (error) => errors.push(error),
  });
  expect(await store.add([entry("1", "The otter swims."), entry("2", "The walrus eats.")])).toBe(2);
  expect((await ids(store, "walrus eats"))[0]).toBe("2");
  expect(String(errors[0])).toContain("local/bag-of-words/4096 cannot be used: it gave ");
  isWrong = false;
  expect((await ids(store, "walrus eats"))[0]).toBe("2");
  expect((await ids(store, "otter swims"))[0]).toBe("1");
  expect(await store.verify()).toEqual({ entries: 2, problems: [] });
});

test("of a text that many entries have, a search reads as many as it needs", async () => {
  const store = open(await temporaryFolder());
  const said = Array.from({ length: 600 }, (_, at) =>
    entry(`${1000 + at}`, "The otter swims.", { sessionId: `s${at % 300}` }),
  );
  await store.add([...said, entry("other", "The otter swims at night.")]);
  const read = vi.spyOn(SqliteMemoryStore.prototype, "read");
  onTestFinished(() => read.mockRestore());
  const search = async (filter: { readonly sessionId?: string }) => {
    await store.search({ query: "walrus", limit: 1 });
    read.mockClear();
    const hits = await store.search({ query: "otter swims", limit: 3, ...filter });
    const ids = read.mock.calls.flatMap(([ids]) => ids);
    return { found: hits.map(({ id }) => id), read: ids.length };
  };
  const { found, read: count } = await search({});
  expect(found).toEqual(["1000", "1001", "1002"]);
  expect(count).toBeLessThan(20);
  expect((await search({ sessionId: "s299" })).found).toEqual(["1299", "1599"]);
});

test("an add waits for a part of many entries of others only; words find the rest", async () => {
  const folder = await temporaryFolder();
  const plain = new SqliteMemoryStore(openDatabase({ path: join(folder, "rkat.db") }));
  const texts = Array.from({ length: 1500 }, () => randomUUID().replaceAll("-", " "));
  await plain.add(texts.map((text, index) => entry(`${index}`, text)));
  await plain.close();
  const embedder = new CountingEmbedder(new LocalEmbedder());
  const store = open(folder, { embedder });
  await store.add([entry("new", "The otter swims.")]);
  expect(embedder.texts).toBeLessThan(1200);
  expect((await ids(store, texts.at(-1) ?? ""))[0]).toBe("1499");
  expect((await store.verify()).problems).toEqual([]);
  expect(embedder.texts).toBe(1502);
});

test("a result has its neighbours in order, and several questions are asked at once", async () => {
  const store = open(await temporaryFolder());
  await store.add(entries(8));
  const [hit] = await store.search({ query: "heron", limit: 1, neighbours: 3 });
  expect(hit?.neighbours?.before.map(({ id }) => id)).toEqual(["0", "1"]);
  expect(hit?.neighbours?.after.map(({ id }) => id)).toEqual(["3", "4", "5"]);
  const hits = await store.search({ query: ["otter", "newt"], limit: 2 });
  expect(hits.map(({ id }) => id).sort()).toEqual(["0", "7"]);
});

test("rebuilding the index can be watched and stopped, and search goes on meanwhile", async () => {
  const store = open(await temporaryFolder());
  await store.add(entries(120));
  const found = await ids(store, "otter pond 16");
  const seen: number[] = [];
  const work = store.reindex({ onProgress: ({ done }) => seen.push(done) });
  expect(await ids(store, "otter pond 16")).toEqual(found);
  await work;
  expect(seen.at(-1)).toBe(120);
  expect(await ids(store, "otter pond 16")).toEqual(found);
  await expect(store.reindex({ signal: AbortSignal.abort() })).rejects.toThrow();
  expect(await ids(store, "otter pond 16")).toEqual(found);
});

test("stats say what searches it, and count the index's file", async () => {
  const folder = await temporaryFolder();
  const store = open(folder);
  await store.add(entries(3));
  await store.close();
  const stats = await open(folder).stats();
  expect(stats.index).toBe(
    "nearest neighbours (HNSW, cosine, M 16, efConstruction 200) of vectors by local/bag-of-words/4096",
  );
  expect(stats.diskBytes).toBeGreaterThanOrEqual(statSync(join(folder, "memory.hnsw")).size);
  expect(statSync(join(folder, "memory.hnsw")).mode & 0o777).toBe(0o600);
});

test("a search does not wait until others' entries have their vectors", async () => {
  const bags = new BagOfWordsEmbedder();
  const gate = Promise.withResolvers<void>();
  const embedder: Embedder = {
    ...{ id: bags.id, dimensions: bags.dimensions, trained: false },
    async embed(texts) {
      if (texts.some((text) => text.includes("walrus sleeps"))) await gate.promise;
      return bags.embed(texts);
    },
  };
  const store = open(await temporaryFolder(), { embedder });
  await store.add([entry("1", "The otter swims.")]);
  const adding = store.add([entry("2", "The walrus sleeps.")]);
  expect(await ids(store, "otter")).toEqual(["1"]);
  expect(await ids(store, "walrus")).toEqual(["2"]);
  gate.resolve();
  await adding;
  expect(await ids(store, "walrus")).toEqual(["2"]);
});

test("an index that cannot be written is told of, and search goes on", async () => {
  const folder = await temporaryFolder();
  writeFileSync(join(folder, "taken"), "");
  const errors: unknown[] = [];
  const store = open(folder, {
    file: join(folder, "taken", "memory.hnsw"),
    onBackgroundError: (error) => errors.push(error),
  });
  await store.add([entry("1", "The otter swims.")]);
  expect(await ids(store, "otter")).toEqual(["1"]);
  await store.close();
  expect(errors.length).toBeGreaterThan(0);
});

test("texts change places between two ids, and both are found", async () => {
  const folder = await temporaryFolder();
  const store = open(folder);
  await store.add([entry("1", "The otter swims."), entry("2", "The walrus sleeps.")]);
  const other = new SqliteMemoryStore(openDatabase({ path: join(folder, "rkat.db") }));
  await other.delete({ ids: ["1", "2"] });
  await other.add([entry("2", "The otter swims."), entry("1", "The walrus sleeps.")]);
  await other.close();
  expect(await ids(store, "otter")).toEqual(["2"]);
  expect(await ids(store, "walrus")).toEqual(["1"]);
});

test("what is deleted leaves no word in the index's file", async () => {
  const folder = await temporaryFolder();
  const store = open(folder);
  await store.add([entry("1", "the quetzal password"), ...entries(3, 10)]);
  await store.delete({ sessionId: "s" });
  await store.add(entries(3, 10));
  await store.close();
  const bytes = readFileSync(join(folder, "memory.hnsw"), "latin1");
  expect(bytes).not.toContain("quetzal");
  expect(await ids(open(folder), "quetzal")).toEqual([]);
});

test("without the library nothing is stored, and the error says how to get it", async () => {
  const hide = `
    import { registerHooks } from "node:module";
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier === "usearch") throw Object.assign(new Error("gone"), { code: "ERR_MODULE_NOT_FOUND" });
        return next(specifier, context);
      },
    });`;
  const program = `
    import { HnswMemoryStore } from "./src/hnsw.ts";
    import { SimpleMemoryStore } from "./src/stores/ephemeral/simple-memory-store.ts";
    const entries = new SimpleMemoryStore();
    const store = new HnswMemoryStore({ entries });
    const entry = { id: "1", content: "text", sessionId: "s", turn: 0, kind: "message" };
    const error = await store.add([entry]).catch((error) => error);
    const stored = (await entries.stats()).entries;
    console.log(JSON.stringify({ stored, code: error.code, message: error.message, hint: error.hint }));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--no-warnings",
    "--import",
    `data:text/javascript,${encodeURIComponent(hide)}`,
    "--input-type=module-typescript",
    "--eval",
    program,
  ]);
  expect(JSON.parse(stdout)).toEqual({
    stored: 0,
    code: "SESSION_STORE_ERROR",
    message:
      "The store failed. The HNSW memory store needs the package usearch, which cannot be loaded.",
    hint: 'Install it: npm install usearch. Or leave the store out: store = "sqlite" under [memory] needs nothing.',
  });
});

test("whatever a process is killed over, it and the others find all that was added", async () => {
  const folder = await temporaryFolder();
  const places = [join(folder, "rkat.db"), join(folder, "memory.hnsw")];
  const observer = open(folder);
  for (const delayMs of LONG ? [10, 50, 90, 130] : [10, 90]) {
    const child = spawn(process.execPath, [
      "--no-warnings",
      builtProgram("add-to-hnsw-until-killed"),
      ...places,
    ]);
    onTestFinished(() => void child.kill("SIGKILL"));
    const acknowledged: string[] = [];
    const lines = createInterface(child.stdout);
    lines.on("line", (id) => acknowledged.push(id));
    await once(lines, "line");
    const [first = ""] = acknowledged;
    expect(await ids(observer, first, 1)).toEqual([first]);
    await sleep(delayMs);
    child.kill("SIGKILL");
    await once(lines, "close");
    const last = acknowledged.at(-1) ?? "";
    const store = open(folder);
    expect(await ids(store, last, 1)).toEqual([last]);
    expect(await ids(observer, last, 1)).toEqual([last]);
    const { entries: checked, problems } = await store.verify();
    expect(problems).toEqual([]);
    expect(checked % 4).toBe(0);
    await store.close();
  }
});

function flipBit(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 4;
  writeFileSync(file, bytes);
}
