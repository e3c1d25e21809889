import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { NewEvent } from "../src/core/event.ts";
import { newId } from "../src/core/ids.ts";
import { createSessionService, type MemoryForgotten } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import { examinePostgres } from "../src/stores/postgres/examine-postgres.ts";
import type { PostgresPool } from "../src/stores/postgres/postgres-pool.ts";
import { postgresAddress } from "../src/stores/postgres/server-address.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import {
  freshSchema,
  hasPostgres,
  NEEDS_POSTGRES,
  postgresPlace,
  postgresPool,
} from "./support/postgres.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const DAYS = 30;

describe.skipIf(!hasPostgres)("retention on PostgreSQL", NEEDS_POSTGRES, () => {
  test("the hourly clean-up sends no statement about a user who has nothing old", async () => {
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { connectionString, schema } = await postgresPlace();
    const namespace = newId();
    const pool = await postgresPool();
    const about: string[] = [];
    const watched: PostgresPool = {
      query: (statement) => {
        about.push(JSON.stringify(statement.values ?? []));
        return pool.query(statement as never);
      },
      connect: async () => await pool.connect(),
      end: () => pool.end(),
    };
    const stores = postgresStores({ connectionString, schema, namespace });
    const first = createSessionService({ model: scriptedModel([]), stores });
    const { sessionId } = await first.forUser("ada").createSession({});
    await first.forUser("ada").archive({ sessionId });
    const idle = ["bob", "eve", "mallory"];
    for (const user of idle) await first.forUser(user).createSession({});
    await first.close();

    vi.setSystemTime(Date.now() + (DAYS + 1) * DAY_MS);
    const watchedStores = postgresStores({ pool: watched, schema, namespace });
    const server = createSessionService({
      model: scriptedModel([]),
      stores: watchedStores,
      keepDays: { archived: DAYS },
      onBackgroundError: () => {},
    });
    vi.advanceTimersByTime(HOUR_MS);
    const { events } = stores.forUser("ada");
    await vi.waitFor(async () => expect(await events.lastSeq(sessionId)).toBe(0), 30_000);
    await server.close();
    await watchedStores.close();
    await stores.close();
    expect(about.some((values) => values.includes("user ada"))).toBe(true);
    for (const user of idle) {
      expect(about.filter((values) => values.includes(`user ${user}`))).toEqual([]);
    }
  });

  test("a role that may only read and write rows does all, and its receipt says what vacuum would do", async () => {
    const admin = await postgresPool();
    const { connectionString: url } = await postgresPlace();
    const schema = await freshSchema();
    const address = `${url}?schema=${encodeURIComponent(schema)}`;
    const owner = postgresStores({ connectionString: url, schema });
    await owner.events.checkpoint("made");
    onTestFinished(() => owner.close());
    const role = `app_${process.pid}`;
    await admin.query(`create role ${role} login`);
    onTestFinished(async () => {
      await admin.query(`drop owned by ${role}; drop role ${role}`);
    });
    for (const grant of GRANTS) {
      await admin.query(
        grant
          .replaceAll("rkat.", `"${schema}".`)
          .replaceAll("schema rkat", `schema "${schema}"`)
          .replaceAll("to app", `to ${role}`),
      );
    }
    const connectionString = Object.assign(new URL(url), { username: role }).href;
    const asRole = Object.assign(new URL(address), { username: role }).href;
    const stores = postgresStores({ connectionString, schema });
    const service = createSessionService({
      model: scriptedModel(["Noted."]),
      stores,
      compaction: {},
    });
    onTestFinished(() => stores.close());
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "The vault code is 7321-otter." });
    await service.addKnowledge({ content: "Always squash before merging." });
    expect((await service.searchHistory({ query: "vault" })).length).toBeGreaterThan(0);
    const [hit] = await service.searchMemory({ query: "vault code" });
    const receipt = await service.forgetMemory({ ids: [hit?.id ?? ""] });
    expect(receipt.forgotten).toBe(1);
    expect(placesOf(receipt)).toEqual(["write_ahead_log", "dead_rows", "open_requests", "backups"]);
    expect(receipt.notCleaned[1]?.why).toContain("This role may not vacuum");
    await service.delete({ sessionId, now: true });
    await service.close();
    expect(await vacuumIn(asRole)).toMatchObject({ state: "note" });
    expect(await vacuumIn(address)).toMatchObject({ state: "good" });

    const own = createSessionService({ model: scriptedModel([]), stores: owner });
    const { id } = await own.addMemory({ content: "The vault code is 7321-otter." });
    const [, rows] = (await own.forgetMemory({ ids: [id] })).notCleaned;
    expect(rows?.why).toContain("No query shows it");
    await own.close();
  });

  test("what is forgotten and deleted leaves the samples of the server's planner", async () => {
    const admin = await postgresPool();
    const [connectionString, schema] = [
      (await postgresPlace()).connectionString,
      await freshSchema(),
    ];
    const stores = postgresStores({ connectionString, schema });
    const service = createSessionService({ model: scriptedModel([]), stores });
    onTestFinished(() => stores.close());
    const sessions: string[] = [];
    for (const said of ["The vault code is 7321-otter.", "The harbour is closed in winter."]) {
      const { sessionId } = await service.createSession({});
      await service.startTurn({ sessionId, prompt: said });
      await service.addMemory({ content: `${said} Yes.` });
      sessions.push(sessionId);
    }
    const hits = await service.searchMemory({ query: "vault otter" });
    const { rows } = await admin.query("select tablename from pg_tables where schemaname = $1", [
      schema,
    ]);
    for (const { tablename } of rows as Named[])
      await admin.query(`analyze "${schema}"."${tablename}"`);
    const sampled = async () => {
      const found = await admin.query(
        `select tablename from pg_stats where schemaname = $1 and concat(
           most_common_vals::text, histogram_bounds::text, most_common_elems::text) ~ 'otter'`,
        [schema],
      );
      return [...new Set((found.rows as Named[]).map(({ tablename }) => tablename))].sort();
    };
    expect(await sampled()).toEqual(expect.arrayContaining(["event", "memory_entry"]));
    await service.forgetMemory({ ids: hits.map(({ id }) => id) });
    await service.delete({ sessionId: sessions[0] ?? "", now: true });
    await service.close();
    await stores.close();
    expect(await sampled()).toEqual([]);
  });

  test("where a limit of the server ends the vacuum, texts are forgotten and sessions deleted all the same", async () => {
    const own = await postgresPool();
    let cancelled = 0;
    const pool: PostgresPool = {
      query(statement) {
        if (!statement.text.startsWith("vacuum")) return own.query(statement);
        cancelled += 1;
        return Promise.reject(Object.assign(new Error("statement timeout"), { code: "57014" }));
      },
      connect: () => own.connect(),
      end: async () => {},
    };
    const stores = postgresStores({
      pool,
      schema: (await postgresPlace()).schema,
      namespace: newId(),
    });
    const service = createSessionService({ model: scriptedModel([]), stores });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "The vault code is 7321-otter." });
    const { id } = await service.addMemory({ content: "The harbour is closed." });
    const receipt = await service.forgetMemory({ ids: [id] });
    expect(receipt.notCleaned[1]?.why).toContain(
      "The server cancelled the vacuum (statement_timeout)",
    );
    await service.delete({ sessionId, now: true });
    expect(await service.searchMemory({ query: "vault harbour" })).toEqual([]);
    expect(cancelled).toBeGreaterThan(0);
    await service.close();
    await stores.close();
  });

  test("`doctor` reads each event once, and says which transactions it cannot see", async () => {
    const admin = await postgresPool();
    const { connectionString: url } = await postgresPlace();
    const schema = await freshSchema();
    const owner = postgresStores({ connectionString: url, schema });
    onTestFinished(() => owner.close());
    const events = Array.from({ length: 3500 }, (): NewEvent => {
      return {
        event_id: newId(),
        timestamp_ms: 0,
        event: { type: "run_started", session_id: "s", prompt: "Hi." },
      };
    });
    await owner.events.append("s", 0, events);
    const role = `looks_${process.pid}`;
    await admin.query(`create role ${role} login; grant usage on schema "${schema}" to ${role};
      grant select on all tables in schema "${schema}" to ${role}`);
    onTestFinished(async () => {
      await admin.query(`drop owned by ${role}; drop role ${role}`);
    });
    await admin.query(`analyze "${schema}".event`);
    const readRows = async () => {
      const { rows } = await admin.query(
        `select seq_tup_read + idx_tup_fetch as read from pg_stat_user_tables
         where schemaname = $1 and relname = 'event'`,
        [schema],
      );
      return Number((rows[0] as { readonly read: string }).read);
    };
    const before = await readRows();
    const writer = await admin.connect();
    await writer.query("begin; select pg_current_xact_id()");
    const address = Object.assign(new URL(`${url}?schema=${encodeURIComponent(schema)}`), {
      username: role,
    });
    try {
      const findings = await examinePostgres(postgresAddress(address.href), "memory-of-all");
      const found = (name: string) => findings.find((finding) => finding.name === name);
      expect(found("transactions")?.detail).toContain("of other roles are writing");
      expect(Number.parseInt(found("connections")?.detail ?? "", 10)).toBeGreaterThan(1);
      expect(findings.filter(({ state }) => state === "wrong")).toEqual([]);
    } finally {
      await writer.query("rollback");
      writer.release();
    }
    await expect.poll(readRows).toBeGreaterThanOrEqual(before + events.length);
    expect(await readRows()).toBeLessThan(before + 2 * events.length);
  });

  test("a receipt names replicas, as far as the server knows them", async () => {
    const admin = await postgresPool();
    const stores = postgresStores({ ...(await postgresPlace()), namespace: newId() });
    onTestFinished(() => stores.close());
    await stores.events.checkpoint("made");
    const slot = `rkat_test_${process.pid}`;
    await admin.query("select pg_create_physical_replication_slot($1)", [slot]);
    try {
      const places = (await stores.notCleaned?.())?.map(({ place }) => place);
      expect(places).toEqual(["write_ahead_log", "replicas", "dead_rows"]);
    } finally {
      await admin.query("select pg_drop_replication_slot($1)", [slot]);
    }
  });
});

interface Named {
  readonly tablename: string;
}

/** As docs/postgres.md has them. */
const GRANTS = [
  "grant usage on schema rkat to app",
  "grant select, insert, update, delete on all tables in schema rkat to app",
  "alter default privileges in schema rkat grant select, insert, update, delete on tables to app",
];

function placesOf({ notCleaned }: MemoryForgotten): readonly string[] {
  return notCleaned.map(({ place }) => place);
}

async function vacuumIn(address: string) {
  const findings = await examinePostgres(postgresAddress(address), "memory-of-all");
  return findings.find(({ name }) => name === "vacuum");
}
