import pg from "pg";
import { describe, expect, test } from "vitest";
import { copyUsers } from "../bench/data/copied-users.ts";
import type { NewEvent } from "../src/core/event.ts";
import { endingsOf } from "../src/core/event-store.ts";
import { newId } from "../src/core/ids.ts";
import { createSessionService } from "../src/index.ts";
import { type PostgresStores, postgresStores } from "../src/postgres.ts";
import { scriptedModel } from "../src/testing.ts";
import { crowdedStore } from "./support/crowded-store.ts";
import { ExplainedPool } from "./support/explained-pool.ts";
import { rowsOf } from "./support/plan-complaints.ts";
import { freshSchema, hasPostgres, NEEDS_POSTGRES, postgresUrl } from "./support/postgres.ts";
import { LONG, trials } from "./support/trials.ts";

const LENGTHS = LONG ? [2000, 16_000, 186_000] : [500, 4000];
const OTHERS = trials(150, 1000, "cases");
const BACKLOG = { sessions: trials(8, 48, "cases"), events: trials(150, 900, "cases") };

interface Place {
  readonly connectionString: string;
  readonly schema: string;
}

const LONG_LOG = trials(3000, 60_000, "cases");

/** One in so many events of a log has the words of the question. */
const MATCHES = 8;

function said(prompt: string): NewEvent {
  const event = { type: "run_started", session_id: "s", prompt } as const;
  return { event_id: newId(), timestamp_ms: Date.now(), event };
}

// Each takes over two seconds: it stores thousands of events.
describe.skipIf(!hasPostgres)("what the server does", NEEDS_POSTGRES, () => {
  test("a search in the log handles so many rows for each match, however long the log is", async () => {
    const place = { connectionString: await postgresUrl(), schema: await freshSchema() };
    const stores = postgresStores(place);
    const asker = stores.forUser("asker").events;
    const rows: number[] = [];
    let seq = 0;
    for (const length of LENGTHS) {
      while (seq < length) {
        const events = Array.from({ length: Math.min(500, length - seq) }, (_, at) =>
          said((seq + at) % MATCHES === 0 ? `The pilot is in the harbour ${seq}.` : "Some more."),
        );
        seq = await asker.append("s", seq, events);
      }
      await analyze(place);
      const search = ({ events }: Own) => events.search({ query: "harbour pilot", limit: 5 });
      rows.push(await rowsOfWork(place, search));
    }
    await stores.close();
    const perMatch = rows.map((count, at) => count / ((LENGTHS[at] as number) / MATCHES));
    expect(Math.max(...perMatch)).toBeLessThan(1.3 * Math.min(...perMatch));
    expect(Math.max(...perMatch)).toBeLessThan(25);
  }, 600_000);

  test(`a user's searches, lists and reads handle as many rows alone as beside ${OTHERS} others who said the same`, async () => {
    const store = await crowdedStore([
      { name: "asker", copies: 0, turns: 40, entries: LONG ? 1000 : 400 },
    ]);
    const { pool, texts, sessionId, schema } = store;
    const query = texts[3] as string;
    const works: Readonly<Record<string, (stores: Own) => Promise<unknown>>> = {
      "history search": ({ events }) => events.search({ query, limit: 10 }),
      "history search of a session": ({ events }) => events.search({ query, limit: 10, sessionId }),
      search: ({ memory }) => memory.search({ query, limit: 10 }),
      "list of sessions": ({ sessions }) => sessions.list({ limit: 2 }),
      "list of memory": ({ memory }) => memory.list({ limit: 20 }),
      read: ({ events }) => Array.fromAsync(events.read(sessionId, 0)),
    };
    await addEmptyMemories(pool, schema);
    const measure = async () => {
      await analyze(store);
      const counts: Record<string, number> = {};
      for (const [name, work] of Object.entries(works))
        counts[name] = await rowsOfWork(store, work);
      return counts;
    };
    const alone = await measure();
    const from = "default\nuser asker";
    await copyUsers(pool, { schema, from, to: `${from} `, first: 1, last: OTHERS });
    const beside = await measure();
    for (const name of Object.keys(works)) {
      // Those of the others are 150 times as many.
      expect(beside[name], name).toBeLessThanOrEqual(1.3 * (alone[name] ?? 0) + 50);
    }
  }, 600_000);

  test("a search in a long log handles what it finds, when others have said the same words often", async () => {
    const place = { connectionString: await postgresUrl(), schema: await freshSchema() };
    const stores = postgresStores(place);
    const log = async (user: string, length: number, prompt: (seq: number) => string) => {
      for (let seq = 0; seq < length; ) {
        const events = Array.from({ length: 500 }, (_, at) => said(prompt(seq + at)));
        seq = await stores.forUser(user).events.append("s", seq, events);
      }
    };
    await log("asker", LONG_LOG, (seq) => (seq % 1000 === 0 ? "The pilot came." : `Some ${seq}.`));
    await log("other", 500, (seq) => `A pilot came at ${seq}.`);
    const pool = new pg.Pool({ connectionString: place.connectionString, max: 1 });
    const from = "default\nuser other";
    const copies = { from, to: `${from} `, first: 1, last: OTHERS };
    await copyUsers(pool, { schema: place.schema, ...copies });
    await pool.end();
    await analyze(place);
    const rows = await rowsOfWork(place, ({ events }) =>
      events.search({ query: "pilot", limit: 5 }),
    );
    await stores.close();
    expect(rows).toBeLessThan(LONG_LOG / 10);
  }, 600_000);

  test("the ends of some logs are found without the other logs of a user", async () => {
    const place = { connectionString: await postgresUrl(), schema: await freshSchema() };
    const stores = postgresStores(place);
    const asker = stores.forUser("asker").events;
    const ids = Array.from({ length: 400 }, (_, at) => `session ${at}`);
    await Promise.all(ids.map((id) => asker.append(id, 0, [said("one"), said("two")])));
    await analyze(place);
    const asked = ids.slice(0, 16).map((sessionId) => ({ sessionId, seq: 1 }));
    const rows = await rowsOfWork(place, ({ events }) => endingsOf(events, asked));
    await stores.close();
    expect(rows).toBeLessThan(10 * asked.length);
  }, 600_000);

  test("memory that is behind reads each event twice at most", async () => {
    const place = { connectionString: await postgresUrl(), schema: await freshSchema() };
    const stores = postgresStores(place);
    const { sessions, events } = BACKLOG;
    // Sessions take turns, so that each page of the log has events of all.
    const service = createSessionService({ model: scriptedModel([]), stores });
    const ids: string[] = [];
    for (let session = 0; session < sessions; session += 1) {
      ids.push((await service.createSession({})).sessionId);
    }
    await service.close();
    const ends = await Promise.all(ids.map((id) => stores.events.lastSeq(id)));
    for (let round = 0; round < events; round += 1) {
      const one = (id: string, at: number) =>
        stores.events.append(id, (ends[at] as number) + round, [said(`${at} ${round}`)]);
      await Promise.all(ids.map(one));
    }
    await stores.close();
    // As a server does by itself within a minute.
    await analyze(place);
    const before = await eventsRead(place);
    const later = postgresStores(place);
    const following = createSessionService({ model: scriptedModel([]), stores: later });
    const expected = sessions * events;
    const entries = async () => (await later.memory.stats()).entries;
    await expect.poll(entries, { timeout: 500_000, interval: 200 }).toBe(expected);
    await following.close();
    await later.close();
    const read = (await eventsRead(place)) - before;
    expect(read).toBeGreaterThan(expected);
    // Beside what it asks to know that it is done.
    expect(read).toBeLessThanOrEqual(2 * sessions * (events + 1) + 200);
  }, 600_000);
});

