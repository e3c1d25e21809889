import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import type { MemoryEntry, MemoryStore } from "../../src/core/memory-store.ts";
import { PostgresDatabase } from "../../src/stores/postgres/postgres-database.ts";
import { PostgresMemoryStore } from "../../src/stores/postgres/postgres-memory-store.ts";
import { openDatabase } from "../../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../../src/stores/sqlite/sqlite-memory-store.ts";
import { spawnSync } from "../../test/support/start-process.ts";
import { clusteredEmbedder } from "../clustered-embedder.ts";
import { madeUpBatches, madeUpQuestions } from "../data/entries.ts";
import { contentWords } from "../data/vocabulary.ts";
import { median, SearchWatch, Stopwatch, timed } from "../measuring.ts";

/**
 * The same memory in PostgreSQL, in SQLite, and as a table with PostgreSQL's own text search.
 *
 *     node bench/studies/postgres-memory.ts --postgres postgres://… [--size 100000] [--vectors]
 *
 * All three get the same batches and are asked the same questions, alternating. "ts_rank" is a table with a
 * stored `tsvector` and a GIN index, asked for any of the content words of a question, best first. The schemas
 * `rkat_bench` and `rkat_plain` of the database are dropped before and after; `--keep` keeps and reuses them,
 * and the SQLite file.
 */
const { values } = parseArgs({
  options: {
    postgres: { type: "string" },
    size: { type: "string", default: "100000" },
    batch: { type: "string", default: "100" },
    questions: { type: "string", default: "200" },
    rounds: { type: "string", default: "5" },
    vectors: { type: "boolean", default: false },
    keep: { type: "string" },
    /** Used by the study itself: the first search of a process. */
    first: { type: "string" },
  },
});
const connectionString = values.postgres ?? process.env.RKAT_TEST_POSTGRES;
if (connectionString === undefined) throw new Error("Name a database: --postgres postgres://…");
const size = Number(values.size);
const LIMIT = 10;

interface Contender {
  readonly name: string;
  add(entries: readonly MemoryEntry[]): Promise<unknown>;
  search(query: string): Promise<unknown>;
  settle(): Promise<unknown>;
  close(): Promise<unknown>;
}

function contender(
  name: string,
  memory: MemoryStore & { finishMerging(): Promise<void>; finishEmbedding(): Promise<unknown> },
): Contender {
  return {
    name,
    add: (entries) => memory.add(entries),
    search: (query) => memory.search({ query, limit: LIMIT }),
    settle: async () => {
      await memory.finishEmbedding();
      await memory.finishMerging();
    },
    close: () => memory.close(),
  };
}

function onPostgres(): PostgresMemoryStore {
  const db = new PostgresDatabase({
    connectionString: connectionString as string,
    schema: "rkat_bench",
  });
  return new PostgresMemoryStore(db, values.vectors ? { embedder: clusteredEmbedder() } : {});
}

async function plainTable(): Promise<Contender> {
  const pool = new pg.Pool({ connectionString });
  await pool.query("create schema if not exists rkat_plain");
  await pool.query(`create table if not exists rkat_plain.entry (
    id text primary key, session_id text, turn integer, role text, speaker text, time text, content text,
    words tsvector generated always as (to_tsvector('english', content)) stored)`);
  await pool.query("create index if not exists entry_words on rkat_plain.entry using gin (words)");
  const insert = `insert into rkat_plain.entry (id, session_id, turn, role, speaker, time, content)
    select * from unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[])`;
  const search = `select id, session_id, turn, role, speaker, time, content, ts_rank(words, asked) as score
    from rkat_plain.entry, to_tsquery('english', $1) as asked
    where words @@ asked order by score desc limit ${LIMIT}`;
  return {
    name: "ts_rank",
    add: (entries) =>
      pool.query(insert, [
        entries.map(({ id }) => id),
        entries.map(({ sessionId }) => sessionId),
        entries.map(({ turn }) => turn),
        entries.map(({ role }) => role),
        entries.map(({ speaker }) => speaker),
        entries.map(({ time }) => time),
        entries.map(({ content }) => content),
      ]),
    search: (query) =>
      pool.query(search, [
        [...new Set(contentWords(query))]
          .map((word) => `'${word.replaceAll("'", "")}'`)
          .join(" | "),
      ]),
    settle: () => pool.query("vacuum analyze rkat_plain.entry"),
    close: () => pool.end(),
  };
}

