import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MemoryEntry, MemoryQuery } from "../src/core/memory-store.ts";
import { addEntries } from "../src/indexing/add.ts";
import { deleteEntries } from "../src/indexing/delete.ts";
import { OpenIndex } from "../src/indexing/open-index.ts";
import {
  type Asking,
  type AsyncIndexStore,
  runAsync,
  runSync,
} from "../src/indexing/port/asking.ts";
import { searchEntries } from "../src/indexing/search.ts";
import { mergeSegments } from "../src/indexing/upkeep/merge.ts";
import { verifyIndex } from "../src/indexing/upkeep/verify.ts";
import {
  openSpace,
  pendingPassages,
  saveCalibration,
  storeVectors,
} from "../src/indexing/vectors/store-vectors.ts";
import { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import { PostgresIndexStore } from "../src/stores/postgres/postgres-index-store.ts";
import type { Connection } from "../src/stores/sqlite/connection.ts";
import { openConnection } from "../src/stores/sqlite/open-connection.ts";
import { SqliteIndexStore } from "../src/stores/sqlite/sqlite-index-store.ts";
import { ConceptEmbedder } from "./support/concept-embedder.ts";
import { EphemeralIndexStore } from "./support/ephemeral-index-store.ts";
import { hasPostgres, postgresUrl } from "./support/postgres.ts";

const WORDS =
  "dog greyhound doctor surgery money wages car sedan holiday trip heron weir kiln walrus 東京 京都 café boat mast sail rope".split(
    " ",
  );
const embedder = new ConceptEmbedder();

let folder = "";
let db: Connection;
const network = new EphemeralIndexStore();
let server: PostgresDatabase | undefined;
let onServer: PostgresIndexStore | undefined;

type Run = <Result>(asking: Asking<Result>) => Promise<Result>;
const onSqlite: Run = async (asking) => runSync(asking, new SqliteIndexStore(db, "n"));
const onNetwork: Run = (asking) => runAsync(asking, network);
const onPostgres: Run = (asking) => runAsync(asking, onServer as PostgresIndexStore);

/** Stores that answer over a network. */
const others: readonly { readonly name: string; readonly run: Run; store(): AsyncIndexStore }[] = [
  { name: "ephemeral", run: onNetwork, store: () => network },
  ...(hasPostgres
    ? [{ name: "postgres", run: onPostgres, store: () => onServer as PostgresIndexStore }]
    : []),
];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rkat-index-"));
  db = openConnection(join(folder, "rkat.db"));
  if (hasPostgres) {
    const connectionString = await postgresUrl();
    server = new PostgresDatabase({ connectionString, schema: `index ${process.pid}` });
    onServer = new PostgresIndexStore(server, "n");
  }
  for (const run of [onSqlite, ...others.map(({ run }) => run)]) await fill(run);
}, 120_000);

afterAll(async () => {
  db.close();
  await server?.change(`drop schema "${server.schema}" cascade`);
  await server?.close();
  rmSync(folder, { recursive: true });
});

/** Entries in segments of several levels, some deleted and their slots used again, most with vectors. */
async function fill(run: Run): Promise<void> {
  for (let batch = 0; batch < 5; batch += 1) {
    await run(addEntries(Array.from({ length: 500 }, (_, at) => entry(batch * 500 + at))));
  }
  while (await run(mergeSegments()));
  await run(deleteEntries(Array.from({ length: 60 }, (_, at) => `entry-${at * 31}`)));
  await run(addEntries(Array.from({ length: 40 }, (_, at) => entry(5000 + at))));
  const space = await run(openSpace(embedder, undefined));
  if (space.type !== "open") throw new Error("There is no space for vectors.");
  await run(saveCalibration(space.number, { unrelated: 0.05, related: 0.6 }));
  const page = await run(pendingPassages(space.number, undefined, 1500));
  const vectors = [];
  for (const { entry: key, slot, text } of page?.passages ?? []) {
    const [vector = null] = text === null ? [] : await embedder.embed([text]);
    vectors.push({ entry: key, slot, vector });
  }
  await run(storeVectors(space.number, vectors));
}

