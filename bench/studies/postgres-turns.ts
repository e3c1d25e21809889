import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { createSessionService } from "rkat";
import { type PostgresPool, postgresStores } from "rkat/postgres";
import { scriptedModel } from "rkat/testing";
import { execFileSync, fork } from "../../test/support/start-process.ts";
import { madeUpBatches } from "../data/entries.ts";
import { median, timed } from "../measuring.ts";

/**
 * What the log costs on PostgreSQL, besides the server's own work.
 *
 *     npm run build && node bench/studies/postgres-turns.ts --postgres postgres://… [--pgbench PATH] [--parts appends]
 *
 * appends    one event of 400 characters at a time, by so many writers, each in its own session; pgbench inserts
 *            as much text into a bare table with the same primary key
 * processes  turns of as many sessions, divided among 1, 2, 4 and 8 processes, without and with memory. Each process has
 *            run 300 turns before. The server's processor time is known when the server runs on this machine,
 *            and the number of statements when it has pg_stat_statements
 * a turn     round trips as the pool sees them, and time, against as many bare inserts of the same text
 *
 * It drops and makes the schemas `rkat_bench` and `rkat_plain`.
 */
const { values } = parseArgs({
  options: {
    postgres: { type: "string" },
    pgbench: { type: "string", default: "/usr/lib/postgresql/15/bin/pgbench" },
    writers: { type: "string", default: "16" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "5" },
    turns: { type: "string", default: "100" },
    parts: { type: "string", default: "appends,turn,processes" },
    processes: { type: "string", default: "1,2,4,8" },
    /** Seconds in which turns are counted. */
    window: { type: "string", default: "10" },
    /** Print the statements of a turn by kind, with their calls, rows and times. */
    statements: { type: "boolean", default: false },
    /** Used by the study itself: this many sessions of a process that it has started. */
    sessions: { type: "string" },
    namespace: { type: "string", default: "" },
    memory: { type: "boolean", default: false },
  },
});
const connectionString = values.postgres ?? process.env.RKAT_TEST_POSTGRES;
if (connectionString === undefined) throw new Error("Name a database: --postgres postgres://…");
const writers = Number(values.writers);
const seconds = Number(values.seconds);
const windowMs = 1000 * Number(values.window);
/** By then the JavaScript compiler has done most of its work. */
const WARM_TURNS = 300;
/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;
const schema = "rkat_bench";
const TEXT = "The harbour pilot boards at the outer buoy. ".repeat(10).slice(0, 400);

/** Texts of 400 characters, because the words of a text are indexed. */
const TEXTS = [...madeUpBatches(0, 6000, 3)]
  .map((batch) => batch.map(({ content }) => content).join(" "))
  .filter((text) => text.length >= TEXT.length)
  .map((text) => text.slice(0, TEXT.length));

if (values.sessions !== undefined) {
  await converse(Number(values.sessions));
  process.exit();
}

let roundTrips = 0;

