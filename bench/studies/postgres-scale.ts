import { parseArgs } from "node:util";
import pg from "pg";
import { createSessionService, type SessionService } from "rkat";
import { type PostgresStores, postgresStores } from "rkat/postgres";
import { scriptedModel } from "rkat/testing";
import { copyUsers } from "../data/copied-users.ts";
import { madeUpBatches } from "../data/entries.ts";
import { contentWords } from "../data/vocabulary.ts";
import { median, note, timed } from "../measuring.ts";

/**
 * One user beside thousands of others, and the same user alone, in the same PostgreSQL.
 *
 *     npm run build && node bench/studies/postgres-scale.ts --postgres postgres://…
 *         [--users 2000] [--messages 500] [--own 5000] [--adds 200000]
 *
 * The user has `--own` messages and each other one `--messages`, said in turns of rkat's own loop. One of the others is
 * made so, and the server copies that one. Both stores are asked by turns, and the medians are compared. Then the
 * user adds `--adds` entries of memory and deletes half of them, and what that leaves is printed.
 *
 * It drops and makes the schemas `rkat_scale` and `rkat_alone`. `--keep` leaves them, and uses those that are there.
 */
const { values } = parseArgs({
  options: {
    postgres: { type: "string" },
    users: { type: "string", default: "2000" },
    messages: { type: "string", default: "500" },
    own: { type: "string", default: "5000" },
    adds: { type: "string", default: "200000" },
    rounds: { type: "string", default: "60" },
    keep: { type: "boolean", default: false },
  },
});
const connectionString = values.postgres ?? process.env.RKAT_TEST_POSTGRES;
if (connectionString === undefined) throw new Error("Name a database: --postgres postgres://…");
const { users, messages, own, adds, rounds } = Object.fromEntries(
  Object.entries(values).map(([name, value]) => [name, Number(value)]),
) as Record<"users" | "messages" | "own" | "adds" | "rounds", number>;
/** Turns of a session. */
const TURNS = 50;
const WRITERS = 8;
/** Users that one statement copies. */
const COPIED = 50;
/** Entries that are added at once. */
const BATCH = 100;

const texts = [...madeUpBatches(0, 20_000, 2)]
  .map((batch) => batch.map(({ content }) => content).join(" "))
  .map((text) => text.slice(0, 245));
let said = 0;
const say = () => texts[said++ % texts.length] as string;

interface Store {
  readonly name: string;
  readonly schema: string;
  readonly pool: InstanceType<typeof pg.Pool>;
  readonly stores: PostgresStores;
  readonly service: SessionService;
  readonly times: Record<string, number[]>;
}

function open(name: string, schema: string): Store {
  const pool = new pg.Pool({ connectionString, max: WRITERS + 2 });
  const stores = postgresStores({ pool, schema });
  const service = createSessionService({ model: scriptedModel(say), stores });
  return { name, schema, pool, stores, service, times: {} };
}

