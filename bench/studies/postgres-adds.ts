import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
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
 *     node bench/studies/postgres-adds.ts --postgres postgres://… [--parts adds,wal,turns] [--seconds 5]
 *
 * adds    1, 8 and 32 writers in up to four processes, each adding one entry after the other; beside them, in
 *         turns, the same writers insert the same texts into a table with a generated `tsvector` and a GIN index
 * wal     bytes of write-ahead log of an add, and of a turn beyond its text, after a checkpoint and a warm run;
 *         and of the same work done after that in the background
 * turns   processor time of a turn, of the processes and the server together, with 1 and 8 processes
 *
 * It drops and makes the schemas `rkat_bench` and `rkat_plain`. Processor time of the server is known when it
 * runs on this machine.
 */
const { values } = parseArgs({
  options: {
    postgres: { type: "string" },
    parts: { type: "string", default: "adds,wal,turns" },
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
const WARM_TURNS = 200;
const windowMs = 1000 * Number(values.seconds);
const ENTRIES = [...madeUpBatches(0, 4000, 4000)].flat();
const TEXTS = [...madeUpBatches(0, 6000, 3)]
  .map((batch) => batch.map(({ content }) => content).join(" "))
  .filter((text) => text.length >= 400)
  .map((text) => text.slice(0, 400));

interface Task {
  readonly kind: "rkat" | "plain" | "turns";
  readonly name: string;
  readonly count: number;
}

interface Done {
  readonly count: number;
  readonly cpuMs: number;
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
if (parts.includes("turns")) await measureTurns();
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

/** Divides a task among processes, and adds up what they did. */
async function divided(children: readonly ChildProcess[], task: Task): Promise<Done> {
  const used = children.slice(0, task.count);
  const each = task.count / used.length;
  const told = used.map((child) => {
    child.send({ ...task, count: each });
    return once(child, "message") as Promise<[Done]>;
  });
  const all = (await Promise.all(told)).map(([done]) => done);
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    cpuMs: all.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  };
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
        rates[kind].push((1000 * done.count) / windowMs);
        if (kind === "rkat") waits.push(await firstSearch(name, done.count));
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

async function measureTurns(): Promise<void> {
  const costs: number[] = [];
  for (const count of [1, 8]) {
    const children = await started(count);
    const name = `turns of ${count}`;
    // All are warm before one is measured.
    await divided(children, { kind: "turns", name, count: SESSIONS });
    const before = await serverCpuMs();
    const done = await divided(children, { kind: "turns", name, count: SESSIONS });
    const serverMs = (await serverCpuMs()) - before;
    const each = (done.cpuMs + serverMs) / done.count;
    costs.push(each);
    console.log(
      `${count} processes: ${((1000 * done.count) / windowMs).toFixed(0)} turns a second, processor time ${(done.cpuMs / done.count).toFixed(2)} + ${(serverMs / done.count).toFixed(2)} ms a turn`,
    );
    for (const child of children) child.disconnect();
    await Promise.all(children.map((child) => once(child, "exit")));
  }
  console.log(`  ${((costs[1] ?? 0) / (costs[0] ?? 1)).toFixed(2)} x with 8 processes`);
}

/** Processor time of all processes of the server, or NaN when it is on another machine. */
async function serverCpuMs(): Promise<number> {
  const { rows } = await admin.query("select pg_backend_pid() as pid");
  const server = statOf((rows[0] as { readonly pid: number }).pid)?.parent;
  if (server === undefined) return Number.NaN;
  const children = globSync("/proc/[0-9]*").map((path) => statOf(Number(path.slice(6))));
  // Linux counts in hundredths of a second.
  const ticks = children
    .filter((one) => one?.parent === server)
    .reduce((sum, one) => sum + (one?.ticks ?? 0), statOf(server)?.ticksOfEnded ?? 0);
  return 10 * ticks;
}

function statOf(pid: number) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program is in parentheses, and may have spaces.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [
      1, 11, 12, 13, 14,
    ].map((at) => Number(fields[at]));
    return { parent, ticks: user + system, ticksOfEnded: endedUser + endedSystem };
  } catch {
    return undefined;
  }
}

/** In a process of its own: does tasks of the study. */
async function obey(): Promise<void> {
  const database = new PostgresDatabase({ connectionString, schema });
  const pool = new pg.Pool({ connectionString, max: 10 });
  process.send?.({ count: 0, cpuMs: 0 });
  const talks = new Map<string, Promise<Talks>>();
  process.on("message", async (task: Task) => {
    if (task.kind === "turns") {
      const made = talks.get(task.name) ?? converse(task);
      talks.set(task.name, made);
      process.send?.(await (await made).measured());
      return;
    }
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
    const cpu = process.cpuUsage();
    let count = 0;
    const write = async (writer: number) => {
      for (let at = 97 * writer; performance.now() < endsAt; at += 1, count += 1) {
        await add(at, writer);
      }
    };
    await Promise.all(Array.from({ length: task.count }, (_, writer) => write(writer)));
    const { user, system } = process.cpuUsage(cpu);
    process.send?.({ count, cpuMs: (user + system) / 1000 });
  });
  await once(process, "disconnect");
}

interface Talks {
  measured(): Promise<Done>;
}

/** Turns in so many sessions, which go on until the process ends. */
async function converse({ name, count: sessions }: Task): Promise<Talks> {
  const stores = postgresStores({ connectionString, schema, namespace: name });
  const service = createSessionService({ model: scriptedModel(() => TEXTS[0] ?? ""), stores });
  const made = await Promise.all(Array.from({ length: sessions }, () => service.createSession({})));
  let turns = 0;
  for (const { sessionId } of made) {
    void (async () => {
      for (let at = 0; ; at += 1) {
        const prompt = TEXTS[at % TEXTS.length]?.slice(0, 90) ?? "";
        await service.startTurn({ sessionId, prompt });
        turns += 1;
      }
    })();
  }
  while (turns < WARM_TURNS) await sleep(20);
  return {
    async measured() {
      const before = { turns, cpu: process.cpuUsage() };
      await sleep(windowMs);
      const { user, system } = process.cpuUsage(before.cpu);
      return { count: turns - before.turns, cpuMs: (user + system) / 1000 };
    },
  };
}
