import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { NewEvent } from "../src/core/event.ts";
import type { MemoryEntry } from "../src/core/memory-store.ts";
import { type PostgresStoresOptions, postgresStores } from "../src/postgres.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { appendEvents } from "../src/stores/postgres/append-events.ts";
import { CURRENT_TABLES } from "../src/stores/postgres/migrations.ts";
import { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import type { PostgresPool, PostgresStatement } from "../src/stores/postgres/postgres-pool.ts";
import { postgresAddress } from "../src/stores/postgres/server-address.ts";
import { ConceptEmbedder } from "./support/concept-embedder.ts";
import {
  freshSchema,
  hasPostgres,
  NEEDS_POSTGRES,
  postgresPool,
  postgresUrl,
} from "./support/postgres.ts";
import { sampled } from "./support/trials.ts";

const PARTITIONS = 4;
const embedder = new ConceptEmbedder();

async function openDatabase(schema: string, partitions?: number) {
  const connectionString = await postgresUrl();
  const options = partitions === undefined ? {} : { partitions };
  const database = new PostgresDatabase({ connectionString, schema, ...options });
  onTestFinished(() => database.close());
  return database;
}

function openStores(options: PostgresStoresOptions) {
  const stores = postgresStores(options);
  onTestFinished(() => stores.close());
  return stores;
}

/** A pool that keeps what is sent, without the values. */
async function watchedPool() {
  const pool = await postgresPool();
  const sent: PostgresStatement[] = [];
  const watched = {
    query: (statement: PostgresStatement) => {
      sent.push(statement);
      return pool.query(statement as never);
    },
    connect: () => pool.connect(),
    end: () => pool.end(),
  } as PostgresPool;
  return { watched, sent };
}

/** The partitions that a statement reads or writes when it is run, as "event 3". */
async function partitionsIn({ text, values }: PostgresStatement): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: await postgresUrl() });
  await client.connect();
  try {
    await client.query("begin");
    const { rows } = await client.query(`explain (analyze, format json) ${text}`, values);
    const [row] = rows as readonly { readonly "QUERY PLAN": readonly { Plan: PlanNode }[] }[];
    return row?.["QUERY PLAN"].flatMap(({ Plan }) => touched(Plan)) ?? [];
  } finally {
    await client.end();
  }
}

interface PlanNode {
  readonly "Relation Name"?: string;
  readonly "Actual Loops": number;
  readonly Plans?: readonly PlanNode[];
}

function touched(node: PlanNode): readonly string[] {
  const [, table, number] = /^([a-z_]+)_(\d+)$/.exec(node["Relation Name"] ?? "") ?? [];
  const own = table && node["Actual Loops"] > 0 ? [`${table} ${number}`] : [];
  return [...own, ...(node.Plans ?? []).flatMap(touched)];
}

const said = (content: string, at: number): NewEvent => ({
  event_id: `event-${at}`,
  timestamp_ms: 1.7e12 + at,
  event: { type: "message_added", message: { id: `m${at}`, role: "user", content } } as never,
});

function entries(namespace: string, count: number): MemoryEntry[] {
  return Array.from({ length: count }, (_, at) => ({
    id: `entry-${at}`,
    content: `The dog of ${namespace} saw a heron and a boat${at % 90} at the weir.`,
    sessionId: `session-${at % 7}`,
    turn: at,
    kind: "message",
    role: "user",
  }));
}

