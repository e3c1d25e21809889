import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Embedder } from "../src/core/embedder.ts";
import type { MemoryEntry, MemoryQuery } from "../src/core/memory-store.ts";
import { VectorQueue, type VectorQueueOptions } from "../src/indexing/vectors/embedded-memory.ts";
import { codeOf, rowOf } from "../src/indexing/vectors/vector-codes.ts";
import { vectorWork } from "../src/stores/indexed-memory.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteMemory, SqliteMemoryStore } from "../src/stores/sqlite/sqlite-memory-store.ts";
import { memoryStoreLaws } from "../src/testing/memory-store-laws.ts";
import { builtProgram } from "./support/built-package.ts";
import { ConceptEmbedder } from "./support/concept-embedder.ts";
import { spawn } from "./support/start-process.ts";
import { LONG, sampled, trials } from "./support/trials.ts";

const PROGRAM = builtProgram("embed-until-killed");
const TRIALS = trials(1, 40, "crash points");

let folder: string;
let opened: { close(): Promise<void> }[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rkat-vectors-"));
  opened = [];
});

afterEach(async () => {
  await Promise.all(opened.map((store) => store.close()));
  await rm(folder, { recursive: true });
});

const path = () => join(folder, "rkat.db");

function open(embedder?: Embedder): SqliteMemoryStore {
  const database = openDatabase({ path: path() });
  const store = new SqliteMemoryStore(database, embedder ? { embedder } : {});
  opened.push(store);
  return store;
}

/** Waits for the vectors of what was added, so that what is found does not depend on when it is asked. */
class Embedded extends SqliteMemoryStore {
  override async add(entries: readonly MemoryEntry[]): Promise<number> {
    const added = await super.add(entries);
    await this.finishEmbedding();
    return added;
  }
}

function openQueue(embedder: Embedder, options: Partial<VectorQueueOptions> = {}): VectorQueue {
  const database = openDatabase({ path: path() });
  const queue = new VectorQueue(vectorWork(new SqliteMemory(database), embedder.id), {
    embedder,
    retryMs: 1,
    ...options,
  });
  opened.push({ close: () => queue.close().then(() => database.close()) });
  return queue;
}

function entry(id: string, content: string, rest: Partial<MemoryEntry> = {}): MemoryEntry {
  return { id, content, sessionId: "s", turn: 0, kind: "message", ...rest };
}

async function found(store: SqliteMemoryStore, query: string, rest: Partial<MemoryQuery> = {}) {
  return (await store.search({ query, limit: 10, ...rest })).map(({ id }) => id);
}

function inFile<Result>(ask: (db: DatabaseSync) => Result): Result {
  const db = new DatabaseSync(path());
  try {
    return ask(db);
  } finally {
    db.close();
  }
}

const rows = () =>
  inFile((db) => Number(db.prepare("SELECT count(*) AS n FROM memory_vector").get()?.n));

/** Nothing that they say is in another. */
const PETS = [
  entry("dog", "Our greyhound sleeps all day."),
  entry("pay", "Wages arrive late again."),
  entry("car", "The sedan needs new tyres.", { kind: "fact" }),
];

