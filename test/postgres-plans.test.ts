import { describe, expect, test } from "vitest";
import type { SessionService } from "../src/index.ts";
import { askedBy } from "./support/asked-by.ts";
import { crowdedStore } from "./support/crowded-store.ts";
import type { PlanNode } from "./support/explained-pool.ts";
import { planComplaints } from "./support/plan-complaints.ts";
import { hasPostgres, NEEDS_POSTGRES } from "./support/postgres.ts";
import { LONG } from "./support/trials.ts";

/** Many with a little, some with more, and the one who asks. */
const KINDS = [
  { name: "many", copies: LONG ? 700 : 450, turns: 12, entries: 0 },
  { name: "some", copies: 24, turns: 12, entries: 2000 },
  { name: "asker", copies: 0, turns: 40, entries: 2500 },
];
/** A table with as many rows grows with users and what they say. */
const BIG = 400;

describe.skipIf(!hasPostgres)("the server's plans", NEEDS_POSTGRES, () => {
  // Takes over two seconds: it makes a store of hundreds of users.
  test("of all that a turn, a search, an add and a list ask, none reads a whole table or expects far other rows", async () => {
    const { schema, connectionString, pool, texts } = await crowdedStore(KINDS);
    const { rows } = await pool.query(
      `select relname as name from pg_class c join pg_namespace n on n.oid = relnamespace
       where nspname = $1 and relkind = 'r' and reltuples >= $2`,
      [schema, BIG],
    );
    const big = new Set((rows as { readonly name: string }[]).map(({ name }) => name));
    expect([...big]).toEqual(expect.arrayContaining(GROWING));
    const text = (number: number) => texts[number % texts.length] as string;
    const asked = (work: Work) =>
      askedBy({ connectionString, schema }, (service) => work(service, text));
    const explained = [...(await asked(everything)), ...(await asked(laterProcess))];
    expect(new Set(explained.map(({ text }) => text)).size).toBeGreaterThan(40);
    const complaints = explained.flatMap((one) => planComplaints(one, big));
    expect(complaints).toEqual([]);

    // The same with fewer indexes, so that it is known to see something.
    await pool.query(`drop index "${schema}".event_by_rarer_word`);
    const words = await asked((service, text) => service.searchHistory({ query: text(0) }));
    expect(words.flatMap((one) => planComplaints(one, big)).join()).toContain("reads all of event");
    for (const key of ["pkey", "namespace_slot_key", "namespace_id_key"]) {
      await pool.query(`alter table "${schema}".memory_entry drop constraint memory_entry_${key}`);
    }
    const found = await asked((service) => service.listMemory({}));
    expect(found.flatMap((one) => planComplaints(one, big)).join()).toContain(
      "reads all of memory_entry",
    );
  }, 120_000);
});

test("an estimate that is far off, and rows that are read for nothing, are named", () => {
  const node = (type: string, expected: number, found: number, more: object = {}): PlanNode => ({
    "Node Type": type,
    "Plan Rows": expected,
    "Actual Rows": found,
    "Actual Loops": 1,
    ...more,
  });
  const complaints = (plan: PlanNode) =>
    planComplaints({ text: "select 1", plans: [plan] }, new Set(["event"]));
  const scan = { "Index Name": "event_pkey" };
  expect(complaints(node("Index Scan", 1, 150, scan))).toEqual([]);
  expect(complaints(node("Index Scan", 1, 300, scan))).toEqual([
    "Index Scan of event_pkey expects 1 rows, not 300: select 1",
  ]);
  expect(complaints(node("Index Scan", 300, 1, scan))).toHaveLength(1);
  expect(complaints(node("Limit", 1, 1, { Plans: [node("Index Scan", 300, 1, scan)] }))).toEqual(
    [],
  );
  expect(complaints(node("Index Scan", 5, 5, { "Rows Removed by Filter": 900 }))).toHaveLength(1);
  expect(complaints(node("Seq Scan", 5, 5, { "Relation Name": "event" }))).toHaveLength(1);
  expect(complaints(node("Seq Scan", 5, 5, { "Relation Name": "migration" }))).toEqual([]);
});

/** The tables that grow with users and with what they say. */
const GROWING = [
  "approval",
  "event",
  "knowledge_entry",
  "knowledge_key",
  "knowledge_state",
  "log",
  "memory_column_block",
  "memory_entry",
  "memory_free_run",
  "memory_label",
  "memory_namespace",
  "memory_segment",
  "memory_session",
  "memory_word_block",
  "projection_checkpoint",
  "snapshot",
];

type Work = (service: SessionService, text: (number: number) => string) => Promise<unknown>;

const everything: Work = async (service, text) => {
  const { sessionId } = await service.createSession({ labels: { team: "web" } });
  await service.startTurn({ sessionId, prompt: "Remember that the boat is in Hamburg." });
  await service.startTurn({ sessionId, prompt: `Where is the boat? ${text(3)}` });
  for (const number of [5, 25, 125]) {
    await service.searchMemory({ query: text(number) });
    await service.searchHistory({ query: text(number) });
  }
  await service.searchMemory({ query: "the boat in Hamburg", sessionId });
  await service.searchHistory({ query: "the boat in Hamburg", sessionId });
  const { id } = await service.addMemory({ content: "The pilot boards at the outer buoy." });
  await service.searchMemory({ query: "where does the pilot board" });
  await service.editMemory({ id, content: "The pilot boards at the inner buoy." });
  await service.listMemory({});
  await service.listMemory({ sessionId });
  await service.memoryStats({});
  await service.list({});
  await service.list({ labels: { team: "web" } });
  await service.read({ sessionId });
  await service.readLog({ sessionId });
  await service.listKnowledge({});
  await service.listApprovals({});
  await service.forgetMemory({ ids: [id] });
  await service.archive({ sessionId });
};

const laterProcess: Work = async (service, text) => {
  const [session] = await service.list({ limit: 1 });
  await service.searchMemory({ query: text(7) });
  if (session) await service.startTurn({ sessionId: session.sessionId, prompt: text(9) });
};
