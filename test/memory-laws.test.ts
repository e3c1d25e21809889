import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Embedder } from "../src/core/embedder.ts";
import type { MemoryStore } from "../src/core/memory-store.ts";
import { BagOfWordsEmbedder, LocalEmbedder } from "../src/embedders/word-embedders.ts";
import { HnswMemoryStore } from "../src/hnsw.ts";
import { SimpleMemoryStore } from "../src/stores/ephemeral/simple-memory-store.ts";
import {
  PostgresDatabase,
  type PostgresDatabaseOptions,
} from "../src/stores/postgres/postgres-database.ts";
import { PostgresMemoryStore } from "../src/stores/postgres/postgres-memory-store.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../src/stores/sqlite/sqlite-memory-store.ts";
import { embedderLaws } from "../src/testing/embedder-laws.ts";
import { memoryStoreLaws } from "../src/testing/memory-store-laws.ts";
import { copyingDatabase } from "./support/copying-database.ts";
import { NOT_DURABLE } from "./support/obey.ts";
import { hasPostgres, partitionedAccess, postgresAccess } from "./support/postgres.ts";
import { LONG, type Part, sampled } from "./support/trials.ts";

const sqlite = (thread: "main" | "worker") => async (folder: string) =>
  new SqliteMemoryStore(openDatabase({ path: join(folder, "rkat.db"), thread }));

const asInAWorker = async (folder: string) =>
  new SqliteMemoryStore(copyingDatabase(openDatabase({ path: join(folder, "rkat.db") })));

const inMemory = (thread: "main" | "worker") => async () =>
  new SqliteMemoryStore(openDatabase({ path: ":memory:", thread }));

/** The folder is a namespace. */
const postgres = (access: () => Promise<PostgresDatabaseOptions>) => async (namespace: string) =>
  new PostgresMemoryStore(new PostgresDatabase(await access()), { namespace });

const STORES: readonly {
  readonly name: string;
  readonly durable: boolean;
  /** Which laws it keeps in the short form. SQLite keeps all. */
  readonly part?: Part;
  /** What it keeps is in the folder, or in a namespace that is called like it. */
  open(folder: string): Promise<MemoryStore>;
}[] = [
  {
    name: "simple",
    durable: false,
    part: { of: 4, at: 2 },
    open: async () => new SimpleMemoryStore(),
  },
  { name: "sqlite", durable: true, open: sqlite("main") },
  { name: "sqlite as in a worker", durable: true, part: { of: 8, at: 0 }, open: asInAWorker },
  { name: "sqlite in memory", durable: false, part: { of: 8, at: 1 }, open: inMemory("main") },
  ...(LONG
    ? [
        { name: "sqlite in a worker", durable: true, open: sqlite("worker") },
        { name: "sqlite in memory, in a worker", durable: false, open: inMemory("worker") },
      ]
    : []),
  ...(hasPostgres
    ? [
        {
          name: "postgres",
          durable: true,
          open: postgres(postgresAccess),
          part: { of: 2, at: 1 },
        },
        {
          name: "postgres in partitions",
          durable: true,
          open: postgres(partitionedAccess),
          part: { of: 8, at: 2 },
        },
      ]
    : []),
  {
    name: "hnsw over sqlite",
    durable: true,
    part: { of: 4, at: 0 },
    open: async (folder) =>
      new HnswMemoryStore({
        entries: await sqlite("main")(folder),
        file: join(folder, "memory.hnsw"),
      }),
  },
  {
    name: "hnsw over simple",
    durable: false,
    part: { of: 8, at: 3 },
    open: async () => new HnswMemoryStore({ entries: new SimpleMemoryStore() }),
  },
];

const EMBEDDERS: readonly { readonly name: string; open(): Promise<Embedder> }[] = [
  { name: "local", open: async () => new LocalEmbedder() },
  { name: "local, 100 dimensions", open: async () => new LocalEmbedder({ dimensions: 100 }) },
  { name: "bag of words", open: async () => new BagOfWordsEmbedder() },
];

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

for (const { name, durable, part, open } of STORES) {
  describe(`MemoryStore: ${name}`, () => {
    for (const law of part ? sampled(memoryStoreLaws, part) : memoryStoreLaws) {
      test.skipIf(law.durable && !durable)(law.name, NOT_DURABLE, async () => {
        const folder = await mkdtemp(join(tmpdir(), "rkat-"));
        folders.push(folder);
        const opened: MemoryStore[] = [];
        try {
          await law.holds(async () => {
            const store = await open(folder);
            opened.push(store);
            return store;
          });
        } finally {
          await Promise.all(opened.map((store) => store.close()));
        }
      });
    }
  });
}

for (const { name, open } of EMBEDDERS) {
  describe(`Embedder: ${name}`, () => {
    for (const law of embedderLaws) test(law.name, () => law.holds(open));
  });
}

test("SimpleMemoryStore matches by the share of the query's words that an entry contains", async () => {
  const store = new SimpleMemoryStore();
  const entry = (id: string, content: string) =>
    ({ id, content, sessionId: "s", turn: 0, kind: "message" }) as const;
  await store.add([
    entry("half", "Errors come first."),
    entry("all", "The parser has no errors."),
    entry("none", "All is well."),
  ]);
  const hits = await store.search({ query: "Parse errors", limit: 5 });
  expect(hits.map(({ id, match }) => [id, match])).toEqual([
    ["all", 0.95],
    ["half", 0.5],
  ]);
});