describe.skipIf(!hasPostgres)("a PostgreSQL store with partitions", NEEDS_POSTGRES, () => {
  // Over two seconds: each statement is explained and run again, in tables that are made for it.
  test("statements about a namespace touch one partition of each table", async () => {
    const schema = await freshSchema();
    const { watched, sent } = await watchedPool();
    const stores = openStores({ pool: watched, schema, partitions: PARTITIONS, embedder });
    for (const user of sampled(["ada", "ben", "cy", "di", "eve"], { of: 3, at: 0 }, "cases")) {
      const own = stores.forUser(user);
      await own.events.append("s", 0, [said("A heron.", 1), said("A boat.", 2)]);
      await own.memory.add(entries(user, 120));
      await own.memory.search({ query: "dog", limit: 3 });
      await own.memory.finishEmbedding();
      sent.length = 0;
      await own.memory.add(entries(user, 130));
      await own.memory.finishEmbedding();
      const hits = await own.memory.search({ query: "puppy boat17", limit: 3, minScore: 0 });
      expect(hits[0]?.content).toContain(user);
      await own.memory.list({ limit: 5 });
      for await (const { event } of own.events.read("s", 0))
        expect(event.type).toBe("message_added");
      expect(await own.events.readAll(0, 10)).toHaveLength(2);
      expect(await own.events.search({ query: "heron", limit: 3 })).toHaveLength(1);
      const tables = new Set<string>();
      for (const statement of sent.filter(({ text }) => !text.includes("memory_lease"))) {
        for (const partition of await partitionsIn(statement)) tables.add(partition);
      }
      const names = [...tables].map((partition) => partition.split(" ")[0]);
      expect(new Set(names).size).toBe(names.length);
      for (const name of ["event", "memory_entry", "memory_segment", "memory_vector"]) {
        expect(names).toContain(name);
      }
    }
  });

  test("an append opens one partition", async () => {
    const database = await openDatabase(await freshSchema(), PARTITIONS);
    const opened = await database.write(async (statements) => {
      const append = { namespace: "n", sessionId: "s", lastSeq: 0, held: undefined };
      await appendEvents(statements, { ...append, events: [said("A heron.", 1)] });
      return await statements.rows<{ name: string }>(
        `select relname as name from pg_locks join pg_class c on c.oid = relation
         where pid = pg_backend_pid() and c.relkind = 'r' and relname ~ '^event_\\d+$'`,
      );
    });
    expect(opened).toHaveLength(1);
  });

  // Over two seconds: three stores take the same entries, and their vectors.
  test("each namespace is whole in one partition, and finds what it finds in SQLite", async () => {
    const schema = await freshSchema();
    const connectionString = await postgresUrl();
    const one = openStores({ connectionString, schema, partitions: PARTITIONS, embedder });
    const other = openStores({ connectionString, schema, embedder });
    const sqlite = sqliteStores({ path: ":memory:", embedder });
    onTestFinished(() => sqlite.close());
    for (const user of ["ada", "ben", "cy"]) {
      const [first, second] = [one.forUser(user).memory, other.forUser(user).memory];
      const expected = sqlite.forUser(user).memory;
      const added = entries(user, 140);
      for (let from = 0; from < added.length; from += 100) {
        const batch = added.slice(from, from + 100);
        await (from % 200 === 0 ? first : second).add(batch);
        await expected.add(batch);
      }
      const ids = added.filter((_, at) => at % 11 === 0).map(({ id }) => id);
      expect(await second.delete({ ids })).toBe(await expected.delete({ ids }));
      for (const store of [first, second, expected]) {
        await store.finishEmbedding();
        await store.finishMerging();
      }
      for (const query of ["puppy boat17", "heron boat3 boat88"]) {
        const hits = await expected.search({ query, limit: 10, minScore: 0 });
        expect(hits.length).toBeGreaterThan(0);
        expect(await first.search({ query, limit: 10, minScore: 0 })).toEqual(hits);
        expect(await second.search({ query, limit: 10, minScore: 0 })).toEqual(hits);
      }
      expect((await first.verify()).problems).toEqual([]);
    }
    const database = await openDatabase(schema);
    const spread = await database.rows<{ namespaces: number }>(
      `select count(distinct tableoid)::integer as namespaces from rkat.memory_entry group by namespace`,
    );
    expect(spread.map(({ namespaces }) => namespaces)).toEqual([1, 1, 1]);
  });

  test("forgetting vacuums the partitions of the namespace only", async () => {
    const schema = await freshSchema();
    const { watched, sent } = await watchedPool();
    const stores = openStores({ pool: watched, schema, partitions: PARTITIONS, embedder });
    await stores.events.append("s", 0, [said("A heron.", 1)]);
    await stores.memory.add(entries("n", 20));
    await stores.memory.finishEmbedding();
    await stores.memory.delete({ ids: ["entry-1"] });
    await stores.events.delete("s");
    const vacuumed = sent.flatMap(({ text }) =>
      text.startsWith("vacuum") ? [...text.matchAll(/"\.(\w+)/g)].map(([, name]) => name) : [],
    );
    const large = /^(?:event|memory_(?:entry|segment|word_block|column_block|vector))_\d$/;
    expect(vacuumed.filter((name = "") => large.test(name))).toHaveLength(6);
    expect(vacuumed).toHaveLength(10);
    for await (const event of stores.events.read("s", 0)) expect.fail(`There is ${event.seq}.`);
  });

  test("a deletion that was killed is finished and vacuumed in its own partition", async () => {
    const schema = await freshSchema();
    const { watched, sent } = await watchedPool();
    const stores = openStores({ pool: watched, schema, partitions: 64 });
    const database = await openDatabase(schema);
    const names = ["ada", "ben"];
    for (const user of names)
      await stores.forUser(user).events.append("s", 0, [said("A heron.", 1)]);
    const found = await database.rows<{ name: string }>(
      "select distinct c.relname as name from rkat.event e join pg_class c on c.oid = e.tableoid",
    );
    await database.change("update rkat.log set namespace = null where namespace like '%user ada'");
    await stores.forUser("ben").events.delete("s");
    expect(await database.rows("select 1 from rkat.event")).toEqual([]);
    const vacuumed = sent.filter(({ text }) => text.startsWith("vacuum")).map(({ text }) => text);
    expect(found).toHaveLength(2);
    for (const { name } of found) expect(vacuumed.some((text) => text.endsWith(name))).toBe(true);
  });

  test("tables with other partitions are refused in one sentence; without the setting, any are used", async () => {
    const divided = await freshSchema();
    expect(await (await openDatabase(divided, 3)).partitions()).toBe(3);
    expect(await (await openDatabase(divided, 3)).partitions()).toBe(3);
    expect(await (await openDatabase(divided)).partitions()).toBe(3);
    await expect((await openDatabase(divided, 5)).rows("select 1")).rejects.toThrow(
      /^.*The tables in schema test .* have 3 partitions, not 5\.$/,
    );
    const plain = await freshSchema();
    expect(await (await openDatabase(plain)).partitions()).toBe(0);
    await expect((await openDatabase(plain, 5)).rows("select 1")).rejects.toThrow(
      /have no partitions, not 5\.$/,
    );
  });

  test.each([undefined, PARTITIONS])(
    "what a later version changes works on a layout with %s partitions",
    async (partitions) => {
      const schema = await freshSchema();
      const database = await openDatabase(schema, partitions);
      for (const table of ["event", "memory_entry", "memory_vector"]) {
        await database.change(`alter table rkat.${table} add column added text default 'new'`);
        await database.change(`create index ${table}_by_added on rkat.${table} (added)`);
      }
      const newer = "insert into rkat.migration (version, usable_from) values ($1, $2)";
      await database.change(newer, CURRENT_TABLES + 1, CURRENT_TABLES);
      const stores = openStores({ connectionString: await postgresUrl(), schema, embedder });
      await stores.events.append("s", 0, [said("A heron.", 1)]);
      expect(await stores.events.search({ query: "heron", limit: 1 })).toHaveLength(1);
      await stores.memory.add(entries("n", 20));
      await stores.memory.finishEmbedding();
      expect((await stores.memory.search({ query: "boat7", limit: 5 }))[0]?.id).toBe("entry-7");
    },
  );

  test("the settings of the tables are those of their partitions", async () => {
    const settings = async (partitions: number | undefined, suffix: string) => {
      const schema = await freshSchema();
      const database = await openDatabase(schema, partitions);
      return await database.rows(
        `select replace(c.relname, $2, '') as name, c.reloptions, a.attname, a.attstorage
         from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
         where c.relnamespace = (select oid from pg_namespace where nspname = $1)
           and c.relname = any(array['event', 'memory_entry', 'memory_segment', 'memory_word_block',
             'memory_column_block', 'memory_vector'] || case when $2 = '' then '{}' else
             array['event_1', 'memory_entry_1', 'memory_segment_1', 'memory_word_block_1',
             'memory_column_block_1', 'memory_vector_1'] end) and c.relkind = 'r'
         order by 1, 3`,
        schema,
        suffix,
      );
    };
    const plain = await settings(undefined, "");
    expect(plain.length).toBeGreaterThan(30);
    expect(await settings(PARTITIONS, "_1")).toEqual(plain);
  });

  test.each([0, 1, 65, 2.5, Number.NaN])("%s partitions are refused", async (partitions) => {
    const sentence = "A PostgreSQL store has 2 to 64 partitions.";
    const connectionString = "postgres://db.example.com/rkat";
    expect(() => postgresStores({ connectionString, partitions })).toThrow(sentence);
    expect(() => postgresAddress(`${connectionString}?partitions=${partitions}`)).toThrow(sentence);
  });
});

test("an address says how many partitions new tables get", () => {
  const address = "postgres://db.example.com/rkat?partitions=16&sslmode=verify-full";
  expect(postgresAddress(address)).toEqual({
    connectionString: "postgres://db.example.com/rkat?sslmode=verify-full",
    partitions: 16,
  });
});
