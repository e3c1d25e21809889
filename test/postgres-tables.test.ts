import { describe, expect, test } from "vitest";
import { newId } from "../src/core/ids.ts";
import type { NewKnowledge } from "../src/core/knowledge.ts";
import { SessionState } from "../src/core/session-state.ts";
import { createSessionService } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import type { PostgresPool } from "../src/stores/postgres/postgres-pool.ts";
import { tasksOf } from "../src/stores/postgres/postgres-tables.ts";
import { sqlStores } from "../src/stores/sql/sql-stores.ts";
import { scriptedModel } from "../src/testing.ts";
import { hasPostgres, NEEDS_POSTGRES, postgresPlace, postgresPool } from "./support/postgres.ts";

const LIMITS = {
  max: { fact: 2, correction: 2, preference: 2, rule: 2 },
  eviction: "spare_used",
} as const;
const OWNER = { id: "a", host: "elsewhere", pid: 1 };
const APPROVAL = {
  approvalId: "a1",
  sessionId: "s",
  toolUseId: "t",
  tool: "write_file",
  args: {},
  goal: "",
  requestedAt: "2026-01-01T00:00:00Z",
};

/** Statements of a transaction beside its own: it begins and ends, and changes of knowledge lock first. */
const FRAME = 2;
const LOCK = 1;

describe.skipIf(!hasPostgres)("the plain tables on PostgreSQL", NEEDS_POSTGRES, () => {
  test("snapshots, leases, approvals and what was forgotten take one round trip each", async () => {
    const { sessions, approvals, forgotten, imports, trips } = await countedStores();
    const snapshot = new SessionState("s").snapshot();
    expect(await trips(() => sessions.save(snapshot))).toBe(1);
    expect(await trips(() => sessions.load("s"))).toBe(1);
    const source = { agent: "codex", own: true };
    expect(await trips(() => sessions.list({ source, labels: { a: "b" }, limit: 5 }))).toBe(1);
    expect(await trips(() => sessions.acquire("k", OWNER, 60_000))).toBe(1);
    expect(await trips(async () => await sessions.renew?.("k", OWNER, 60_000))).toBe(1);
    expect(await trips(() => sessions.askToStop("k"))).toBe(1);
    expect(await trips(() => sessions.askedToStop(OWNER))).toBe(1);
    expect(await trips(async () => await sessions.leases?.(5))).toBe(1);
    expect(await trips(() => approvals.add([APPROVAL, { ...APPROVAL, approvalId: "a2" }]))).toBe(1);
    expect(await trips(() => approvals.answer("a1", "s", { decision: "allow" }))).toBe(1);
    expect(await trips(() => forgotten.has("s", ["a text"]))).toBe(1);
    expect(await trips(() => imports.known(["one", "two"]))).toBe(1);
  });

  test("a turn sends nothing that the server plans again", async () => {
    const pool = await postgresPool();
    const planned: string[] = [];
    const noting: PostgresPool = {
      query(statement) {
        if (statement.name === undefined) planned.push(statement.text);
        return pool.query(statement as never);
      },
      connect: () => pool.connect(),
      end: () => pool.end(),
    };
    const { schema } = await postgresPlace();
    const stores = postgresStores({ pool: noting, schema, namespace: newId() });
    const model = scriptedModel(() => "An answer.");
    const service = createSessionService({ model, stores, memory: false, knowledge: false });
    const { sessionId } = await service.createSession({});
    planned.length = 0;
    for (const prompt of ["One.", "Two."]) await service.startTurn({ sessionId, prompt });
    // Four times a second, for all turns, this process asks whether it is to stop one.
    expect(planned.filter((text) => !text.includes("stop = true"))).toEqual([]);
    await service.close();
    await stores.close();
  });

  test("a change of knowledge reads what it may need, and saves it, in a few round trips", async () => {
    const { knowledge, trips } = await countedStores();
    const record = (from: number, entries: readonly NewKnowledge[]) =>
      trips(() => knowledge.record({ from, to: from + 1, entries, limits: LIMITS }));
    // Only the position.
    expect(await record(0, [])).toBe(FRAME + LOCK + 1);
    // A batch that another process was faster with.
    expect(await record(0, [fact(1)])).toBe(FRAME + LOCK);
    // Reads rows, hashes and counts. Saves the row, then its hashes.
    expect(await record(1, [fact(1)])).toBeLessThanOrEqual(FRAME + LOCK + 5);
    // Two more, of which one has to go for them.
    const evicting = await record(2, [fact(2), fact(3)]);
    expect(evicting).toBeLessThanOrEqual(FRAME + LOCK + 6);
    expect((await knowledge.list({ limit: 10 })).map(({ id }) => id)).toEqual(["f3", "f2"]);
    const told = await knowledge.unheard(10);
    expect(told.gone).toEqual(["f1"]);
    expect(await trips(() => knowledge.heard(told))).toBe(FRAME + LOCK + 1);
    expect(await trips(() => knowledge.markUsed(["f2", "f3"], "2026-01-02"))).toBe(
      FRAME + LOCK + 3,
    );
    expect(await trips(() => knowledge.list({ limit: 10 }))).toBe(1);
  });
});

function fact(number: number): NewKnowledge {
  const time = "2026-01-01T00:00:00Z";
  return {
    id: `f${number}`,
    kind: "fact",
    content: `Fact ${number}.`,
    tags: [],
    origin: "tool",
    time,
    keys: [`key ${number}`],
    likeness: { bands: [`band ${number}`], signature: [number] },
  };
}

async function countedStores() {
  const pool = await postgresPool();
  let count = 0;
  const counted = (query: PostgresPool["query"]): PostgresPool["query"] => {
    return (statement) => {
      count += 1;
      return query(statement);
    };
  };
  const counting: PostgresPool = {
    query: counted((statement) => pool.query(statement as never)),
    async connect() {
      const client = await pool.connect();
      return {
        query: counted((statement) => client.query(statement as never)),
        release: (error) => client.release(error),
      };
    },
    end: () => pool.end(),
  };
  const { schema } = await postgresPlace();
  const database = new PostgresDatabase({ pool: counting, schema });
  const stores = sqlStores(newId(), tasksOf(database));
  // Looks whether the tables are there.
  await stores.sessions.load("s");
  return {
    ...stores,
    async trips(work: () => Promise<unknown>): Promise<number> {
      const before = count;
      await work();
      return count - before;
    },
  };
}