type Own = Pick<PostgresStores, "events" | "memory" | "sessions">;

/** The rows that the server handles for this work of a process, after its first statement. */
async function rowsOfWork(
  { connectionString, schema }: Place,
  work: (stores: Own) => Promise<unknown>,
): Promise<number> {
  const explained = new ExplainedPool(connectionString);
  const stores = postgresStores({ pool: explained.pool, schema });
  await stores.events.lastSeq("s");
  explained.statements.length = 0;
  await work(stores.forUser("asker"));
  await stores.close();
  await explained.end();
  return explained.statements.reduce(
    (sum, { plans: [plan] }) => sum + (plan ? rowsOf(plan) : 0),
    0,
  );
}

async function connected<Result>(
  connectionString: string,
  work: (client: InstanceType<typeof pg.Client>) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Makes the list of memories as long as that of a server with thousands of users. The server reads a list of two pages whole
 * rather than by its index, so that a search of one user would count all the others.
 */
async function addEmptyMemories(pool: InstanceType<typeof pg.Pool>, schema: string): Promise<void> {
  const table = `"${schema}".memory_namespace`;
  const { rows } = await pool.query(`select * from ${table} limit 1`);
  const columns = Object.keys(rows[0] as object).filter(
    (name) => !["number", "name"].includes(name),
  );
  await pool.query(`insert into ${table} (name, ${columns})
    select 'empty ' || each, ${columns} from generate_series(1, 5000) as each, (select * from ${table} limit 1) as one`);
}

function analyze({ connectionString, schema }: Place): Promise<void> {
  return connected(connectionString, async (client) => {
    const tables = "select tablename as name from pg_tables where schemaname = $1";
    const { rows } = await client.query(tables, [schema]);
    for (const { name } of rows as { readonly name: string }[]) {
      await client.query(`vacuum analyze "${schema}"."${name}"`);
    }
  });
}

/** The events that the server has read. A connection tells what it has read when it ends. */
async function eventsRead({ connectionString, schema }: Place): Promise<number> {
  const count = () =>
    connected(connectionString, async (client) => {
      const { rows } = await client.query(
        `select (seq_tup_read + idx_tup_fetch)::float8 as count from pg_stat_user_tables
         where schemaname = $1 and relname = 'event'`,
        [schema],
      );
      return (rows[0] as { readonly count: number }).count;
    });
  for (let last = await count(); ; ) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const next = await count();
    if (next === last) return next;
    last = next;
  }
}
