import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { createSessionService } from "rkat";
import { type PostgresPool, postgresStores } from "rkat/postgres";
import { scriptedModel } from "rkat/testing";
import { median, timed } from "../measuring.ts";

/**
 * What the log costs on PostgreSQL, besides the server's own work.
 *
 *     npm run build && node bench/studies/postgres-turns.ts --postgres postgres://… [--pgbench PATH]
 *
 * appends    one event of 400 characters at a time, by so many writers, each in its own session; pgbench inserts
 *            as much text into a bare table with the same primary key
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
  },
});
const connectionString = values.postgres ?? process.env.RKAT_TEST_POSTGRES;
if (connectionString === undefined) throw new Error("Name a database: --postgres postgres://…");
const writers = Number(values.writers);
const seconds = Number(values.seconds);
const schema = "rkat_bench";
const TEXT = "The harbour pilot boards at the outer buoy. ".repeat(10).slice(0, 400);

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
      const event = { type: "text_complete", content: TEXT } as const;
      const added = { event_id: `${session}-${seq}`, timestamp_ms: Date.now(), event };
      seq = await stores.events.append(session, seq, [added]);
    }
    return seq;
  };
  const done = await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return done.reduce((sum, seq) => sum + seq, 0) / seconds;
}

function bareRate(round: number): number {
  const folder = mkdtempSync(join(tmpdir(), "rkat-bench-"));
  try {
    const script = join(folder, "insert.sql");
    const start = `\\set n random(1, 1000000000)\n`;
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
  const service = createSessionService({ model: scriptedModel(() => TEXT), stores, memory: false });
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