function entry(number: number): MemoryEntry {
  const word = (at: number) => WORDS[(number * 7 + at * at * 3) % WORDS.length];
  const said = Array.from({ length: 8 + (number % 17) }, (_, at) => `${word(at)} ${word(at + 1)}`);
  return {
    id: `entry-${number}`,
    content: `${said.join(" ")} number${number}.`,
    sessionId: `session-${number % 40}`,
    turn: number,
    kind: number % 9 === 0 ? "fact" : "message",
    role: number % 2 === 0 ? "user" : "assistant",
    speaker: number % 3 === 0 ? "Caroline" : "Bob",
    time: new Date(1.7e12 + number * 1e7).toISOString(),
  };
}

const QUERIES: readonly MemoryQuery[] = [
  { query: "puppy at the weir", limit: 10, neighbours: 3, explain: true },
  { query: "Which physician did Caroline see?", limit: 10, neighbours: 1 },
  { query: ["salary", "vehicle number77"], limit: 7 },
  { query: "京 boat", limit: 10, role: "user" },
  { query: entry(2321).content, limit: 3, neighbours: 2 },
  { query: "vacation rope", limit: 10, sessionId: "session-7", minScore: 0, neighbours: 2 },
  { query: "heron kiln", limit: 10, kind: "fact", since: "2023-12-01" },
  { query: "nothing like this zebra", limit: 5 },
];

async function asked(query: MemoryQuery, isHybrid: boolean) {
  if (!isHybrid) return undefined;
  return { embedder: embedder.id, vectors: await embedder.embed([query.query].flat()) };
}

describe.each(others)("$name", ({ run, store }) => {
  test.each([
    ["words", false],
    ["words and meaning", true],
  ])("by %s, it gives the results of SQLite with the same scores", async (_, isHybrid) => {
    const [sqlite, other] = [new OpenIndex(), new OpenIndex()];
    let count = 0;
    for (const query of QUERIES) {
      const embedded = await asked(query, isHybrid);
      const expected = await onSqlite(searchEntries(sqlite, query, embedded));
      expect(await run(searchEntries(other, query, embedded))).toEqual(expected);
      count += expected.length;
    }
    expect(count).toBeGreaterThan(30);
  });

  test.each(QUERIES.map((query) => [[query.query].flat().join(" / "), query] as const))(
    "a search takes three round trips at most, the first of a process too: %s",
    async (_, query) => {
      const embedded = await asked(query, true);
      const index = new OpenIndex();
      const search = (run: Run) => run(searchEntries(index, query, embedded));
      const cold = await countTrips(store(), search);
      const warm = await countTrips(store(), search);
      expect(cold.trips).toBeLessThanOrEqual(3);
      expect(warm.trips).toBeLessThanOrEqual(cold.trips);
      expect(warm.result).toEqual(cold.result);
    },
  );

  test("adding takes four round trips, of which other writers see three", async () => {
    const again = Array.from({ length: 5 }, (_, at) => entry(9000 + at));
    const { trips } = await countTrips(store(), (run) => run(addEntries(again)));
    expect(trips).toBeLessThanOrEqual(4);
    // All stores have the same again.
    await run(deleteEntries(again.map(({ id }) => id)));
  });

  test("a check finds nothing wrong", async () => {
    expect((await run(verifyIndex(() => new OpenIndex()))).problems).toEqual([]);
  });
});

/** Questions that are asked at once make one round trip. */
async function countTrips<Result>(
  counting: AsyncIndexStore,
  work: (run: Run) => Promise<Result>,
): Promise<{ readonly trips: number; readonly result: Result }> {
  let trips = 0;
  let isUnderWay = false;
  const counted = (store: AsyncIndexStore): AsyncIndexStore =>
    new Proxy(store, {
      get(target, name: keyof AsyncIndexStore) {
        if (name === "transact") {
          const transact: AsyncIndexStore["transact"] = (mode, inside) =>
            target.transact(mode, (within) => inside(counted(within)));
          return transact;
        }
        return (...values: readonly never[]) => {
          if (!isUnderWay) trips += 1;
          isUnderWay = true;
          queueMicrotask(() => {
            isUnderWay = false;
          });
          return (target[name] as (...all: readonly never[]) => Promise<unknown>)(...values);
        };
      },
    });
  const store = counted(counting);
  return { result: await work((asking) => runAsync(asking, store)), trips };
}
