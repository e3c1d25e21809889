import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { madeUpBatches } from "../bench/data/entries.ts";
import { createSessionService } from "../src/index.ts";
import { type PostgresStores, postgresStores } from "../src/postgres.ts";
import { MemoryIndex } from "../src/projections/memory-index.ts";
import { scriptedModel } from "../src/testing.ts";
import { freshSchema, hasPostgres, NEEDS_POSTGRES, postgresUrl } from "./support/postgres.ts";

/** Texts of a person and of a model, 90 and 400 characters. */
const TEXTS = [...madeUpBatches(0, 500, 3)]
  .map((batch) => batch.map(({ content }) => content).join(" "))
  .filter((text) => text.length >= 400)
  .map((text) => text.slice(0, 400));
const TURN = 490;
const TURNS = 12;

async function openAdmin() {
  const client = new pg.Client({ connectionString: await postgresUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  return async <Row>(sql: string): Promise<readonly Row[]> =>
    (await client.query(sql)).rows as Row[];
}

async function openStores(schema: string, namespace = "default"): Promise<PostgresStores> {
  const stores = postgresStores({ connectionString: await postgresUrl(), schema, namespace });
  onTestFinished(() => stores.close());
  return stores;
}

describe.skipIf(!hasPostgres)("what is written on PostgreSQL", NEEDS_POSTGRES, () => {
  test("a turn writes less than seven and a half thousand bytes beyond its text into the write-ahead log", async () => {
    const schema = await freshSchema();
    const ask = await openAdmin();
    const written = async () => {
      const [row] = await ask<{ bytes: number }>(
        "select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes",
      );
      return row?.bytes ?? 0;
    };
    const stores = await openStores(schema);
    let said = 0;
    const text = () => TEXTS[said++ % TEXTS.length] as string;
    // How often memory is filled depends on time.
    const alone = { memory: false, knowledge: false } as const;
    const service = createSessionService({ model: scriptedModel(text), stores, ...alone });
    const { sessionId } = await service.createSession({});
    const turns = async (count: number) => {
      for (let turn = 0; turn < count; turn += 1) {
        await service.startTurn({ sessionId, prompt: text().slice(0, 90) });
      }
    };
    await turns(5);
    const each: number[] = [];
    // Something else may write meanwhile: statistics, a vacuum.
    for (let round = 0; round < 3; round += 1) {
      const start = await written();
      await turns(TURNS);
      each.push((await written()) - start);
    }
    await service.close();
    expect(Math.min(...each) / TURNS - TURN).toBeLessThan(7500);
  });

  test("a program of an earlier version lists the sessions that this one wrote, and this one those of earlier ones", async () => {
    const schema = await freshSchema();
    const ask = await openAdmin();
    const stores = await openStores(schema);
    const service = createSessionService({ model: scriptedModel([]), stores });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "The heron waits." });
    await service.close();
    const table = `"${schema}".snapshot`;
    const [row] = await ask<{ snapshot: string }>(`select snapshot from ${table}`);
    // They take the first line for the JSON.
    const [first = ""] = row?.snapshot.split("\n") ?? [];
    const { checksum, ...snapshot } = JSON.parse(first);
    expect(snapshot).toMatchObject({ id: sessionId, version: expect.any(Number) });
    const json = JSON.stringify(snapshot);
    for (const text of [`${json}\n${checksum}`, `${checksum}\n${json}`, json]) {
      await ask(`update ${table} set snapshot = '${text.replaceAll("'", "''")}'`);
      expect(await stores.sessions.list({})).toEqual([snapshot]);
      const known = text === json ? undefined : snapshot;
      expect(await stores.sessions.load(sessionId)).toEqual(known);
    }
  });

  test("a turn in a session that is open asks the server five times", async () => {
    const pool = new pg.Pool({ connectionString: await postgresUrl() });
    onTestFinished(() => pool.end());
    const asked: string[] = [];
    const counting = {
      query: (statement: { readonly text: string }) => {
        asked.push(statement.text);
        return pool.query(statement);
      },
      connect: () => pool.connect(),
      end: async () => {},
    };
    const stores = postgresStores({ pool: counting, schema: await freshSchema() });
    const alone = { memory: false, knowledge: false } as const;
    const service = createSessionService({ model: scriptedModel([]), stores, ...alone });
    const { sessionId } = await service.createSession({});
    const counts: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      asked.length = 0;
      await service.startTurn({ sessionId, prompt: "The heron waits." });
      counts.push(asked.length);
    }
    await service.close();
    await stores.close();
    // Projections, and looks whether a turn shall stop, come as time passes.
    expect(Math.min(...counts)).toBe(5);
  });

  test("a process that fills memory asks as little for many sessions as for few", async () => {
    const statements: number[] = [];
    for (const sessions of [2, 8]) {
      const schema = await freshSchema();
      const talking = await openStores(schema);
      const model = scriptedModel(() => "It waits.");
      const service = createSessionService({ model, stores: talking });
      for (let session = 0; session < sessions; session += 1) {
        const { sessionId } = await service.createSession({});
        await service.startTurn({ sessionId, prompt: `The heron waits at pier ${session}.` });
      }
      await service.close();
      const asked: string[] = [];
      const pool = new pg.Pool({ connectionString: await postgresUrl() });
      const counting = {
        query: (statement: { readonly text: string }) => {
          asked.push(statement.text);
          return pool.query(statement);
        },
        connect: () => pool.connect(),
        end: async () => {},
      };
      const stores = postgresStores({ pool: counting, schema });
      await new MemoryIndex(stores.events, stores.memory).apply(
        await stores.events.readAll(0, 1000),
      );
      expect((await stores.memory.stats()).entries).toBe(2 * sessions);
      const ofTheLog = asked.filter((text) => /\blog\b|\bevent\b/.test(text));
      statements.push(ofTheLog.length);
      await stores.close();
      await pool.end();
    }
    expect(statements[1]).toBe(statements[0]);
    expect(Math.max(...statements)).toBeLessThan(6);
  });

  test("a process that closes asks few statements for each of its users", async () => {
    const schema = await freshSchema();
    const pool = new pg.Pool({ connectionString: await postgresUrl() });
    onTestFinished(() => pool.end());
    let sent = 0;
    const counting = {
      query: (statement: object) => {
        sent += 1;
        return pool.query(statement);
      },
      connect: () => pool.connect(),
      end: async () => {},
    };
    const stores = postgresStores({ pool: counting, schema });
    const service = createSessionService({ model: scriptedModel([]), stores });
    const users = Array.from({ length: 6 }, (_, at) => service.forUser(`user ${at}`));
    for (const user of users) {
      const { sessionId } = await user.createSession({});
      await user.startTurn({ sessionId, prompt: "The heron waits." });
      await user.searchMemory({ query: "heron" });
    }
    // What is asked for the users' leases and for what one search left to do is over.
    await expect.poll(async () => (await openLeases(schema)).length, { timeout: 10_000 }).toBe(0);
    sent = 0;
    await service.close();
    expect(sent / users.length).toBeLessThan(8);
    await stores.close();
  });
});

async function openLeases(schema: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: await postgresUrl() });
  await client.connect();
  const { rows } = await client.query(
    `select key from "${schema}".lease where expires_at > clock_timestamp()`,
  );
  await client.end();
  return rows;
}
