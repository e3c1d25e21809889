import { isDeepStrictEqual, parseArgs } from "node:util";
import pg from "pg";
import type { MemoryHit } from "../../src/core/memory-store.ts";
import { PostgresDatabase } from "../../src/stores/postgres/postgres-database.ts";
import { PostgresMemoryStore } from "../../src/stores/postgres/postgres-memory-store.ts";
import { openDatabase } from "../../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../../src/stores/sqlite/sqlite-memory-store.ts";
import { clusteredEmbedder } from "../clustered-embedder.ts";
import { meanMeasures, measure } from "../recall/measures.ts";
import { LIMIT, percent, pooled, readSets, row, STUDY_OPTIONS } from "./recall-study.ts";

/**
 * Whether PostgreSQL gives the results of SQLite, with the same scores to the last digit.
 *
 *     node bench/studies/postgres-recall.ts --postgres postgres://… --data FOLDER [--vectors]
 *
 * Each set is one store. Its questions are asked when all is added, and again when every tenth entry was deleted
 * and the index was merged. Two pools take turns, as two processes do. The schema `rkat_recall` of the database is
 * dropped before and after.
 */
const { values } = parseArgs({
  options: {
    ...STUDY_OPTIONS,
    postgres: { type: "string" },
    vectors: { type: "boolean", default: false },
  },
});
const connectionString = values.postgres ?? process.env.RKAT_TEST_POSTGRES;
if (connectionString === undefined) throw new Error("Name a database: --postgres postgres://…");

const BATCH = 100;
const options = values.vectors ? { embedder: clusteredEmbedder() } : {};

async function dropSchema(): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query("drop schema if exists rkat_recall cascade");
  await client.end();
}

function openPostgres(): PostgresMemoryStore {
  const db = new PostgresDatabase({
    connectionString: connectionString as string,
    schema: "rkat_recall",
  });
  return new PostgresMemoryStore(db, options);
}

console.log(row("", ["questions", "same results", "recall@10", "on SQLite"]));
for (const set of readSets(values)) {
  await dropSchema();
  const { entries, questions } = pooled(set);
  const sqlite = new SqliteMemoryStore(openDatabase({ path: ":memory:" }), options);
  const processes = [openPostgres(), openPostgres()] as const;
  const all = [sqlite, ...processes];
  for (let start = 0; start < entries.length; start += BATCH) {
    const batch = entries.slice(start, start + BATCH);
    await sqlite.add(batch);
    await processes[(start / BATCH) % 2]?.add(batch);
  }
  const compare = async (name: string) => {
    for (const store of all) await store.finishEmbedding();
    let same = 0;
    const found: {
      readonly expected: readonly MemoryHit[];
      readonly hits: readonly MemoryHit[];
    }[] = [];
    for (const [number, { text }] of questions.entries()) {
      const query = { query: text, limit: LIMIT, neighbours: number % 3 };
      const expected = await sqlite.search(query);
      const hits = (await processes[number % 2]?.search(query)) ?? [];
      if (isDeepStrictEqual(hits, expected)) same += 1;
      found.push({ expected, hits });
    }
    const recall = (of: "expected" | "hits") => {
      const asked = questions.map((question, at) => ({ question, hits: found[at]?.[of] ?? [] }));
      const answerable = asked.filter(({ question }) => question.relevant.length > 0);
      const measures = answerable.map(({ question, hits }) =>
        measure(
          hits.map(({ id }) => id),
          question,
        ),
      );
      return percent(meanMeasures(measures).recallAt10);
    };
    console.log(row(name, [`${questions.length}`, `${same}`, recall("hits"), recall("expected")]));
  };
  await compare(set.name);
  const ids = entries.filter((_, at) => at % 10 === 3).map(({ id }) => id);
  await sqlite.delete({ ids });
  await processes[0].delete({ ids });
  for (const store of all) await store.finishMerging();
  await compare(`${set.name}, after deletes`);
  for (const store of all) await store.close();
}
await dropSchema();
