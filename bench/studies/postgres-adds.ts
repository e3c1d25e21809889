import { once } from "node:events";
import { parseArgs } from "node:util";
import pg from "pg";
import { createSessionService } from "../../src/index.ts";
import { postgresStores } from "../../src/postgres.ts";
import { PostgresDatabase } from "../../src/stores/postgres/postgres-database.ts";
import { PostgresMemoryStore } from "../../src/stores/postgres/postgres-memory-store.ts";
import { scriptedModel } from "../../src/testing.ts";
import { type ChildProcess, fork } from "../../test/support/start-process.ts";
import { madeUpBatches } from "../data/entries.ts";
import { median, timed } from "../measuring.ts";

/**
 * Single adds to one namespace of a memory on PostgreSQL, and turns, with what they write and what they cost.
 *
 *     node bench/studies/postgres-adds.ts --postgres postgres://… [--parts adds,wal] [--seconds 5]
 *
 * adds    1, 8 and 32 writers in up to four processes, each adding one entry after the other; beside them, in
 *         turns, the same writers insert the same texts into a table with a generated `tsvector` and a GIN index
 * wal     bytes of write-ahead log of an add, and of a turn beyond its text, after a checkpoint and a warm run;
 *         and of the same work done after that in the background
 *
 * `postgres-turns.ts` measures the processor time of turns. It drops and makes the schemas `rkat_bench` and `rkat_plain`.
 */
