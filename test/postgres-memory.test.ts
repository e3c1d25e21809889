import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { below, randomFrom } from "../bench/data/random.ts";
import { ASKED_AT, findingSet } from "../bench/finding/finding-set.ts";
import type { MemoryEntry, MemoryQuery } from "../src/core/memory-store.ts";
import { addEntries } from "../src/indexing/add.ts";
import { OpenIndex } from "../src/indexing/open-index.ts";
import { runAsync } from "../src/indexing/port/asking.ts";
import { searchEntries } from "../src/indexing/search.ts";
import { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import { PostgresIndexStore } from "../src/stores/postgres/postgres-index-store.ts";
import { PostgresMemoryStore } from "../src/stores/postgres/postgres-memory-store.ts";
import { SaveStatement } from "../src/stores/postgres/save-index-changes.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../src/stores/sqlite/sqlite-memory-store.ts";
import { ConceptEmbedder } from "./support/concept-embedder.ts";
import { freshSchema, hasPostgres, NEEDS_POSTGRES, postgresUrl } from "./support/postgres.ts";
import { LONG, sampled, trials } from "./support/trials.ts";

const embedder = new ConceptEmbedder();

/** A store with a pool of its own, as another process has it. */
async function openMemory(
  schema: string,
  options: { readonly hybrid?: boolean; readonly url?: string } = {},
) {
  const connectionString = options.url ?? (await postgresUrl());
  const db = new PostgresDatabase({ connectionString, schema });
  const memory = new PostgresMemoryStore(db, options.hybrid ? { embedder } : {});
  onTestFinished(() => memory.close());
  return memory;
}

/** A database that counts the statements that it sends, and begins no transaction. */
async function countingDatabase(schema: string) {
  const pool = new pg.Pool({ connectionString: await postgresUrl() });
  onTestFinished(() => pool.end());
  let count = 0;
  const counting = {
    query: (statement: object) => {
      count += 1;
      return pool.query(statement);
    },
    connect: () => expect.fail("It began a transaction."),
    end: () => pool.end(),
  };
  return { db: new PostgresDatabase({ pool: counting, schema }), sent: () => count };
}

/** What the server has counted of the table of entries. */
async function countedOfEntries(schema: string, counted: string): Promise<number> {
  const client = new pg.Client({ connectionString: await postgresUrl() });
  await client.connect();
  const { rows } = await client.query(
    `select (${counted})::float8 as count from pg_stat_user_tables
     where schemaname = $1 and relname = 'memory_entry'`,
    [schema],
  );
  await client.end();
  return (rows[0] as { readonly count: number }).count;
}

const entriesRead = (schema: string) => countedOfEntries(schema, "seq_tup_read + idx_tup_fetch");
const entriesAdded = (schema: string) => countedOfEntries(schema, "n_tup_ins");

const WORDS =
  "dog greyhound doctor surgery money wages car sedan holiday trip heron weir kiln walrus 東京 café boat mast".split(
    " ",
  );

/** Made-up entries from `from` on, whose words are a matter of chance. */
function entries(seed: number, from: number, count: number): MemoryEntry[] {
  const random = randomFrom(seed * 7919 + from);
  return Array.from({ length: count }, (_, at): MemoryEntry => {
    const said = Array.from({ length: 3 + below(30, random) }, () => word(random));
    const number = from + at;
    return {
      id: `entry-${number}`,
      content: `${said.join(" ")} number${number}.`,
      sessionId: `session-${below(12, random)}`,
      turn: number,
      kind: number % 9 === 0 ? "fact" : "message",
      role: number % 2 === 0 ? "user" : "assistant",
      ...(number % 3 === 0 ? { speaker: "Caroline" } : {}),
      time: new Date(1.7e12 + number * 1e7).toISOString(),
    };
  });
}

/** A few words of meaning, and a few hundred others, some more frequent than others. */
function word(random: () => number): string {
  const isKnown = below(4, random) === 0;
  return isKnown
    ? (WORDS[below(WORDS.length, random)] as string)
    : `w${Math.floor(400 * random() ** 3)}`;
}

const QUERIES = [
  { query: "puppy at the weir", limit: 10, neighbours: 2 },
  { query: ["salary", "vehicle number77"], limit: 7 },
  { query: "京 boat", limit: 10, role: "user" },
  { query: "Which physician did Caroline see?", limit: 5 },
  { query: "vacation mast", limit: 10, sessionId: "session-7", neighbours: 1 },
  { query: "w91 w230 w7", limit: 10, neighbours: 1, explain: true },
  { query: "w301 w17 heron", limit: 10 },
  { query: "w344", limit: 20, minScore: 0 },
] as const;

/** Steps of each seed. */
const STEPS = trials(6, 24);

describe.skipIf(!hasPostgres)("memory in PostgreSQL", NEEDS_POSTGRES, () => {
  // Each takes over two seconds: three stores take the same entries, and answer the same questions.
  test.each([
    ["words", false],
    ["words and meaning", true],
  ])(
    "by %s, what several processes add, delete and merge is found as in SQLite, with the same scores",
    async (_, hybrid) => {
      for (const seed of LONG ? [1, 2, 3, 4, 5, 6] : [1]) {
        const schema = await freshSchema();
        const processes = [
          await openMemory(schema, { hybrid }),
          await openMemory(schema, { hybrid }),
        ];
        const sqlite = new SqliteMemoryStore(
          openDatabase({ path: ":memory:" }),
          hybrid ? { embedder } : {},
        );
        onTestFinished(() => sqlite.close());
        const random = randomFrom(seed);
        let stored = 0;
        let found = 0;
        for (let step = 0; step < STEPS; step += 1) {
          const one = processes[step % 2] as PostgresMemoryStore;
          const kind = below(6, random);
          if (kind < 4 || stored === 0) {
            const batch = entries(seed, stored, 1 + below(120, random));
            stored += batch.length;
            expect(await one.add(batch)).toBe(await sqlite.add(batch));
          } else if (kind === 4) {
            const ids = Array.from({ length: 5 }, () => `entry-${below(stored, random)}`);
            expect(await one.delete({ ids })).toBe(await sqlite.delete({ ids }));
          } else {
            const sessionId = `session-${below(12, random)}`;
            expect(await one.delete({ sessionId })).toBe(await sqlite.delete({ sessionId }));
          }
          if (step % 6 !== 5) continue;
          // Which vectors are there yet is a matter of time.
          for (const store of [...processes, sqlite]) await store.finishEmbedding();
          for (const query of QUERIES) {
            const expected = await sqlite.search(query);
            found += expected.length;
            for (const store of processes) expect(await store.search(query)).toEqual(expected);
          }
        }
        expect(found).toBeGreaterThan(4 * STEPS);
        for (const store of processes) await store.finishMerging();
        await sqlite.finishMerging();
        const list = await sqlite.list({ limit: 10_000 });
        for (const store of processes) {
          expect(await store.list({ limit: 10_000 })).toEqual(list);
          expect(await store.verify()).toEqual({ entries: list.length, problems: [] });
        }
      }
    },
    120_000,
  );

  test("of many processes that add at once, nothing is lost and nothing is there twice", async () => {
    const schema = await freshSchema();
    const processes = await Promise.all(Array.from({ length: 4 }, () => openMemory(schema)));
    const added = await Promise.all(
      processes.map(async (store, number) => {
        let count = 0;
        for (let batch = 0; batch < 12; batch += 1) {
          // Each batch is added by two of them.
          const from = (batch * 4 + (number >> 1)) * 5;
          count += await store.add(entries(3, from, 5));
        }
        return count;
      }),
    );
    expect(added.reduce((sum, count) => sum + count, 0)).toBe(120);
    const [store] = processes as [PostgresMemoryStore];
    expect(await store.verify()).toEqual({ entries: 120, problems: [] });
  });

  test("connections that the server cuts at any time lose nothing and store nothing twice", async () => {
    const schema = await freshSchema();
    const admin = await openMemory(schema);
    await admin.add(entries(11, 0, 1));
    const pool = new pg.Pool({ connectionString: await postgresUrl(), max: 1 });
    onTestFinished(() => pool.end());
    const applicationName = `rkat memory ${process.pid}`;
    const url = `${await postgresUrl()}?application_name=${encodeURIComponent(applicationName)}`;
    const writers = await Promise.all([1, 2].map(() => openMemory(schema, { url })));
    // A server that has never answered is not asked again.
    for (const store of writers) await store.stats();
    const batches = trials(6, 200);
    const cutsMin = 6;
    let cuts = 0;
    let written = 0;
    let isDone = false;
    const cutting = (async () => {
      while (!isDone) {
        const cut = await pool.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
          [applicationName],
        );
        cuts += cut.rows.length;
        await sleep(10 + 40 * Math.random());
      }
    })();
    await Promise.all(
      writers.map(async (store, number) => {
        // Quick writers go on until enough of their connections were cut.
        for (let batch = 0; batch < batches || cuts < cutsMin; batch += 1) {
          const from = 1 + (batch * 2 + number) * 5;
          await store.add(entries(11, from, 5));
          written += 5;
          await store.search(QUERIES[0]);
        }
      }),
    ).finally(() => {
      isDone = true;
    });
    await cutting;
    expect(cuts).toBeGreaterThanOrEqual(cutsMin);
    expect(written).toBeGreaterThanOrEqual(batches * 10);
    expect((await admin.list({ limit: 10_000 })).length).toBe(1 + written);
    expect((await admin.verify()).problems).toEqual([]);
  }, 300_000);

  test("searches of one process at the same time do not disturb each other", async () => {
    const schema = await freshSchema();
    const [store, other] = [await openMemory(schema), await openMemory(schema)];
    for (let round = 0; round < 3; round += 1) {
      await store.add(entries(4, 100 * round, 100));
      const alone = [];
      for (const query of QUERIES) alone.push(await store.search(query));
      // This process knows nothing of what was added yet.
      expect(await Promise.all(QUERIES.map((query) => other.search(query)))).toEqual(alone);
    }
  });

  test("questions in many languages get the same answers and scores as on SQLite", async () => {
    const postgres = await openMemory(await freshSchema());
    const sqlite = new SqliteMemoryStore(openDatabase({ path: ":memory:" }));
    onTestFinished(() => sqlite.close());
    const { notes, questions } = findingSet();
    for (const store of [postgres, sqlite]) await store.add(notes);
    for (const { text } of sampled(questions, { of: 24, at: 3 }, "cases")) {
      const query = { query: text, limit: 5, at: ASKED_AT, explain: true };
      expect(await postgres.search(query), text).toEqual(await sqlite.search(query));
    }
  });

  test("a save that is sent again, because its answer was lost, is done once", async () => {
    const schema = await freshSchema();
    const db = new PostgresDatabase({ connectionString: await postgresUrl(), schema });
    onTestFinished(() => db.close());
    const store = new PostgresIndexStore(db, "n");
    await runAsync(addEntries(entries(5, 0, 3)), store);
    const saves = async () =>
      (await db.row<{ saves: number }>("select saves from rkat.memory_namespace"))?.saves;
    const head = await store.head();
    if (!head) throw new Error("There is no head.");
    const changes = { head: { ...head, stored: 9 }, remove: {}, put: {} };
    const seen = { stored: head.stored, isSynced: true, changes };
    const statement = new SaveStatement("n", { ...seen, saves: await saves() });
    const before = (await saves()) ?? 0;
    for (const _ of ["sent", "sent again"]) {
      expect(await db.rows(statement.sql, ...statement.values)).toHaveLength(1);
      expect(await saves()).toBe(before + 1);
    }
    const late = new SaveStatement("n", { ...seen, saves: before });
    expect(await db.rows(late.sql, ...late.values)).toEqual([]);
  });

  test("a pooler that forgets prepared statements is found out, and searches go on", async () => {
    const pool = new pg.Pool({ connectionString: await postgresUrl(), max: 1 });
    const db = new PostgresDatabase({ pool, schema: await freshSchema() });
    const store = new PostgresMemoryStore(db);
    onTestFinished(() => pool.end());
    await store.add(entries(6, 0, 50));
    const found = [];
    for (const query of QUERIES) found.push(await store.search(query));
    expect(db.prepares).toBe(true);
    await pool.query("deallocate all");
    expect(await Promise.all(QUERIES.map((query) => store.search(query)))).toEqual(found);
    expect(db.prepares).toBe(false);
    await store.close();
  });

  test.each([
    ["words", false],
    ["words and meaning", true],
  ])(
    "by %s, a search sends three statements at most, whoever has written before",
    async (_, hybrid) => {
      const schema = await freshSchema();
      const writer = await openMemory(schema, { hybrid });
      await writer.add(entries(9, 0, 1));
      const { db, sent } = await countingDatabase(schema);
      const index = new OpenIndex();
      const store = new PostgresIndexStore(db, "default");
      await store.head();
      for (let round = 0; round < 3; round += 1) {
        await writer.add(entries(9, 200 * round, 200));
        await writer.finishEmbedding();
        for (const query of QUERIES) {
          const vectors = await embedder.embed([query.query].flat());
          const embedded = hybrid ? { embedder: embedder.id, vectors } : undefined;
          const before = sent();
          const hits = await runAsync(searchEntries(index, query, embedded), store);
          expect(sent() - before).toBeLessThanOrEqual(3);
          expect(hits).toEqual(await writer.search(query));
        }
      }
    },
  );

  test("asking again while nothing is written sends one statement, and what is written next is found", async () => {
    const schema = await freshSchema();
    const writer = await openMemory(schema);
    await writer.add(entries(10, 0, 500));
    const { db, sent } = await countingDatabase(schema);
    const [index, store] = [new OpenIndex(), new PostgresIndexStore(db, "default")];
    const search = async (query: MemoryQuery) => {
      const before = sent();
      const hits = await runAsync(searchEntries(index, query), store);
      expect(hits).toEqual(await writer.search(query));
      return sent() - before;
    };
    const query = { query: "w91 w230 w7", limit: 10 };
    const same = { query: entries(10, 0, 500)[77]?.content ?? "", limit: 3 };
    for (const asked of [query, same]) {
      await search(asked);
      await search(asked);
      expect(await search(asked)).toBe(1);
    }
    await writer.add(entries(10, 500, 300));
    expect(await search(query)).toBeLessThanOrEqual(3);
    await writer.delete({ sessionId: "session-3" });
    expect(await search(same)).toBeLessThanOrEqual(3);
    await search(same);
    expect(await search(same)).toBe(1);
  });

  test("adding looks up the ids that it adds, and reads no other entries of the namespace", async () => {
    const schema = await freshSchema();
    const add = async (from: number, count: number) => {
      const memory = await openMemory(schema);
      await memory.add(entries(1, from, count));
      // The server counts what a connection has read when it ends.
      await memory.close();
    };
    await add(0, 2000);
    await expect.poll(() => entriesAdded(schema)).toBe(2000);
    const before = await entriesRead(schema);
    await add(2000, 100);
    await expect.poll(() => entriesAdded(schema)).toBe(2100);
    expect((await entriesRead(schema)) - before).toBeLessThan(200);
  });

  test("namespaces see nothing of each other", async () => {
    const store = await openMemory(await freshSchema());
    const other = store.inNamespace("default\nuser ada");
    await store.add(entries(7, 0, 20));
    await other.add(entries(8, 0, 3));
    expect((await other.list({ limit: 100 })).length).toBe(3);
    await other.delete({ ids: entries(8, 0, 3).map(({ id }) => id) });
    expect((await store.list({ limit: 100 })).length).toBe(20);
    expect(await other.search({ query: "number7", limit: 5 })).toEqual([]);
    expect((await store.verify()).problems).toEqual([]);
  });
});