/** Talks as a user, in sessions of 50 turns. */
async function talk({ service, stores }: Store, user: string, count: number): Promise<void> {
  const sessions = Math.ceil(count / 2 / TURNS);
  let next = 0;
  const write = async () => {
    for (; next < sessions; ) {
      const turns = Math.min(TURNS, count / 2 - next * TURNS);
      next += 1;
      const { sessionId } = await service.forUser(user).createSession({});
      for (let turn = 0; turn < turns; turn += 1) {
        await service.forUser(user).startTurn({ sessionId, prompt: say() });
      }
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  const { memory } = stores.forUser(user);
  while ((await memory.stats()).entries < count) {
    await service.forUser(user).searchMemory({ query: say() });
  }
  await memory.finishMerging();
}

async function vacuum({ pool, schema }: Store): Promise<void> {
  const { rows } = await pool.query(
    "select tablename as name from pg_tables where schemaname = $1",
    [schema],
  );
  for (const { name } of rows as readonly { readonly name: string }[]) {
    await pool.query(`vacuum analyze "${schema}"."${name}"`);
  }
}

async function make(crowd: Store, alone: Store): Promise<void> {
  for (const { pool, schema } of [crowd, alone]) {
    await pool.query(`drop schema if exists ${schema} cascade`);
  }
  for (const store of [alone, crowd]) {
    said = 0;
    const ms = await timed(() => talk(store, "asker", own));
    console.log(`${store.name}: ${own} messages in ${(ms / 1000).toFixed(0)} s`);
  }
  await talk(crowd, "other", messages);
  const { schema } = crowd;
  const from = "default\nuser other";
  const ms = await timed(async () => {
    for (let first = 1; first < users; first += COPIED) {
      const last = Math.min(users - 1, first + COPIED - 1);
      await copyUsers(crowd.pool, { schema, from, to: `${from} `, first, last });
    }
  });
  console.log(`${users} users of ${messages} messages, copied in ${(ms / 1000).toFixed(0)} s`);
  for (const store of [alone, crowd]) await vacuum(store);
}

async function ask(store: Store, at: number): Promise<void> {
  const { service, stores, times } = store;
  const user = service.forUser("asker");
  const { memory, events, sessions } = stores.forUser("asker");
  const question = texts[(at * 37) % (own / 2)] as string;
  const query = contentWords(question).slice(0, 3).join(" ");
  const time = async (what: string, work: () => unknown) => note(times, what, await timed(work));
  const prompt = texts[(at * 41) % texts.length] as string;
  await time("search", () => memory.search({ query, limit: 10 }));
  await time("history search", () => events.search({ query, limit: 10 }));
  const entry = { sessionId: "added", turn: 0, kind: "message" } as const;
  const id = `${store.name} ${at} ${Date.now()}`;
  await time("an add", () => memory.add([{ ...entry, id, content: `${prompt} ${at}` }]));
  const { sessionId } = await user.createSession({});
  await time("a turn", () => user.startTurn({ sessionId, prompt }));
  await time("a list of sessions", () => sessions.list({ limit: 20 }));
  await time("a list of memory", () => memory.list({ limit: 20 }));
}

async function sizes({ pool, schema }: Store): Promise<void> {
  const { rows } = await pool.query(
    `select relname as name, pg_table_size(relid)::float8 as rows, pg_indexes_size(relid)::float8 as indexes,
       n_live_tup::float8 as live, n_dead_tup::float8 as dead, autovacuum_count::integer as vacuums
     from pg_stat_user_tables where schemaname = $1
     order by pg_total_relation_size(relid) desc limit 8`,
    [schema],
  );
  for (const row of rows as Record<string, number>[]) {
    const { name, rows: table = 0, indexes = 0, live = 0, dead, vacuums } = row;
    console.log(
      `  ${`${name}`.padEnd(22)} ${(table / 1e6).toFixed(0)} MB + ${(indexes / 1e6).toFixed(0)} MB of indexes, ` +
        `${live} rows, ${dead} dead, ${vacuums} autovacuums`,
    );
  }
  const all = await pool.query(
    "select sum(pg_total_relation_size(relid))::float8 as bytes from pg_stat_user_tables where schemaname = $1",
    [schema],
  );
  console.log(`  all: ${((all.rows[0] as { bytes: number }).bytes / 1e9).toFixed(2)} GB`);
}

/** Adds by hundreds, and deletes half of what was added. */
async function addAndDelete({ stores }: Store): Promise<void> {
  const { memory } = stores.forUser("asker");
  const start = Date.now();
  for (let at = 0; at < adds; at += BATCH) {
    const entries = Array.from({ length: BATCH }, (_, number) => ({
      id: `churn ${start} ${at + number}`,
      sessionId: `churn ${Math.floor(at / 2000)}`,
      turn: 0,
      kind: "message" as const,
      content: `${texts[(at + number) % texts.length]} ${at + number}`,
    }));
    await memory.add(entries);
    await memory.delete({ ids: entries.slice(0, BATCH / 2).map(({ id }) => id) });
  }
  await memory.finishMerging();
}

const crowd = open("beside all", "rkat_scale");
const alone = open("alone", "rkat_alone");
if (!values.keep) await make(crowd, alone);
await sizes(crowd);
for (let at = 0; at < rounds + 5; at += 1) {
  for (const store of at % 2 === 0 ? [crowd, alone] : [alone, crowd]) await ask(store, at);
}
for (const what of Object.keys(crowd.times)) {
  // The first ones plan the statements and read the index of memory.
  const [beside, before] = [crowd, alone].map(({ times }) =>
    median((times[what] ?? []).slice(5)),
  ) as [number, number];
  const times = `${before.toFixed(2)} ms alone, ${beside.toFixed(2)} ms beside all`;
  console.log(`${what}: ${times}, ${(beside / before).toFixed(2)} ×`);
}
if (adds > 0) {
  const ms = await timed(() => addAndDelete(crowd));
  console.log(`${adds} adds and ${adds / 2} deletions: ${(ms / 1000).toFixed(0)} s`);
  await sizes(crowd);
}
for (const { service, stores, pool, schema } of [crowd, alone]) {
  await service.close();
  await stores.close();
  if (!values.keep) await pool.query(`drop schema ${schema} cascade`);
  await pool.end();
}