const { values } = parseArgs({
  options: {
    postgres: { type: "string" },
    parts: { type: "string", default: "adds,wal" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    writers: { type: "string", default: "1,8,32" },
    /** Used by the study itself: a process that it has started. */
    child: { type: "string" },
  },
});
const connectionString = values.postgres ?? process.env.RKAT_TEST_POSTGRES ?? "";
if (connectionString === "") throw new Error("Name a database: --postgres postgres://…");
const schema = "rkat_bench";
const PLAIN = "insert into rkat_plain.entry (id, session, content) values ($1, $2, $3)";
const PROCESSES = 4;
const SESSIONS = 16;
const windowMs = 1000 * Number(values.seconds);
const ENTRIES = [...madeUpBatches(0, 4000, 4000)].flat();
const TEXTS = [...madeUpBatches(0, 6000, 3)]
  .map((batch) => batch.map(({ content }) => content).join(" "))
  .filter((text) => text.length >= 400)
  .map((text) => text.slice(0, 400));

interface Task {
  readonly kind: "rkat" | "plain";
  readonly name: string;
  readonly count: number;
}

if (values.child !== undefined) {
  await obey();
  process.exit();
}

const admin = new pg.Client({ connectionString });
await admin.connect();
await dropSchemas();
await admin.query(`create schema rkat_plain;
  create table rkat_plain.entry (id text primary key, session text, content text not null,
    words tsvector generated always as (to_tsvector('english', content)) stored);
  create index on rkat_plain.entry using gin (words)`);
const parts = values.parts.split(",");
if (parts.includes("adds")) await measureAdds();
if (parts.includes("wal")) await measureWal();
await dropSchemas();
await admin.end();

async function dropSchemas(): Promise<void> {
  await admin.query(
    "drop schema if exists rkat_bench cascade; drop schema if exists rkat_plain cascade",
  );
}

/** Processes that do what they are told, until they are stopped. */
async function started(count: number): Promise<readonly ChildProcess[]> {
  const args = ["--postgres", connectionString, "--seconds", values.seconds, "--child", "yes"];
  const children = Array.from({ length: count }, () => fork(import.meta.filename, args));
  await Promise.all(children.map((child) => once(child, "message")));
  return children;
}

/** Divides a task among processes, and returns how often it was done. */
async function divided(children: readonly ChildProcess[], task: Task): Promise<number> {
  const used = children.slice(0, task.count);
  const told = used.map((child) => {
    child.send({ ...task, count: task.count / used.length });
    return once(child, "message") as Promise<[number]>;
  });
  return (await Promise.all(told)).reduce((sum, [count]) => sum + count, 0);
}

async function measureAdds(): Promise<void> {
  const children = await started(PROCESSES);
  await divided(children, { kind: "rkat", name: "warm", count: PROCESSES });
  await divided(children, { kind: "plain", name: "warm", count: PROCESSES });
  for (const count of values.writers.split(",").map(Number)) {
    const rates = { rkat: [] as number[], plain: [] as number[] };
    const waits: number[] = [];
    for (let round = 0; round < Number(values.rounds); round += 1) {
      for (const kind of ["rkat", "plain"] as const) {
        const name = `${kind} ${count} ${round}`;
        const done = await divided(children, { kind, name, count });
        rates[kind].push((1000 * done) / windowMs);
        if (kind === "rkat") waits.push(await firstSearch(name, done));
      }
    }
    const [rkat, plain] = [median(rates.rkat), median(rates.plain)];
    console.log(
      `${count} writers: ${rkat.toFixed(0)} adds a second, ${plain.toFixed(0)} plain inserts: ${(rkat / plain).toFixed(2)} x; the first search after them took ${median(waits).toFixed(0)} ms`,
    );
  }
  for (const child of children) child.disconnect();
}

/** Milliseconds of a search in a new process that has to find everything, also what waits. */
async function firstSearch(namespace: string, count: number): Promise<number> {
  const stores = postgresStores({ connectionString, schema, namespace });
  const ms = await timed(() => stores.memory.search({ query: "harbour", limit: 1 }));
  const { entries } = await stores.memory.stats();
  if (entries < count) throw new Error(`Of ${count} entries, ${entries} are there.`);
  await stores.close();
  return ms;
}

async function measureWal(): Promise<void> {
  const stores = postgresStores({ connectionString, schema, namespace: "wal" });
  const batch = ENTRIES.slice(0, 2000);
  for (const entry of batch.slice(0, 500)) await stores.memory.add([entry]);
  await settled(stores);
  await admin.query("checkpoint");
  for (const entry of batch.slice(500, 1500)) await stores.memory.add([entry]);
  await settled(stores);
  const measured = batch.slice(1500);
  const bytes = measured.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  const before = await walSoFar();
  for (const entry of measured) await stores.memory.add([entry]);
  const added = await walSoFar();
  await settled(stores);
  const all = await walSoFar();
  const each = (from: number, to: number) => Math.round((to - from) / measured.length);
  console.log(
    `an add of ${Math.round(bytes / measured.length)} bytes: ${each(before, added)} bytes of write-ahead log, ${each(added, all)} in the background: ${((all - before) / bytes).toFixed(1)} x its text`,
  );
  await stores.close();
  await admin.query("truncate rkat_plain.entry");
  const plain = async (some: typeof batch) => {
    for (const { id, sessionId, content } of some)
      await admin.query(PLAIN, [id, sessionId, content]);
  };
  await plain(batch.slice(0, 1500));
  const start = await walSoFar();
  await plain(measured);
  console.log(`a plain insert: ${(((await walSoFar()) - start) / bytes).toFixed(1)} x its text`);
  await measureWalOfTurns();
}

async function measureWalOfTurns(): Promise<void> {
  const stores = postgresStores({ connectionString, schema, namespace: "wal of turns" });
  const model = scriptedModel(() => TEXTS[0] ?? "");
  const service = createSessionService({ model, stores });
  const made = await Promise.all(Array.from({ length: SESSIONS }, () => service.createSession({})));
  const turns = async (from: number, to: number) => {
    await Promise.all(
      made.map(async ({ sessionId }) => {
        for (let at = from; at < to; at += 1) {
          await service.startTurn({ sessionId, prompt: TEXTS[at]?.slice(0, 90) ?? "" });
        }
      }),
    );
    await service.searchMemory({ query: "harbour" });
    await settled(stores);
  };
  await turns(0, 20);
  await admin.query("checkpoint");
  await turns(20, 60);
  const before = await walSoFar();
  await turns(60, 90);
  const all = (await walSoFar()) - before;
  const count = 30 * SESSIONS;
  console.log(
    `a turn of 490 bytes: ${Math.round(all / count - 490)} bytes of write-ahead log beyond its text`,
  );
  await service.close();
  await stores.close();
}

/** Waits until nothing is left to do in the background. */
async function settled(stores: ReturnType<typeof postgresStores>): Promise<void> {
  await stores.memory.search({ query: "harbour", limit: 1 });
  await stores.memory.finishMerging();
}

async function walSoFar(): Promise<number> {
  const { rows } = await admin.query(
    "select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes",
  );
  return (rows[0] as { readonly bytes: number }).bytes;
}

/** In a process of its own: does tasks of the study. */
async function obey(): Promise<void> {
  const database = new PostgresDatabase({ connectionString, schema });
  const pool = new pg.Pool({ connectionString, max: 10 });
  process.send?.(0);
  process.on("message", async (task: Task) => {
    const memory = new PostgresMemoryStore(database, { namespace: task.name });
    const add = (number: number, writer: number) => {
      const entry = ENTRIES[number % ENTRIES.length];
      if (!entry) throw new Error("There are no entries.");
      const id = `${process.pid} ${writer} ${number}`;
      const { sessionId, content } = entry;
      return task.kind === "plain"
        ? pool.query(PLAIN, [`${task.name} ${id}`, sessionId, content])
        : memory.add([{ ...entry, id }]);
    };
    await add(0, -1);
    const endsAt = performance.now() + windowMs;
    let count = 0;
    const write = async (writer: number) => {
      for (let at = 97 * writer; performance.now() < endsAt; at += 1, count += 1) {
        await add(at, writer);
      }
    };
    await Promise.all(Array.from({ length: task.count }, (_, writer) => write(writer)));
    process.send?.(count);
  });
  await once(process, "disconnect");
}
