import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { createSessionService } from "rkat";
import { type PostgresPool, postgresStores } from "rkat/postgres";
import { scriptedModel } from "rkat/testing";
import { madeUpBatches } from "../data/entries.ts";
import { median, timed } from "../measuring.ts";

/**
 * What the log costs on PostgreSQL, besides the server's own work.
 *
 *     npm run build && node bench/studies/postgres-turns.ts --postgres postgres://… [--pgbench PATH]
 *
 * appends    one event of 400 characters at a time, by so many writers, each in its own session; pgbench inserts
 *            as much text into a bare table with the same primary key
 * processes  turns of as many sessions, divided among 1, 2, 4 and 8 processes, without and with memory; processor time is
 *            that of the processes, without the server's
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
    processes: { type: "string", default: "1,2,4,8" },
    /** Used by the study itself: this many sessions of a process that it has started. */
    sessions: { type: "string" },
    memory: { type: "boolean", default: false },
  },
});
const connectionString = values.postgres ?? process.env.RKAT_TEST_POSTGRES;
if (connectionString === undefined) throw new Error("Name a database: --postgres postgres://…");
const writers = Number(values.writers);
const seconds = Number(values.seconds);
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

await measureTurns();
for (const memory of [false, true]) {
  console.log(
    `${writers} sessions ${memory ? "with memory and what is learned" : "without memory"}`,
  );
  for (const count of values.processes.split(",").map(Number)) {
    await measureProcesses(count, memory);
  }
}
await stores.close();
await pool.end();
await admin.query(
  "drop schema if exists rkat_bench cascade; drop schema if exists rkat_plain cascade",
);
await admin.end();

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
  const given = ["--postgres", connectionString as string, "--seconds", values.seconds];
  const args = memory ? [...given, "--memory"] : given;
  const children = Array.from({ length: count }, () =>
    fork(import.meta.filename, [...args, "--sessions", String(writers / count)]),
  );
  // All are ready before one begins.
  await Promise.all(children.map((child) => once(child, "message")));
  const results = children.map((child) => once(child, "message"));
  for (const child of children) child.send("go");
  const ended = children.map((child) => once(child, "exit"));
  const done = (await Promise.all(results)).map(([result]) => result as Conversed);
  await Promise.all(ended);
  const turns = done.reduce((sum, { turns }) => sum + turns, 0);
  const cpuMs = done.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  console.log(
    `  ${count} processes: ${(turns / seconds).toFixed(0)} turns/s, ${(cpuMs / turns).toFixed(2)} ms of their processor time a turn`,
  );
}

/** In a process of its own: turns in some sessions for some seconds. */
async function converse(count: number): Promise<void> {
  const stores = postgresStores({ connectionString: connectionString as string, schema });
  const service = createSessionService({
    model: scriptedModel(() => TEXTS[0] ?? ""),
    stores,
    ...(values.memory ? {} : { memory: false, knowledge: false }),
  });
  const made = await Promise.all(Array.from({ length: count }, () => service.createSession({})));
  const turn = (sessionId: string, at: number) =>
    service.startTurn({ sessionId, prompt: TEXTS[at % TEXTS.length]?.slice(0, 100) ?? "" });
  for (const { sessionId } of made) await turn(sessionId, 0);
  process.send?.("ready");
  await once(process, "message");
  const cpu = process.cpuUsage();
  const endsAt = performance.now() + 1000 * seconds;
  const turns = await Promise.all(
    made.map(async ({ sessionId }) => {
      let at = 1;
      for (; performance.now() < endsAt; at += 1) await turn(sessionId, at);
      return at - 1;
    }),
  );
  const { user, system } = process.cpuUsage(cpu);
  const sum = turns.reduce((all, one) => all + one, 0);
  await new Promise((resolve) => {
    process.send?.({ turns: sum, cpuMs: (user + system) / 1000 } satisfies Conversed, resolve);
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
