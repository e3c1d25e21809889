import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { SessionService } from "../src/index.ts";
import { createSessionService } from "../src/index.ts";
import { type PostgresStores, postgresStores } from "../src/postgres.ts";
import { scriptedModel } from "../src/testing.ts";
import { dumpedSchema, NEEDS_POSTGRES, startCluster } from "./support/postgres.ts";

interface Opened {
  readonly service: SessionService;
  readonly stores: PostgresStores;
  close(): Promise<void>;
}

const SETTINGS = ["fsync=off", "full_page_writes=off", "wal_level=logical"];

function openAt(connectionString: string): Opened {
  const stores = postgresStores({ connectionString });
  const service = createSessionService({ model: scriptedModel(() => "So it is."), stores });
  const close = async () => {
    await service.close();
    await stores.close();
  };
  onTestFinished(close);
  return { service, stores, close };
}

async function asks(url: string) {
  const client = new pg.Client({ connectionString: url });
  // Its server is stopped before it.
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  return async (sql: string) =>
    (await client.query(sql)).rows as readonly Record<string, unknown>[];
}

/** Sessions, entries that were added one by one, and a text that was forgotten. */
async function live({ service }: Opened, name: string) {
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: `The ${name} waits at the outer buoy.` });
  await service.addMemory({ content: `The ${name} boards in the morning.` });
  const { id } = await service.addMemory({ content: `The ${name} owns a zeppelin.` });
  await service.searchMemory({ query: name });
  const { notCleaned } = await service.forgetMemory({ ids: [id] });
  return { sessionId, places: notCleaned.map(({ place }) => place) };
}

/** What was stored before is there, and everything goes on. */
async function expectGoesOn({ service, stores }: Opened, lived: readonly string[]) {
  const before = await stores.events.readAll(0, 10_000);
  expect(new Set(before.map(({ sessionId }) => sessionId))).toEqual(new Set(lived));
  const [sessionId = ""] = lived;
  const end = await stores.events.lastSeq(sessionId);
  await service.startTurn({ sessionId, prompt: "Does the ferry wait there too?" });
  const { sessionId: later } = await service.createSession({});
  await service.startTurn({ sessionId: later, prompt: "The tug waits in the lock." });
  await service.addMemory({ content: "The tug boards at night." });
  const after = await stores.events.readAll(before.at(-1)?.position ?? 0, 10_000);
  expect(after.filter((event) => event.sessionId === sessionId)[0]?.stored.seq).toBe(end + 1);
  expect(after.map(({ sessionId }) => sessionId)).toEqual(expect.arrayContaining([later]));
  const found = async (query: string) =>
    (await service.searchMemory({ query })).map(({ content }) => content);
  expect(await found("pilot boards morning")).toContain("The pilot boards in the morning.");
  expect(await found("tug boards night")).toContain("The tug boards at night.");
  expect(await found("tug waits lock")).toContain("The tug waits in the lock.");
  expect(await found("zeppelin")).not.toContain("The pilot owns a zeppelin.");
  expect((await stores.memory.verify?.())?.problems ?? []).toEqual([]);
}

// Each takes over two seconds: it starts two servers.
describe.skipIf(process.env.RKAT_TEST_POSTGRES !== undefined)(
  "a server that follows another",
  NEEDS_POSTGRES,
  () => {
    test("is used after logical replication, and goes on with all that was stored", async () => {
      const [from, to] = await Promise.all([startCluster(SETTINGS), startCluster()]);
      const [old, next] = [await asks(from.url), await asks(to.url)];
      const first = openAt(from.url);
      const pilot = await live(first, "pilot");
      expect(pilot.places).not.toContain("replicas");

      await next(dumpedSchema(from.url, "rkat"));
      await old("create publication rkat for tables in schema rkat");
      await next(`create subscription rkat connection '${from.url}' publication rkat`);
      const copied = "select from pg_subscription_rel where srsubstate <> 'r'";
      await expect.poll(() => next(copied)).toEqual([]);
      const ferry = await live(first, "ferry");
      expect(ferry.places).toContain("replicas");
      await first.close();

      const [end] = await old("select pg_current_wal_insert_lsn() as lsn");
      const followed = `select from pg_stat_replication where replay_lsn >= '${end?.lsn}'`;
      await expect.poll(() => old(followed)).toHaveLength(1);
      await next("drop subscription rkat");
      const rows = await next(
        "select from rkat.memory_entry where content like '%zeppelin%' limit 1",
      );
      expect(rows).toEqual([]);
      await expectGoesOn(openAt(to.url), [pilot.sessionId, ferry.sessionId]);
    });

    test("is promoted, and goes on with all that was stored", async () => {
      const from = await startCluster();
      const first = openAt(from.url);
      const pilot = await live(first, "pilot");
      const standby = await startCluster(undefined, from.url);
      const [old, next] = [await asks(from.url), await asks(standby.url)];
      const ferry = await live(first, "ferry");
      expect(ferry.places).toContain("replicas");
      await first.close();
      const [end] = await old("select pg_current_wal_insert_lsn() as lsn");
      const followed = `select from pg_stat_replication where replay_lsn >= '${end?.lsn}'`;
      await expect.poll(() => old(followed)).toHaveLength(1);

      from.keeper.stdin?.end();
      await next("select pg_promote()");
      await expectGoesOn(openAt(standby.url), [pilot.sessionId, ferry.sessionId]);
    });
  },
);
