import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { NewEvent } from "../src/core/event.ts";
import { newId } from "../src/core/ids.ts";
import { SessionState } from "../src/core/session-state.ts";
import type { LeaseOwner } from "../src/core/session-store.ts";
import { createSessionService } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import { GroupedAppends } from "../src/stores/postgres/append-events.ts";
import { EVENTS_PER_NUMBER } from "../src/stores/postgres/event-positions.ts";
import { FOUND_BY_OWN_WORD } from "../src/stores/postgres/plain-schema.ts";
import { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import { PostgresEventStore } from "../src/stores/postgres/postgres-event-store.ts";
import type { PostgresPool } from "../src/stores/postgres/postgres-pool.ts";
import { tasksOf } from "../src/stores/postgres/postgres-tables.ts";
import { sqlStore } from "../src/stores/sql/sql-stores.ts";
import { scriptedModel } from "../src/testing.ts";
import {
  freshSchema,
  hasPostgres,
  NEEDS_POSTGRES,
  postgresDatabase,
  postgresPlace,
  postgresPool,
  postgresUrl,
} from "./support/postgres.ts";

const WRITERS = 8;
const APPENDS = 25;

function said(prompt: string): NewEvent {
  return {
    event_id: newId(),
    timestamp_ms: Date.now(),
    event: { type: "run_started", session_id: "s", prompt },
  };
}

describe.skipIf(!hasPostgres)("the log on PostgreSQL", NEEDS_POSTGRES, () => {
  test("a reader that follows many writers misses nothing and sees each session in order", async () => {
    const namespace = newId();
    const store = new PostgresEventStore(await postgresDatabase(), { namespace });
    let writing = true;
    const writers = Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        for (let seq = 0; seq < APPENDS; ) {
          const batch = Array.from({ length: 1 + (seq % 3) }, () => said(`${writer}`));
          seq = await store.append(`session ${writer}`, seq, batch);
        }
      }),
    ).finally(() => {
      writing = false;
    });
    const seen = new Map<string, number[]>();
    for (let position = 0, isLast = false; ; ) {
      const page = await store.readAll(position, 7);
      for (const { sessionId, stored } of page) {
        seen.set(sessionId, [...(seen.get(sessionId) ?? []), stored.seq]);
      }
      position = page.at(-1)?.position ?? position;
      if (page.length > 0) continue;
      if (isLast) break;
      isLast = !writing;
    }
    await writers;
    for (let writer = 0; writer < WRITERS; writer += 1) {
      const last = await store.lastSeq(`session ${writer}`);
      expect(seen.get(`session ${writer}`)).toEqual(
        Array.from({ length: last }, (_, at) => at + 1),
      );
    }
  });

  test("an event is not read before all transactions that began earlier have ended", async () => {
    const namespace = newId();
    const database = await postgresDatabase();
    const store = new PostgresEventStore(database, { namespace });
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const earlier = database.write(async (statements) => {
      await statements.row("select 1");
      begin();
      await mayEnd;
    });
    await begun;
    await store.append("s", 0, [said("later")]);
    expect(await store.readAll(0, 10)).toEqual([]);
    end();
    await earlier;
    expect(await store.readAll(0, 10)).toHaveLength(1);
  });

  test("a search says what it lacks because of an earlier transaction", async () => {
    const stores = postgresStores({ ...(await postgresPlace()), namespace: newId() });
    const service = createSessionService({ model: scriptedModel([]), stores });
    onTestFinished(async () => {
      await service.close();
      await stores.close();
    });
    await service.addMemory({ content: "The kettle is in the kitchen." });
    const writer = await (await postgresPool()).connect();
    await writer.query("begin; select pg_current_xact_id()");
    try {
      const settings = { model: "m", memory: true, knowledge: true, labels: {} };
      const created = { type: "session_created", session_id: "s", settings } as const;
      const earlier = { event_id: newId(), timestamp_ms: Date.now() - 60_000 };
      await stores.events.append("s", 0, [
        { ...earlier, event: created },
        said("A copper kettle."),
      ]);
      const hits = await service.searchMemory({ query: "kettle" });
      expect(hits).toHaveLength(1);
      expect(hits.behind).toEqual({ events: 2, seconds: expect.any(Number) });
    } finally {
      await writer.query("rollback");
      writer.release();
    }
    const hits = await service.searchMemory({ query: "kettle" });
    expect([hits.length, hits.behind]).toEqual([2, undefined]);
  });

  test.each([
    ["a server of another name", "update rkat.position_shift set server = 'another'"],
    // As a restored copy of the server of a dump is.
    [
      "a copy that has counted less",
      "update rkat.projection_checkpoint set position = position * 2",
    ],
  ])(
    "after a restore on %s, positions and keys go on behind what is there",
    async (_, restored) => {
      const [connectionString, schema] = [await postgresUrl(), await freshSchema()];
      const before = new PostgresDatabase({ connectionString, schema });
      const old = new PostgresEventStore(before);
      await old.append("s", 0, [said("earlier")]);
      const [{ position = 0 } = {}] = await old.readAll(0, 10);
      await old.saveCheckpoint("memory", position);
      await before.change("update rkat.event set position = position * 2");
      await before.change(restored);
      await before.change("alter table rkat.log alter column key restart");
      await before.close();
      const database = new PostgresDatabase({ connectionString, schema });
      onTestFinished(() => database.close());
      const store = new PostgresEventStore(database);
      await store.append("s", 1, [said("later")]);
      await store.append("another", 0, [said("later")]);
      expect(await store.readAll(position * 2, 10)).toHaveLength(2);
    },
  );

  test("a batch with more events than a transaction has positions is whole and in order, on one connection", async () => {
    const { connectionString, schema } = await postgresPlace();
    const pool = new pg.Pool({ connectionString, max: 1, connectionTimeoutMillis: 2000 });
    onTestFinished(() => pool.end());
    const store = new PostgresEventStore(new PostgresDatabase({ pool, schema }), {
      namespace: newId(),
    });
    const count = 2 * EVENTS_PER_NUMBER + 3;
    await store.append("large", 0, Array(count).fill(said("x")));
    await store.append("next", 0, [said("y")]);
    const seqs: number[] = [];
    let position = 0;
    for (;;) {
      const page = await store.readAll(position, 10_000);
      if (page.length === 0) break;
      seqs.push(
        ...page.flatMap(({ sessionId, stored }) => (sessionId === "large" ? stored.seq : [])),
      );
      expect(
        page.every((event, at) => at === 0 || event.position > (page[at - 1]?.position ?? 0)),
      ).toBe(true);
      position = page.at(-1)?.position ?? position;
    }
    expect(seqs).toEqual(Array.from({ length: count }, (_, at) => at + 1));
  });

  test("of an append whose connection is lost before the answer, each event is there once", async () => {
    const namespace = newId();
    const database = await postgresDatabase();
    const store = new PostgresEventStore(database, { namespace });
    await store.append("s", 0, [said("one")]);
    const event = said("two");
    let tries = 0;
    const losing = new Proxy(database, {
      get(target, name) {
        if (name !== "repeat") return Reflect.get(target, name).bind?.(target);
        return (work: Parameters<typeof database.repeat>[0]) =>
          database.repeat(async (statements, isAgain) => {
            tries += 1;
            const result = await work(statements, isAgain);
            if (tries > 1) return result;
            throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
          });
      },
    });
    expect(await new PostgresEventStore(losing, { namespace }).append("s", 1, [event])).toBe(2);
    expect(tries).toBe(2);
    expect(await Array.fromAsync(store.read("s", 0), ({ seq }) => seq)).toEqual([1, 2]);
  });

  test("a search finds words that nearly every text has, which its index leaves out", async () => {
    const store = new PostgresEventStore(await postgresDatabase(), { namespace: newId() });
    const texts = ["What is it?", "A heron waits.", "Bees being here", "Herons at the pier"];
    await store.append("s", 0, texts.map(said));
    const found = async (query: string) =>
      (await store.search({ query, limit: 9 })).map(({ content }) => content).sort();
    expect(await found("what is it")).toEqual(["What is it?"]);
    expect(await found("the")).toEqual(["Herons at the pier"]);
    expect(await found("the heron")).toEqual(["A heron waits.", "Herons at the pier"]);
    expect(await found("being")).toEqual(["Bees being here"]);
  });

  test("the index of an earlier version is replaced while others append, and finds what they said", async () => {
    const place = { connectionString: await postgresUrl(), schema: await freshSchema() };
    const stores = () => {
      const opened = postgresStores(place);
      onTestFinished(() => opened.close());
      return opened.events;
    };
    const older = stores();
    await older.append("s", 0, [said("The first pilot came.")]);
    const pool = await postgresPool();
    const inSchema = (sql: string) => sql.replaceAll("rkat.", `"${place.schema}".`);
    const [before = ""] = FOUND_BY_OWN_WORD;
    await pool.query(
      inSchema(`drop index rkat.event_by_rarer_word; ${before};
        delete from rkat.migration where version = (select max(version) from rkat.migration)`),
    );
    let seq = 1;
    let isOver = false;
    const appending = (async () => {
      while (!isOver) seq = await older.append("s", seq, [said(`Pilot ${seq + 1} came.`)]);
    })();
    await expect.poll(() => seq).toBeGreaterThan(5);
    const newer = stores();
    expect(await newer.search({ query: "first", limit: 1 })).toHaveLength(1);
    const upgraded = seq;
    await expect.poll(() => seq).toBeGreaterThan(upgraded + 5);
    isOver = true;
    await appending;
    expect(await newer.search({ query: "pilot", limit: 1000 })).toHaveLength(seq);
    const sql =
      "select indexname as name from pg_indexes where schemaname = $1 and indexdef ~ 'gin'";
    const { rows } = await pool.query(sql, [place.schema]);
    expect(rows).toEqual([{ name: "event_by_rarer_word" }]);
  });

  test("appends that wait at the same time share statements, and each has an answer of its own", async () => {
    const { store, statements } = await countedStore();
    const ids = Array.from({ length: 100 }, (_, session) => `s${session}`);
    await Promise.all(ids.map((id) => store.append(id, 0, [said("one")])));
    const before = statements();
    const answers = await Promise.allSettled([
      ...ids.map((id) => store.append(id, 1, [said("two"), said("three")])),
      store.append("s0", 1, [said("raced")]),
      store.append("s1", 7, [said("stale")]),
      store.append("unknown", 1, [said("no log")]),
      store.append("new", 0, [said("first")]),
    ]);
    expect(answers.map((answer) => (answer.status === "fulfilled" ? answer.value : "no"))).toEqual([
      ...ids.map(() => 3),
      "no",
      "no",
      "no",
      1,
    ]);
    // Three of them ask why an append was refused.
    expect(statements() - before).toBeLessThanOrEqual(3 + 5);
    for (const id of ids) {
      const stored = await Array.fromAsync(store.read(id, 0), ({ seq }) => seq);
      expect(stored).toEqual([1, 2, 3]);
    }
    expect(await store.lastSeq("unknown")).toBe(0);
    const all = await store.readAll(0, 10_000);
    const positions = all.map(({ position }) => position);
    expect(positions).toEqual([...new Set(positions)].sort((one, other) => one - other));
    expect(all).toHaveLength(301);
    expect(
      all.every(
        ({ stored: { seq, event }, turns }) => event.type !== "run_started" || turns === seq,
      ),
    ).toBe(true);
  });

  test("an append that the server cannot take fails alone, also beside others", async () => {
    const { store, database, namespace } = await countedStore();
    const appends = new GroupedAppends(database);
    const append = (sessionId: string, lastSeq: number) =>
      appends.append({ namespace, sessionId, lastSeq, events: [said("one")], held: undefined });
    const beyondIntegers = 2 ** 31;
    const answers = await Promise.allSettled([
      append("a", 0),
      append("b", beyondIntegers),
      append("c", 0),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await store.readAll(0, 10)).toHaveLength(2);
  });

  test("of appends at the same time, the one whose lease another has taken is refused", async () => {
    const { store, database, namespace } = await countedStore();
    const sessions = sqlStore("sessions", namespace, tasksOf(database));
    const [old, next] = [owner("old"), owner("next")];
    for (const key of ["a", "b"]) await sessions.acquire(key, old, 60_000);
    await sessions.release("b", old);
    await sessions.acquire("b", next, 60_000);
    const answers = await Promise.allSettled([
      store.append("a", 0, [said("one")], { key: "a", owner: old }),
      store.append("b", 0, [said("one")], { key: "b", owner: old }),
      store.append("c", 0, [said("one")], { key: "b", owner: next }),
      store.append("d", 0, [said("one")], { key: "none", owner: old }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
  });
});

test.skipIf(!hasPostgres)(
  "a snapshot that a killed process has sent is stored before its session is deleted, or not at all",
  NEEDS_POSTGRES,
  async () => {
    const schema = await freshSchema();
    const database = new PostgresDatabase({ connectionString: await postgresUrl(), schema });
    onTestFinished(() => database.close());
    const sessions = sqlStore("sessions", newId(), tasksOf(database));
    const client = new pg.Client({ connectionString: await postgresUrl() });
    await client.connect();
    onTestFinished(() => client.end());
    const lock = [process.pid, 1];
    const [killed, next] = [owner("killed"), owner("next")];
    await sessions.acquire("session:s", killed, 1);
    // A server that stores the snapshot only when the test lets it.
    await client.query(`create function "${schema}".wait() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(${lock}); return new; end $$`);
    await client.query(`create trigger wait before insert on "${schema}".snapshot
      for each row execute function "${schema}".wait()`);
    await client.query(`select pg_advisory_lock(${lock})`);
    const waiting = async (count: number) => {
      const { rows } = await client.query(
        "select 1 from pg_locks join pg_stat_activity using (pid) where not granted and query ~ $1",
        [schema],
      );
      return rows.length >= count;
    };
    const snapshot = { ...new SessionState("s").snapshot(), seq: 1 };
    const saved = sessions.save(snapshot, { key: "session:s", owner: killed });
    await expect.poll(() => waiting(1)).toBe(true);
    let isDeleted = false;
    const deleted = (async () => {
      while (!(await sessions.acquire("session:s", next, 60_000)));
      await sessions.delete("s");
      isDeleted = true;
    })();
    await expect.poll(async () => isDeleted || (await waiting(2))).toBe(true);
    await client.query(`select pg_advisory_unlock(${lock})`);
    await Promise.all([saved, deleted]);
    expect(await sessions.list({})).toEqual([]);
  },
);

function owner(id: string): LeaseOwner {
  return { id, host: "elsewhere", pid: 1 };
}

/** A store that says how many statements its server has got. */
async function countedStore() {
  const pool = await postgresPool();
  let count = 0;
  const counting: PostgresPool = {
    query: (statement) => {
      count += 1;
      return pool.query(statement as never);
    },
    connect: async () => await pool.connect(),
    end: () => pool.end(),
  };
  const { schema } = await postgresPlace();
  const database = new PostgresDatabase({ pool: counting, schema });
  const namespace = newId();
  const store = new PostgresEventStore(database, { namespace });
  return { store, database, namespace, statements: () => count };
}