describe("with a trained embedder", () => {
  test("a text is found by what it means, whatever its words", async () => {
    const store = open(new ConceptEmbedder());
    await store.add(PETS);
    expect(await found(store, "puppy", { minScore: 0 })).toEqual([]);
    expect(await store.finishEmbedding()).toMatchObject({ embedded: 3, pending: 0 });
    expect(await found(store, "puppy", { minScore: 0 })).toEqual(["dog"]);
    expect(await found(store, "salary", { minScore: 0 })).toEqual(["pay"]);
    expect(await found(store, "physician", { minScore: 0 })).toEqual([]);
  });

  test("words count more than likeness, and both together most", async () => {
    const store = open(new ConceptEmbedder());
    await store.add([entry("both", "A dog barked."), entry("like", "The hound howled.")]);
    await store.finishEmbedding();
    const hits = await store.search({ query: "dog", limit: 10, minScore: 0, explain: true });
    expect(hits.map(({ id }) => id)).toEqual(["both", "like"]);
    const adds = hits.map(
      ({ explanation }) => explanation?.parts.find(({ name }) => name === "vector")?.adds ?? 0,
    );
    expect(adds.every((added) => added > 0)).toBe(true);
    expect(hits.every(({ score }) => score > 0 && score < 1)).toBe(true);
  });

  test("filters hold for what is found by its meaning", async () => {
    const store = open(new ConceptEmbedder());
    await store.add([
      ...PETS,
      entry("fact", "A vehicle stood there.", { kind: "fact", sessionId: "t" }),
      entry("old", "That vehicle rusts.", { time: "2020-01-01", role: "user" }),
    ]);
    await store.finishEmbedding();
    const cars = async (filter: Partial<MemoryQuery>) =>
      (await found(store, "car", { minScore: 0, ...filter })).toSorted();
    expect(await cars({})).toEqual(["car", "fact", "old"]);
    expect(await cars({ kind: "fact" })).toEqual(["car", "fact"]);
    expect(await cars({ sessionId: "t" })).toEqual(["fact"]);
    expect(await cars({ sessionId: "nowhere" })).toEqual([]);
    expect(await cars({ until: "2021-01-01" })).toEqual(["old"]);
    expect(await cars({ role: "user", kind: "fact" })).toEqual([]);
  });

  test("it is the same when the database is in a thread of its own", async () => {
    const database = openDatabase({ path: path(), thread: "worker" });
    const store = new SqliteMemoryStore(database, { embedder: new ConceptEmbedder() });
    opened.push(store);
    await store.add(PETS);
    await store.finishEmbedding();
    expect(await found(store, "puppy", { minScore: 0 })).toEqual(["dog"]);
  });

  test("several questions at once find what each of them finds", async () => {
    const store = open(new ConceptEmbedder());
    await store.add(PETS);
    await store.finishEmbedding();
    const query = ["puppy", "vehicle"];
    const hits = await store.search({ query, limit: 10, minScore: 0 });
    expect(hits.map(({ id }) => id).toSorted()).toEqual(["car", "dog"]);
  });

  test("each passage of a long text has a vector of its own", async () => {
    const store = open(new ConceptEmbedder());
    const filler = (word: string) => `${`${word} `.repeat(59)}end. `;
    await store.add([entry("long", `${filler("alpha")}Our greyhound sleeps. ${filler("beta")}`)]);
    const { embedded } = (await store.finishEmbedding()) ?? { embedded: 0 };
    expect(embedded).toBeGreaterThan(1);
    expect(await found(store, "puppy", { minScore: 0 })).toEqual(["long"]);
  });

  test("a text without words is never embedded and never pending", async () => {
    const embedder = new ConceptEmbedder();
    const store = open(embedder);
    await store.add([entry("1", "?!?!"), entry("2", "a puppy")]);
    await store.finishEmbedding();
    expect(embedder.embedded).toEqual(["a puppy"]);
    expect((await store.stats()).vectors).toEqual({
      embedder: "test/concepts",
      embedded: 2,
      pending: 0,
    });
  });

  test("what is added meanwhile comes before what is older, and nothing is embedded twice", async () => {
    let isAdded = false;
    const embedder = new ConceptEmbedder({
      spoil: async (vectors, texts) => {
        if (!isAdded && texts.length > 50) {
          isAdded = true;
          await store.add([entry("new", "a new remark")]);
        }
        return vectors;
      },
    });
    const store = open(embedder);
    const old = Array.from({ length: 300 }, (_, at) => entry(`${at}`, `remark number ${at}`));
    await store.add(old);
    expect(await store.finishEmbedding()).toMatchObject({ embedded: 301, pending: 0 });
    const passages = embedder.embedded.filter((text) => text.includes("remark"));
    expect(passages.length).toBe(301);
    expect(passages[64]).toBe("a new remark");
    expect(passages[0]).toBe("remark number 299");
  });

  test("a long entry is read and cut into passages once, however many batches its vectors take", async () => {
    const database = openDatabase({ path: path() });
    const store = new SqliteMemoryStore(database);
    opened.push(store);
    await store.add([entry("long", "A remark that goes on. ".repeat(10_000))]);
    const embedder = new ConceptEmbedder();
    const work = vectorWork(new SqliteMemory(database), embedder.id);
    let pages = 0;
    const pendingPassages: typeof work.pendingPassages = (...range) => {
      pages += 1;
      return work.pendingPassages(...range);
    };
    const queue = new VectorQueue({ ...work, pendingPassages }, { embedder });
    expect(await queue.done()).toMatchObject({ pending: 0 });
    await queue.close();
    expect(embedder.embedded.length).toBeGreaterThan(500);
    expect(pages).toBeLessThan(5);
  });

  test("what another store embedded is found at the next search", async () => {
    const [one, other] = [open(new ConceptEmbedder()), open(new ConceptEmbedder())];
    await one.add(PETS);
    expect(await found(other, "puppy", { minScore: 0 })).toEqual([]);
    await one.finishEmbedding();
    expect(await found(other, "puppy", { minScore: 0 })).toEqual(["dog"]);
    await one.delete({ ids: ["dog"] });
    expect(await found(other, "puppy", { minScore: 0 })).toEqual([]);
  });
});