if (values.first !== undefined) {
  const start = performance.now();
  const memory = onPostgres();
  const hits = await memory.search({ query: values.first, limit: LIMIT });
  console.log(JSON.stringify({ ms: performance.now() - start, hits: hits.length }));
  await memory.close();
  process.exit();
}

async function dropSchemas(): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  for (const schema of ["rkat_bench", "rkat_plain"]) {
    await client.query(`drop schema if exists ${schema} cascade`);
  }
  await client.end();
}

function printRow(name: string, figures: Readonly<Record<string, number>>): void {
  const shown = Object.entries(figures).map(([key, ms]) => `${key} ${ms.toPrecision(3)}`);
  console.log([name.padEnd(34), ...shown].join("  "));
}

const folder = values.keep ?? mkdtempSync(join(tmpdir(), "rkat-study-"));
const file = join(folder, `memory-${size}${values.vectors ? "-vectors" : ""}.db`);
const sqlite = new SqliteMemoryStore(
  openDatabase({ path: file }),
  values.vectors ? { embedder: clusteredEmbedder() } : {},
);
const isFilled = (await sqlite.stats()).entries >= size;
if (!isFilled) await dropSchemas();
const contenders = [
  contender("rkat on PostgreSQL", onPostgres()),
  contender("rkat on SQLite", sqlite),
  await plainTable(),
];

if (!isFilled) {
  const ms = contenders.map(() => 0);
  const batches = madeUpBatches(0, size, Number(values.batch));
  const watch = new Stopwatch();
  let added = 0;
  for (const batch of batches) {
    for (const [at, { add }] of contenders.entries()) {
      ms[at] = (ms[at] ?? 0) + (await timed(() => add(batch)));
    }
    added += batch.length;
    if (added % 10_000 < batch.length)
      console.error(`${added} of ${size}, ${Math.round(watch.ms)} ms`);
  }
  const settled = [];
  for (const { settle } of contenders) settled.push(await timed(settle));
  for (const [at, { name }] of contenders.entries()) {
    printRow(`${name}: adding by ${values.batch}`, {
      "entries/s": (1000 * size) / (ms[at] ?? 1),
      "ms to settle": settled[at] ?? 0,
    });
  }
}

const asked = madeUpQuestions(size, Number(values.questions));
const watches = contenders.map(() => new SearchWatch());
for (const { text } of asked.slice(0, 20)) for (const { search } of contenders) await search(text);
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const [number, { text }] of asked.entries()) {
    for (const [at, { search }] of contenders.entries()) {
      // PostgreSQL's own search is slow, and its first rounds tell as much.
      if (at === 2 && round > 1) continue;
      await watches[at]?.time(number, () => search(text));
    }
  }
}
for (const [at, { name }] of contenders.entries()) {
  const { p50, p99, cpu } = watches[at]?.times() ?? { p50: 0, p99: 0, cpu: 0 };
  printRow(`${name}: search, ms`, { p50, p99, "processor of the client": cpu });
}
const first = asked.slice(0, 11).map(({ text }) => {
  const args = [fileURLToPath(import.meta.url), "--postgres", connectionString, "--first", text];
  const run = spawnSync(process.execPath, values.vectors ? [...args, "--vectors"] : args, {
    encoding: "utf8",
  });
  return JSON.parse(run.stdout).ms as number;
});
printRow("rkat on PostgreSQL: first search, ms", { median: median(first) });
for (const { close } of contenders) await close();
if (values.keep === undefined) {
  await dropSchemas();
  rmSync(folder, { recursive: true });
}
