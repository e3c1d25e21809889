import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { MemoryEntry } from "../src/core/memory-store.ts";
import { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import { PostgresMemoryStore } from "../src/stores/postgres/postgres-memory-store.ts";
import type { PostgresPool } from "../src/stores/postgres/postgres-pool.ts";
import { renameNamespace } from "../src/stores/postgres/rename-namespace.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../src/stores/sqlite/sqlite-memory-store.ts";
import { freshSchema, hasPostgres, NEEDS_POSTGRES, postgresUrl } from "./support/postgres.ts";
import { trials } from "./support/trials.ts";

const BIRDS = "heron otter kiln walrus weir lantern mast canal buoy harbour pilot".split(" ");

/** Entries one after the other, each with words of its own. */
function entry(number: number): MemoryEntry {
  const word = (step: number) => BIRDS[(number * step + step) % BIRDS.length];
  return {
    id: `entry-${number}`,
    content: `The ${word(1)} and the ${word(3)} wait beside a ${word(7)}, number ${number}, until somebody asks for what was said there.`,
    sessionId: `session-${number % 5}`,
    turn: number,
    kind: "message",
    role: number % 2 === 0 ? "user" : "assistant",
    time: new Date(1_700_000_000_000 + 60_000 * number).toISOString(),
  };
}

const QUERIES = ["heron and weir", "lantern beside a mast", "number 17", "walruses"].map(
  (query) => ({ query, limit: 8, minScore: 0 }),
);

/** A memory with a pool of its own, as another process has it. */
async function openMemory(schema: string, namespace = "default", pool?: PostgresPool) {
  const server = pool ? { pool } : { connectionString: await postgresUrl() };
  const db = new PostgresDatabase({ ...server, schema });
  const memory = new PostgresMemoryStore(db, { namespace });
  onTestFinished(() => memory.close());
  return memory;
}

async function openAdmin() {
  const client = new pg.Client({ connectionString: await postgresUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  return async <Row>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> =>
    (await client.query(sql, [...values])).rows as Row[];
}

/** A pool that `before` is told of each statement of. */
async function watchedPool(before: (text: string) => Promise<unknown>): Promise<PostgresPool> {
  const pool = new pg.Pool({ connectionString: await postgresUrl() });
  onTestFinished(() => pool.end());
  return {
    query: async (statement: { readonly text: string }) => {
      await before(statement.text);
      return pool.query(statement);
    },
    connect: () => pool.connect(),
    end: async () => {},
  } as PostgresPool;
}

const isAdd = (text: string) => text.includes("insert into") && text.includes("memory_waiting");

/** A memory that begins no transaction and counts its statements. */
async function countedMemory(schema: string) {
  const pool = new pg.Pool({ connectionString: await postgresUrl() });
  onTestFinished(() => pool.end());
  let sent = 0;
  const counting = {
    query: (statement: object) => {
      sent += 1;
      return pool.query(statement);
    },
    connect: () => expect.fail("It began a transaction."),
    end: () => pool.end(),
  };
  const memory = new PostgresMemoryStore(new PostgresDatabase({ pool: counting, schema }));
  const statements = async (work: () => Promise<unknown>) => {
    const before = sent;
    await work();
    return sent - before;
  };
  return { memory, statements };
}

describe.skipIf(!hasPostgres)("single adds to a memory in PostgreSQL", NEEDS_POSTGRES, () => {
  test("each is one statement, those of the same moment share one, and none changes the row of the namespace", async () => {
    const schema = await freshSchema();
    const first = await openMemory(schema);
    await first.add([entry(0)]);
    await first.stats();
    const ask = await openAdmin();
    const row = () => ask(`select * from "${schema}".memory_namespace`);
    const before = await row();
    const { memory, statements } = await countedMemory(schema);
    await memory.add([entry(1)]);
    for (let number = 2; number < 6; number += 1) {
      expect(await statements(() => memory.add([entry(number)]))).toBe(1);
    }
    const together = Array.from({ length: 60 }, (_, at) => entry(6 + at));
    expect(await statements(() => Promise.all(together.map((one) => memory.add([one]))))).toBe(1);
    expect(await row()).toEqual(before);
    expect((await first.stats()).entries).toBe(66);
    expect(await row()).not.toEqual(before);
  });

  test("an add writes less than five times its text into the write-ahead log, and all that follows twelve times", async () => {
    const schema = await freshSchema();
    const memory = await openMemory(schema);
    const ask = await openAdmin();
    const written = async () => {
      const [row] = await ask<{ bytes: number }>(
        "select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes",
      );
      return row?.bytes ?? 0;
    };
    const times: { add: number; all: number }[] = [];
    // Something else may write meanwhile: statistics, a vacuum.
    for (let round = 0; round < 4; round += 1) {
      const added = Array.from({ length: 100 }, (_, at) => entry(100 * round + at));
      const text = added.reduce((sum, { content }) => sum + content.length, 0);
      const start = await written();
      for (const one of added) await memory.add([one]);
      const add = (await written()) - start;
      await memory.finishMerging();
      times.push({ add: add / text, all: ((await written()) - start) / text });
    }
    expect(Math.min(...times.map(({ add }) => add))).toBeLessThan(5);
    expect(Math.min(...times.map(({ all }) => all))).toBeLessThan(12);
  });

  test("what one process added is found by all at once, with the scores of SQLite", async () => {
    const schema = await freshSchema();
    const processes = await Promise.all([0, 1, 2].map(() => openMemory(schema)));
    const sqlite = new SqliteMemoryStore(openDatabase({ path: ":memory:" }));
    onTestFinished(() => sqlite.close());
    for (let number = 0; number < 60; number += 1) {
      const [writer, reader] = [processes[number % 3], processes[(number + 1) % 3]];
      expect(await writer?.add([entry(number)])).toBe(await sqlite.add([entry(number)]));
      if (number % 7 !== 0) continue;
      // Their order is that of adding, whoever added.
      expect(await reader?.list({ limit: 100 })).toEqual(await sqlite.list({ limit: 100 }));
      expect(await reader?.read(["entry-3"])).toEqual(await sqlite.read(["entry-3"]));
    }
    expect(await processes[0]?.delete({ ids: ["entry-59", "entry-2"] })).toBe(2);
    await sqlite.delete({ ids: ["entry-59", "entry-2"] });
    for (const process of processes) {
      for (const query of QUERIES) {
        expect(await process.search(query)).toEqual(await sqlite.search(query));
      }
      expect(await process.list({ sessionId: "session-2", limit: 100 })).toEqual(
        await sqlite.list({ sessionId: "session-2", limit: 100 }),
      );
      expect((await process.verify()).problems).toEqual([]);
    }
  });

  test("an entry is stored once, whoever adds it and how often", async () => {
    const schema = await freshSchema();
    const processes = await Promise.all([0, 1, 2].map(() => openMemory(schema)));
    const [memory] = processes as [PostgresMemoryStore];
    const counts = await Promise.all(processes.map((one) => one.add([entry(1), entry(1)])));
    expect(counts.reduce((sum, count) => sum + count)).toBe(1);
    const twice = await Promise.all([memory.add([entry(2)]), memory.add([entry(2), entry(3)])]);
    expect(twice).toEqual([1, 1]);
    expect(await memory.add([entry(2)])).toBe(0);
    expect((await memory.list({ limit: 10 })).length).toBe(3);
    for (const one of processes) expect(await one.add([entry(1), entry(3)])).toBe(0);
    expect((await memory.list({ limit: 10 })).map(({ id }) => id)).toEqual([
      ...["entry-1", "entry-2", "entry-3"],
    ]);
    const [waiting] = await (await openAdmin())<{ count: number }>(
      `select count(*)::integer as count from "${schema}".memory_waiting`,
    );
    expect(waiting).toEqual({ count: 0 });
  });

  test("an entry that another process added, and a third one folds while it is added again, is not new", async () => {
    const schema = await freshSchema();
    const [memory, other, folding] = [
      await openMemory(schema),
      await openMemory(schema),
      await openMemory(schema),
    ];
    await memory.add([entry(1)]);
    await other.add([entry(2)]);
    // An insert that is not over holds up the add after its snapshot.
    const ask = await openAdmin();
    await ask("begin");
    await ask(
      `insert into "${schema}".memory_waiting (namespace, id, entry) values ('default', 'entry-0', '{}')`,
    );
    const adding = memory.add([entry(0), entry(2)]);
    const watch = await openAdmin();
    const held = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%"${schema}".memory_waiting%'`;
    await expect.poll(() => watch(held)).toHaveLength(1);
    expect((await folding.stats()).entries).toBe(2);
    await ask("rollback");
    expect(await adding).toBe(1);
    expect((await folding.stats()).entries).toBe(3);
  });

  test("an entry that another process adds in the same moment is not new, and those beside it are", async () => {
    const schema = await freshSchema();
    const memory = await openMemory(schema);
    await memory.stats();
    const ask = await openAdmin();
    await ask("begin");
    const stored = JSON.stringify({ ...entry(0), id: undefined });
    const insert = `insert into "${schema}".memory_waiting (namespace, id, entry) values ('default', 'entry-0', $1)`;
    await ask(insert, stored);
    const adding = memory.add([entry(0), entry(2)]);
    const watch = await openAdmin();
    const held = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%"${schema}".memory_waiting%'`;
    await expect.poll(() => watch(held)).toHaveLength(1);
    await ask("commit");
    expect(await adding).toBe(1);
    expect(await memory.list({ limit: 5 })).toEqual([
      expect.objectContaining(entry(0)),
      expect.objectContaining(entry(2)),
    ]);
  });

  test("an add that is sent again tells its own entries from the same ones of another process", async () => {
    const schema = await freshSchema();
    const other = await openMemory(schema);
    let cuts = 1;
    const pool = await watchedPool(async (text) => {
      if (!isAdd(text) || cuts === 0) return;
      cuts -= 1;
      await other.add([entry(1)]);
      throw Object.assign(new Error("Connection terminated"), { code: "08006" });
    });
    const memory = await openMemory(schema, "default", pool);
    expect(await memory.add([entry(1), entry(2)])).toBe(1);
    expect(cuts).toBe(0);
    expect((await other.stats()).entries).toBe(2);
  });

  test("searches end and find what was there before, while others go on adding", async () => {
    const schema = await freshSchema();
    const [one, other, reader] = (await Promise.all([0, 1, 2].map(() => openMemory(schema)))) as [
      PostgresMemoryStore,
      PostgresMemoryStore,
      PostgresMemoryStore,
    ];
    let isDone = false;
    let added = 0;
    const adding = [one, other].map(async (memory, at) => {
      for (let number = at; !isDone; number += 2) {
        await memory.add([entry(number)]);
        added += 1;
      }
    });
    for (let asked = 0; asked < trials(10, 25); asked += 1) {
      const before = added;
      expect((await reader.stats()).entries).toBeGreaterThanOrEqual(before);
    }
    isDone = true;
    await Promise.all(adding);
    expect((await reader.stats()).entries).toBe(added);
    expect(await reader.verify()).toEqual({ entries: added, problems: [] });
  });

  test("of several that ask at once for many entries that wait, each one has all of them", async () => {
    const schema = await freshSchema();
    const processes = await Promise.all([0, 1, 2, 3].map(() => openMemory(schema)));
    for (let round = 1; round <= trials(2, 4); round += 1) {
      const added = Array.from({ length: 500 }, (_, at) => entry(1000 * round + at));
      await Promise.all(added.map((one, at) => processes[at % 2]?.add([one])));
      const counts = await Promise.all(processes.map(async (one) => (await one.stats()).entries));
      expect(counts).toEqual(processes.map(() => 500 * round));
    }
  });

  test("a process that ends leaves its entries to the others, also under another name of the namespace", async () => {
    const schema = await freshSchema();
    const memory = await openMemory(schema, "before");
    await memory.add([entry(1)]);
    await memory.inNamespace("before\nuser ada").add([entry(2)]);
    await memory.close();
    await renameNamespace({ connectionString: await postgresUrl(), schema }, "before", "after");
    const after = await openMemory(schema, "after");
    expect((await after.list({ limit: 5 })).map(({ id }) => id)).toEqual(["entry-1"]);
    const ada = after.inNamespace("after\nuser ada");
    expect((await ada.list({ limit: 5 })).map(({ id }) => id)).toEqual(["entry-2"]);
  });

  test("many adds of a process are folded without a search", async () => {
    const schema = await freshSchema();
    const memory = await openMemory(schema);
    const ask = await openAdmin();
    for (let number = 0; number < 200; number += 1) await memory.add([entry(number)]);
    const stored = async () => {
      const [row] = await ask<{ count: number }>(
        `select count(*)::integer as count from "${schema}".memory_entry`,
      );
      return row?.count;
    };
    await expect.poll(stored).toBeGreaterThanOrEqual(128);
  });

  test("a text that waits is gone when its entry was deleted", async () => {
    const schema = await freshSchema();
    const memory = await openMemory(schema);
    await memory.add([entry(1)]);
    await memory.add([entry(2)]);
    expect(await memory.delete({ ids: ["entry-1"] })).toBe(1);
    const found = await (await openAdmin())<{ id: string }>(
      `select id from "${schema}".memory_waiting union all select id from "${schema}".memory_entry`,
    );
    expect(found).toEqual([{ id: "entry-2" }]);
  });

  test("an entry that the index cannot take is refused before it waits, and hinders no other", async () => {
    const memory = await openMemory(await freshSchema());
    const long = Array.from({ length: 9000 }, (_, at) => at.toString(36)).join("");
    for (const name of [{ sessionId: long }, { role: long }, { speaker: long }]) {
      await expect(memory.add([{ ...entry(1), ...name }])).rejects.toThrow(/1400 bytes/);
    }
    const source = { from: 1.5, to: 2 };
    await expect(memory.add([{ ...entry(1), source }])).rejects.toThrow(/source/);
    await memory.add([entry(2)]);
    expect(await memory.list({ limit: 10 })).toHaveLength(1);
  });

  test("what was changed while it waited is refused with a sentence", async () => {
    const schema = await freshSchema();
    const memory = await openMemory(schema);
    await memory.add([entry(1)]);
    const ask = await openAdmin();
    await ask(`update "${schema}".memory_waiting set entry = '{"content": 5}'`);
    await expect(memory.search({ query: "heron", limit: 3 })).rejects.toMatchObject({
      code: "SESSION_STORE_ERROR",
      message: expect.stringContaining("An entry of memory has changed since it was stored."),
    });
    await ask(`delete from "${schema}".memory_waiting`);
    expect(await memory.search({ query: "heron", limit: 3 })).toEqual([]);
  });
});