/** A pool that counts the messages to the server. */
function countingPool(): PostgresPool {
  const pool = new pg.Pool({ connectionString, max: writers + 2 });
  const counted = (query: PostgresPool["query"]): PostgresPool["query"] => {
    return (statement) => {
      roundTrips += 1;
      return query(statement);
    };
  };
  return {
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
}

const admin = new pg.Client({ connectionString });
await admin.connect();
await admin.query(`
  drop schema if exists rkat_bench cascade; drop schema if exists rkat_plain cascade;
  create schema rkat_plain;
  create table rkat_plain.event (
    namespace text, session text, seq integer, body text, primary key (namespace, session, seq))`);
const pool = countingPool();
const stores = postgresStores({ pool, schema });
await stores.events.lastSeq("warm");

const parts = values.parts.split(",");
if (parts.includes("appends")) await measureAppends();
if (parts.includes("turn")) await measureTurns();
if (parts.includes("processes")) {
  for (const memory of [false, true]) {
    console.log(
      `${writers} sessions ${memory ? "with memory and what is learned" : "without memory"}`,
    );
    for (const count of values.processes.split(",").map(Number)) {
      await measureProcesses(count, memory);
    }
  }
}
await stores.close();
await pool.end();
await admin.query(
  "drop schema if exists rkat_bench cascade; drop schema if exists rkat_plain cascade",
);
await admin.end();

async function measureAppends(): Promise<void> {
  const rates = { rkat: [] as number[], bare: [] as number[] };
  for (let round = 0; round < Number(values.rounds); round += 1) {
    rates.rkat.push(await appendRate(round));
    rates.bare.push(bareRate(round));
  }
  console.log(`appends by ${writers} writers, a second (medians of ${values.rounds} rounds)`);
  const [rkat, bare] = [median(rates.rkat), median(rates.bare)];
  console.log(
    `  rkat ${rkat.toFixed(0)}   pgbench ${bare.toFixed(0)}   ${(rkat / bare).toFixed(2)} x`,
  );
}

async function appendRate(round: number): Promise<number> {
  const endsAt = performance.now() + 1000 * seconds;
  const write = async (writer: number) => {
    const session = `${round}-${writer}`;
    let seq = 0;
    while (performance.now() < endsAt) {
      const content = TEXTS[(seq + 97 * writer) % TEXTS.length] ?? "";
      const event = { type: "text_complete", content } as const;
      const added = { event_id: `${session}-${seq}`, timestamp_ms: Date.now(), event };
      seq = await stores.events.append(session, seq, [added]);
    }
    return seq;
  };
  const done = await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return done.reduce((sum, seq) => sum + seq, 0) / seconds;
}

interface Conversed {
  readonly turns: number;
  readonly cpuMs: number;
}

async function measureProcesses(count: number, memory: boolean): Promise<void> {
  const namespace = `${count} processes ${memory ? "with" : "without"} memory`;
  const given = ["--postgres", connectionString as string, "--window", values.window];
  const own = ["--namespace", namespace, "--sessions", String(writers / count)];
  const args = [...given, ...own, ...(memory ? ["--memory"] : [])];
  const children = Array.from({ length: count }, () => fork(import.meta.filename, args));
  // All are warm before one is measured.
  await Promise.all(children.map((child) => once(child, "message")));
  const results = children.map((child) => once(child, "message"));
  const ended = children.map((child) => once(child, "exit"));
  for (const child of children) child.send("go");
  if (values.statements) await admin.query("select pg_stat_statements_reset()");
  const before = { cpuMs: await serverCpuMs(), statements: await statementsSoFar() };
  await sleep(windowMs);
  const serverMs = (await serverCpuMs()) - before.cpuMs;
  const statements = (await statementsSoFar()) - before.statements;
  const kinds = values.statements ? await statementsByKind() : [];
  const done = (await Promise.all(results)).map(([result]) => result as Conversed);
  await Promise.all(ended);
  const turns = done.reduce((sum, { turns }) => sum + turns, 0);
  const cpuMs = done.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  const each = (ms: number) => `${(ms / turns).toFixed(2)} ms`;
  console.log(
    `  ${count} processes: ${((1000 * turns) / windowMs).toFixed(0)} turns/s   processor time a turn: ${each(cpuMs)} of the processes, ${each(serverMs)} of the server   ${(statements / turns).toFixed(1)} statements`,
  );
  for (const { query, calls, rows, ms } of kinds) {
    const each = [calls, rows, ms].map((sum) => (sum / turns).toFixed(3).padStart(8)).join("");
    console.log(`   ${each}  ${query.replace(/\s+/g, " ").trim().slice(0, 110)}`);
  }
}

interface StatementKind {
  readonly query: string;
  readonly calls: number;
  readonly rows: number;
  readonly ms: number;
}

/** What ran since the counts were reset, most calls first. */
async function statementsByKind(): Promise<readonly StatementKind[]> {
  const { rows } = await admin.query(
    `select query, sum(calls)::float8 as calls, sum(rows)::float8 as rows, sum(total_exec_time + total_plan_time) as ms
     from pg_stat_statements group by query order by 2 desc limit 40`,
  );
  return rows as StatementKind[];
}

/** NaN on a server without the extension that counts them. */
async function statementsSoFar(): Promise<number> {
  try {
    const { rows } = await admin.query(
      "select sum(calls)::float8 as calls from pg_stat_statements",
    );
    return (rows[0] as { readonly calls: number }).calls;
  } catch {
    return Number.NaN;
  }
}

/** Processor time of all processes of the server, or NaN when it is on another machine. */
async function serverCpuMs(): Promise<number> {
  const { rows } = await admin.query("select pg_backend_pid() as pid");
  const server = statOf((rows[0] as { readonly pid: number }).pid)?.parent;
  if (server === undefined) return Number.NaN;
  const children = globSync("/proc/[0-9]*").map((path) => statOf(Number(path.slice(6))));
  const ticks = children
    .filter((one) => one?.parent === server)
    .reduce((sum, one) => sum + (one?.ticks ?? 0), statOf(server)?.ticksOfEnded ?? 0);
  return ticks * TICK_MS;
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

/** In a process of its own: turns in some sessions for some seconds. */
async function converse(count: number): Promise<void> {
  const stores = postgresStores({
    connectionString: connectionString as string,
    schema,
    namespace: values.namespace,
  });
  const service = createSessionService({
    model: scriptedModel(() => TEXTS[0] ?? ""),
    stores,
    ...(values.memory ? {} : { memory: false, knowledge: false }),
  });
  const made = await Promise.all(Array.from({ length: count }, () => service.createSession({})));
  let turns = 0;
  let isOver = false;
  const talks = made.map(async ({ sessionId }) => {
    for (let at = 0; !isOver; at += 1) {
      await service.startTurn({ sessionId, prompt: TEXTS[at % TEXTS.length]?.slice(0, 100) ?? "" });
      turns += 1;
    }
  });
  while (turns < WARM_TURNS) await sleep(20);
  process.send?.("ready");
  await once(process, "message");
  const before = { turns, cpu: process.cpuUsage() };
  await sleep(windowMs);
  const { user, system } = process.cpuUsage(before.cpu);
  const result: Conversed = { turns: turns - before.turns, cpuMs: (user + system) / 1000 };
  isOver = true;
  await Promise.all(talks);
  await new Promise((resolve) => {
    process.send?.(result, resolve);
  });
  await service.close();
  await stores.close();
}

function bareRate(round: number): number {
  const folder = mkdtempSync(join(tmpdir(), "rkat-bench-"));
  try {
    const script = join(folder, "insert.sql");
    const start = `\\set n random(1, 1000000000000000000)\n`;
    writeFileSync(
      script,
      `${start}insert into rkat_plain.event values ('default', '${round}-' || :client_id || '-' || :n, 1, '${TEXT}');\n`,
    );
    const args = ["-n", "-f", script, "-c", String(writers), "-T", String(seconds)];
    const printed = execFileSync(values.pgbench, [...args, connectionString as string], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return Number(/tps = ([\d.]+)/.exec(printed)?.[1]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measureTurns(): Promise<void> {
  // Not the namespace of the appends, which a service would first catch up with.
  const apart = postgresStores({ pool, schema, namespace: "turns" });
  const model = scriptedModel(() => TEXT);
  const service = createSessionService({ model, stores: apart, memory: false });
  const { sessionId } = await service.createSession({});
  const prompt = TEXT.slice(0, 100);
  const turn = () => service.startTurn({ sessionId, prompt });
  for (let warm = 0; warm < 10; warm += 1) await turn();
  const times: number[] = [];
  const trips: number[] = [];
  const bareTimes: number[] = [];
  for (let at = 0; at < Number(values.turns); at += 1) {
    roundTrips = 0;
    const ms = await timed(turn);
    trips.push(roundTrips);
    times.push(ms);
    bareTimes.push(
      await timed(async () => {
        for (let insert = 0; insert < (trips.at(-1) ?? 0); insert += 1) {
          await pool.query({
            text: "insert into rkat_plain.event values ('bare', $1, $2, $3)",
            values: [`turn ${at}`, insert, TEXT],
          });
        }
      }),
    );
  }
  await service.close();
  const [own, plain] = [median(times), median(bareTimes)];
  console.log(`a turn, with a model that answers at once (medians of ${values.turns})`);
  console.log(`  round trips ${median(trips)}`);
  console.log(
    `  rkat ${own.toFixed(1)} ms   as many bare inserts ${plain.toFixed(1)} ms   ${(own / plain).toFixed(2)} x`,
  );
}