describe("while there are no vectors", () => {
  test("adding waits for no embedder, and words find what was added", async () => {
    const store = open(new ConceptEmbedder({ spoil: () => new Promise(() => {}) }));
    await store.add(PETS);
    const { vectors } = await store.stats();
    expect(vectors).toMatchObject({ embedded: 0, pending: 3 });
    await store.close();
    opened = [];
    expect(await found(open(), "greyhound")).toEqual(["dog"]);
  });

  test("a question that cannot be embedded is answered by words, and says so", async () => {
    const good = open(new ConceptEmbedder());
    await good.add(PETS);
    await good.finishEmbedding();
    const embedder = new ConceptEmbedder({
      spoil: () => {
        throw new Error("The model is not loaded.");
      },
    });
    const store = open(embedder);
    const [hit] = await store.search({ query: "greyhound", limit: 1, explain: true });
    expect(hit?.id).toBe("dog");
    expect(hit?.explanation?.parts).toContainEqual({
      name: "vector",
      of: "The model is not loaded.",
      adds: 0,
    });
    // It is left alone for a while.
    expect(await found(store, "wages")).toEqual(["pay"]);
    expect(embedder.asked).toEqual(["greyhound"]);
  });
});

test("an embedder that knows some words only gives zeros for the others, and is asked again at once", async () => {
  const spoil = (vectors: Float32Array[], texts: readonly string[]) =>
    vectors.map((vector, index) => (texts[index]?.includes("zzz") ? vector.fill(0) : vector));
  const embedder = Object.assign(new ConceptEmbedder({ spoil }), { givesZeros: true });
  const store = open(embedder);
  await store.add([...PETS, entry("zzz", "A zzz.")]);
  await store.finishEmbedding();
  expect((await store.stats()).vectors).toMatchObject({ pending: 0 });
  expect(await found(store, "zzz")).toEqual(["zzz"]);
  expect(await found(store, "greyhound")).toEqual(["dog"]);
});

describe("an embedder that fails", () => {
  const zeros = (vectors: Float32Array[]) => vectors.map((vector) => vector.fill(0));
  test.each<[string, (vectors: Float32Array[]) => Float32Array[] | Promise<Float32Array[]>]>([
    ["with an error", () => Promise.reject(new Error("Out of credit."))],
    ["with zeros", zeros],
    ["with NaN", (vectors) => vectors.map((vector) => vector.fill(Number.NaN))],
    ["with other dimensions", (vectors) => vectors.map((vector) => vector.slice(1))],
    ["with too few vectors", (vectors) => vectors.slice(1)],
    ["by never answering", () => new Promise(() => {})],
  ])("%s stores nothing, and what is missing is made when it recovers", async (_, spoil) => {
    let broken = true;
    const embedder = new ConceptEmbedder({
      spoil: (vectors) => (broken ? spoil(vectors) : vectors),
    });
    await open().add(PETS);
    const queue = openQueue(embedder, { timeoutMs: 20 });
    const failed = await queue.done();
    expect(failed).toMatchObject({ embedded: 0, pending: 3 });
    expect(failed.failure).toBeTypeOf("string");
    expect(rows()).toBe(0);
    expect(await found(open(), "greyhound")).toEqual(["dog"]);
    broken = false;
    expect(await queue.done()).toEqual({ state: "idle", embedded: 3, pending: 0 });
  });

  test("on one text holds up no other", async () => {
    const embedder = new ConceptEmbedder({
      spoil: (vectors, texts) => {
        if (texts.some((text) => text.includes("Wages"))) throw new Error("Not that word.");
        return vectors;
      },
    });
    await open().add([
      ...PETS,
      ...Array.from({ length: 30 }, (_, index) => entry(`${index}`, `word ${index}`)),
    ]);
    const status = await openQueue(embedder, { batchSize: 8 }).done();
    expect(status).toMatchObject({ embedded: 32, pending: 1, failure: "Not that word." });
  });

  test("on one passage of a long text, embeds it when it recovers", async () => {
    let broken = true;
    const embedder = new ConceptEmbedder({
      spoil: (vectors, texts) => {
        if (broken && texts.some((text) => text.includes("Wages"))) throw new Error("Not now.");
        return vectors;
      },
    });
    const said = (about: string) => `${about} ${"and so on ".repeat(19)}.`;
    await open().add([entry("long", ["Pets", "Wages", "Cars", "Trips"].map(said).join("\n"))]);
    const queue = openQueue(embedder, { batchSize: 2 });
    expect(await queue.done()).toMatchObject({ embedded: 3, pending: 1, failure: "Not now." });
    broken = false;
    expect(await queue.done()).toEqual({ state: "idle", embedded: 4, pending: 0 });
  });

  test("on one vector of a batch loses only that", async () => {
    const embedder = new ConceptEmbedder({
      spoil: (vectors, texts) =>
        vectors.map((vector, index) => (texts[index]?.includes("Wages") ? vector.fill(0) : vector)),
    });
    await open().add(PETS);
    const status = await openQueue(embedder).done();
    expect(status).toMatchObject({ embedded: 2, pending: 1 });
    expect(status.failure).toMatch(/zeros/);
  });
});

