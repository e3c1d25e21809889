import { parseArgs } from "node:util";
import pg from "pg";
import type { NewEvent } from "../../src/core/event.ts";
import { type PostgresStores, postgresStores } from "../../src/postgres.ts";
import { madeUpBatches } from "../data/entries.ts";
import { below, randomFrom } from "../data/random.ts";
import { contentWords } from "../data/vocabulary.ts";
import { median, note, timed } from "../measuring.ts";

/**
 * Many users in one store, with partitions and without.
 *
 *     node bench/studies/postgres-partitions.ts --postgres postgres://… [--users 1000] [--partitions 16,64]
 *
 * Each user has a session of `--events` messages, which are in memory too. All layouts are asked the same, in
 * turns, and the medians are printed. The schemas `rkat_partitions_…` are dropped before and after.
 */
const { values } = parseArgs({
  options: {
    postgres: { type: "string" },
    users: { type: "string", default: "1000" },
    events: { type: "string", default: "40" },
    questions: { type: "string", default: "200" },
    deletions: { type: "string", default: "20" },
    partitions: { type: "string", default: "16,64" },
  },
});
const connectionString = values.postgres ?? process.env.RKAT_TEST_POSTGRES;
if (connectionString === undefined) throw new Error("Name a database: --postgres postgres://…");
const users = Number(values.users);
const events = Number(values.events);

interface Layout {
  readonly name: string;
  readonly schema: string;
  readonly pool: InstanceType<typeof pg.Pool>;
  readonly stores: PostgresStores;
  readonly times: Record<string, number[]>;
}

const layouts: Layout[] = [0, ...values.partitions.split(",").map(Number)].map((partitions) => {
  const schema = `rkat_partitions_${partitions}`;
  const pool = new pg.Pool({ connectionString, max: 1 });
  const options = partitions === 0 ? {} : { partitions };
  const stores = postgresStores({ pool, schema, ...options });
  return { name: partitions === 0 ? "none" : `${partitions}`, schema, pool, stores, times: {} };
});
const random = randomFrom(1);
const user = () => `user${below(users, random)}`;

/** On a connection of its own, which keeps what it has read about the tables. */
async function vacuum(schema: string) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query(
    "select tablename as name from pg_tables where schemaname = $1",
    [schema],
  );
  for (const { name } of rows as readonly { readonly name: string }[])
    await client.query(`vacuum analyze ${schema}.${name}`);
  await client.end();
}

async function inTurns(
  what: string,
  count: number,
  work: (stores: PostgresStores, at: number) => unknown,
) {
  for (let at = 0; at < count; at += 1) {
    for (const { stores, times } of at % 2 === 0 ? layouts : layouts.toReversed()) {
      const ms = await timed(async () => work(stores, at));
      note(times, what, ms);
    }
  }
}

try {
  for (const { pool, schema } of layouts) {
    await pool.query(`drop schema if exists ${schema} cascade`);
  }
  const all = [...madeUpBatches(0, users * events, events)];
  await inTurns("append and add of a new user", users, async (stores, at) => {
    const own = stores.forUser(`user${at}`);
    const batch = all[at] ?? [];
    const said = batch.map(
      ({ content, id }): NewEvent => ({
        event_id: id,
        timestamp_ms: 1.7e12,
        event: { type: "message_added", message: { id, role: "user", content } } as never,
      }),
    );
    await own.events.append("s", 0, said);
    await own.memory.add(
      batch.map((entry) => ({ ...entry, sessionId: `s${(entry.turn ?? 0) % 4}` })),
    );
  });
  for (const { schema } of layouts) await vacuum(schema);
  const asked = Array.from({ length: Number(values.questions) }, () => ({
    own: user(),
    query: contentWords(
      (all[below(users, random)]?.[0]?.content ?? "").split(" ").slice(0, 12).join(" "),
    )
      .slice(0, 3)
      .join(" "),
  }));
  const of = (at: number) => asked[at] as (typeof asked)[number];
  await inTurns("first search of a user", asked.length, (stores, at) =>
    stores.forUser(of(at).own).memory.search({ query: of(at).query, limit: 10 }),
  );
  await inTurns("search again", asked.length, (stores, at) =>
    stores.forUser(of(at).own).memory.search({ query: of(at).query, limit: 10 }),
  );
  await inTurns("search of the log", asked.length, (stores, at) =>
    stores.forUser(of(at).own).events.search({ query: of(at).query, limit: 10 }),
  );
  await inTurns("read of a log", asked.length, async (stores, at) => {
    for await (const _ of stores.forUser(of(at).own).events.read("s", 0)) {
      /* all of it */
    }
  });
  await inTurns("append of one event", asked.length, (stores, at) =>
    stores.forUser(of(at).own).events.append(`t${at}`, 0, [
      {
        event_id: `e${at}`,
        timestamp_ms: 1,
        event: {
          type: "message_added",
          message: { id: `e${at}`, role: "user", content: "A few words." },
        } as never,
      },
    ]),
  );
  const contexts = `select sum(total_bytes)::integer as bytes,
      (sum(total_bytes) filter (where name like 'CachedPlan%'))::integer as plans
    from pg_backend_memory_contexts`;
  for (const { name, pool } of layouts) {
    const { rows } = await pool.query(contexts);
    const [row] = rows as readonly { readonly bytes: number; readonly plans: number }[];
    if (!row) continue;
    const [all, plans] = [row.bytes / 1e6, row.plans / 1e6];
    console.log(
      `${name}: a connection takes ${all.toFixed(1)} MB of the server, ${plans.toFixed(1)} MB for plans`,
    );
  }
  for (let at = 0; at < Number(values.deletions); at += 1) {
    for (const { pool, schema, times } of layouts) {
      const { rows } = await pool.query(
        `delete from ${schema}.event where namespace like $1 and seq <= 5 returning tableoid::regclass::text as name`,
        [`%user${at * 7}`],
      );
      const [row] = rows as readonly { readonly name: string }[];
      note(times, "vacuum after forgetting", await timed(() => pool.query(`vacuum ${row?.name}`)));
    }
  }
  const whats = Object.keys(layouts[0]?.times ?? {});
  for (const what of whats) {
    const each = layouts.map(
      ({ name, times }) => `${name} ${median(times[what] ?? []).toFixed(2)} ms`,
    );
    console.log(`${what}: ${each.join(", ")}`);
  }
} finally {
  for (const { pool, schema, stores } of layouts) {
    await stores.close();
    await pool.query(`drop schema if exists ${schema} cascade`);
    await pool.end();
  }
}