describe("another embedder", () => {
  test("gets vectors of its own in the background, and then the old ones go", async () => {
    const first = open(new ConceptEmbedder({ id: "one" }));
    await first.add(PETS);
    await first.finishEmbedding();
    await first.close();
    const second = open(new ConceptEmbedder({ id: "two", dimensions: 100 }));
    expect(await found(second, "greyhound")).toEqual(["dog"]);
    expect(await found(second, "puppy", { minScore: 0 })).toEqual([]);
    expect(await second.finishEmbedding()).toMatchObject({ embedded: 3, pending: 0 });
    expect(await found(second, "puppy", { minScore: 0 })).toEqual(["dog"]);
    expect(rows()).toBe(3);
    const spaces = inFile((db) => db.prepare("SELECT embedder FROM memory_vector_space").all());
    expect(spaces).toEqual([{ embedder: "two" }]);
  });

  test("leaves one that still runs to search by words, instead of taking turns", async () => {
    const embedder = new ConceptEmbedder({ id: "one" });
    const first = open(embedder);
    await first.add(PETS);
    await first.finishEmbedding();
    const second = open(new ConceptEmbedder({ id: "two" }));
    await second.finishEmbedding();
    const before = embedder.embedded.length;
    await first.finishEmbedding();
    expect(embedder.embedded.length).toBe(before);
    expect(await found(first, "greyhound")).toEqual(["dog"]);
    expect((await second.stats()).vectors).toMatchObject({ embedded: 3 });
  });
});

describe("deleting", () => {
  test("leaves no byte of a vector in the file", async () => {
    const embedder = new ConceptEmbedder({ dimensions: 384 });
    const store = open(embedder);
    const others = Array.from({ length: 300 }, (_, index) => entry(`${index}`, `note ${index}`));
    await store.add([...PETS, ...others]);
    await store.finishEmbedding();
    const [vector = new Float32Array()] = await embedder.embed([PETS[0]?.content ?? ""]);
    const traces = [codeOf(vector), rowOf(vector).subarray(4)].map((trace) => Buffer.from(trace));
    inFile((db) => db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
    const holds = () => traces.map((trace) => readFileSync(path()).includes(trace));
    expect(holds()).toEqual([true, true]);
    await store.delete({ ids: ["dog"] });
    inFile((db) => db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
    expect(holds()).toEqual([false, false]);
    expect((await store.stats()).vectors).toMatchObject({ embedded: 302, pending: 0 });
  });

  test("a vector that comes after its text was deleted is not given to the next text", async () => {
    const gate = Promise.withResolvers<void>();
    const embedder = new ConceptEmbedder({
      spoil: async (vectors, texts) => {
        if (texts.some((text) => text.includes("greyhound"))) await gate.promise;
        return vectors;
      },
    });
    const store = open(embedder);
    await store.add([entry("dog", "Our greyhound sleeps.")]);
    while (!embedder.embedded.includes("Our greyhound sleeps.")) {
      await sleep(2);
    }
    await store.delete({ sessionId: "s" });
    await store.add([entry("pay", "Wages arrive late.")]);
    gate.resolve();
    await store.finishEmbedding();
    expect(await found(store, "puppy", { minScore: 0 })).toEqual([]);
    expect(await found(store, "salary", { minScore: 0 })).toEqual(["pay"]);
  });
});

const DAMAGES: readonly (readonly [what: string, damage: string])[] = [
  ["missing codes", "DELETE FROM memory_code_block"],
  ["a damaged block of codes", "UPDATE memory_code_block SET codes = x'00'"],
  [
    "a missing vector",
    "DELETE FROM memory_vector WHERE key = (SELECT min(key) FROM memory_vector)",
  ],
  ["a wrong count", "UPDATE memory_vector_space SET passages = 99"],
  [
    "a vector of no passage",
    "INSERT INTO memory_vector SELECT max(key) + 1, row FROM memory_vector",
  ],
];

describe("reindexing", () => {
  test.each(sampled(DAMAGES, { of: 3, at: 0 }, "cases"))(
    "mends %s, and a second time embeds nothing",
    async (_, damage) => {
      const first = open(new ConceptEmbedder());
      const long = entry("long", "Our puppy likes the park. ".repeat(200));
      await first.add([...PETS, long]);
      await first.finishEmbedding();
      await first.close();
      inFile((db) => db.exec(damage));
      const embedder = new ConceptEmbedder();
      const store = open(embedder);
      expect((await store.verify()).problems).not.toEqual([]);
      await store.reindex();
      await store.finishEmbedding();
      expect((await store.verify()).problems).toEqual([]);
      expect((await found(store, "salary", { minScore: 0 }))[0]).toBe("pay");
      expect((await store.stats()).vectors).toMatchObject({ pending: 0 });
      await store.reindex();
      const embedded = embedder.embedded.length;
      await store.finishEmbedding();
      expect(embedder.embedded).toHaveLength(embedded);
    },
  );
});

describe("several at once", () => {
  test("two stores embed no passage twice", async () => {
    const embedders = [new ConceptEmbedder(), new ConceptEmbedder()];
    await open().add(
      Array.from({ length: 500 }, (_, index) => entry(`${index}`, `remark number ${index}`)),
    );
    const queues = embedders.map((embedder) => openQueue(embedder, { batchSize: 16 }));
    const states = await Promise.all(queues.map((queue) => queue.done()));
    expect(states.map(({ embedded, pending }) => [embedded, pending])).toEqual([
      [500, 0],
      [500, 0],
    ]);
    expect(embedders.flatMap(({ embedded }) => embedded).length).toBe(500);
  });

  test("a store that closes gives its work up at once, and another goes on", async () => {
    const slow = new ConceptEmbedder({
      spoil: (vectors, _, signal) =>
        new Promise((resolve, reject) => {
          const timer = setTimeout(() => resolve(vectors), 20);
          signal?.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(signal.reason);
          });
        }),
    });
    await open().add(
      Array.from({ length: 200 }, (_, index) => entry(`${index}`, `remark number ${index}`)),
    );
    const queue = openQueue(slow, { batchSize: 4 });
    queue.wake();
    while (slow.embedded.length < 12) await sleep(5);
    await queue.close();
    expect((await queue.status()).state).toBe("closed");
    const before = rows();
    expect(before).toBeGreaterThan(0);
    const embedder = new ConceptEmbedder();
    expect(await openQueue(embedder).done()).toMatchObject({ embedded: 200, pending: 0 });
    expect(embedder.embedded.length).toBe(200 - before);
  });
});

// Takes over two seconds: a process embeds until it is killed, and the next one goes on.
test(
  `what was embedded survives ${TRIALS} times that the process is killed, and the next goes on there`,
  async () => {
    const count = LONG ? 2000 : 800;
    const store = open();
    await store.add(
      Array.from({ length: count }, (_, index) => entry(`${index}`, `remark number ${index}`)),
    );
    let before = 0;
    for (let trial = 0; trial < TRIALS; trial += 1) {
      const children = [0, 1].map(() => spawn(process.execPath, [PROGRAM, "--path", path()]));
      const ended = children.map((child) => once(child, "exit"));
      // Only one of them works; the other waits for it.
      await Promise.race(children.map((child) => once(child.stdout, "data")));
      await sleep(Math.random() * 100);
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(ended);
      expect((await store.verify()).problems).toEqual([]);
      expect(rows()).toBeGreaterThanOrEqual(before);
      before = rows();
    }
    const embedder = new ConceptEmbedder();
    expect(await openQueue(embedder).done()).toMatchObject({ embedded: count, pending: 0 });
    expect(embedder.embedded.length).toBe(count - before);
    expect((await store.verify()).problems).toEqual([]);
  },
  60_000 + TRIALS * 5000,
);

// Without an embedder the store keeps all of them, in test/memory-laws.test.ts.
describe("a memory store with a trained embedder keeps the laws", () => {
  test.each(sampled(memoryStoreLaws, { of: 8, at: 5 }).map((law) => [law.name, law] as const))(
    "%s",
    async (_, law) => {
      await law.holds(async () => {
        const store = new Embedded(openDatabase({ path: path() }), {
          embedder: new ConceptEmbedder(),
        });
        opened.push(store);
        return store;
      });
    },
  );
});
