import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MemoryEntry } from "../src/core/memory-store.ts";
import { addEntries } from "../src/indexing/add.ts";
import { deleteEntries, deleteSession } from "../src/indexing/delete.ts";
import { OpenIndex } from "../src/indexing/open-index.ts";
import {
  type Asking,
  ask,
  Draft,
  openHead,
  runAsync,
  runSync,
  transaction,
} from "../src/indexing/port/asking.ts";
import type { EntryRow } from "../src/indexing/port/index-store.ts";
import { searchEntries } from "../src/indexing/search.ts";
import { keepUp, renewIndex } from "../src/indexing/upkeep/reindex.ts";
import { verifyIndex } from "../src/indexing/upkeep/verify.ts";
import { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import { PostgresIndexStore } from "../src/stores/postgres/postgres-index-store.ts";
import type { Connection } from "../src/stores/sqlite/connection.ts";
import { openConnection } from "../src/stores/sqlite/open-connection.ts";
import { SqliteIndexStore } from "../src/stores/sqlite/sqlite-index-store.ts";
import { EphemeralIndexStore } from "./support/ephemeral-index-store.ts";
import { hasPostgres, postgresUrl } from "./support/postgres.ts";

type Run = <Result>(asking: Asking<Result>) => Promise<Result>;

let folder = "";
let db: Connection;
let server: PostgresDatabase | undefined;
let stores = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rkat-renewed-"));
  db = openConnection(join(folder, "rkat.db"));
  if (!hasPostgres) return;
  const connectionString = await postgresUrl();
  server = new PostgresDatabase({ connectionString, schema: `renewed ${process.pid}` });
}, 120_000);

afterAll(async () => {
  db.close();
  await server?.change(`drop schema "${server.schema}" cascade`);
  await server?.close();
  rmSync(folder, { recursive: true });
});

/** Each gives an empty index: those of one database are of several users. */
const kinds: readonly (readonly [string, () => Run])[] = [
  [
    "SQLite",
    () => {
      const store = new SqliteIndexStore(db, `user ${++stores}`);
      return async (asking) => runSync(asking, store);
    },
  ],
  [
    "a store behind a network",
    () => {
      const store = new EphemeralIndexStore();
      return (asking) => runAsync(asking, store);
    },
  ],
  ...(hasPostgres
    ? [
        [
          "PostgreSQL",
          (): Run => {
            const store = new PostgresIndexStore(server as PostgresDatabase, `user ${++stores}`);
            return (asking) => runAsync(asking, store);
          },
        ] as const,
      ]
    : []),
];

const ENTRIES = 1300;

function entry(number: number, what = "glued"): MemoryEntry {
  return {
    id: `entry-${number}`,
    content: `The heron number${number} by the weir has ${what}${number}.`,
    sessionId: `session-${number % 7}`,
    turn: number,
    kind: "message",
  };
}

/** Makes the index as an earlier rkat would have: its words are not those that this one finds in the texts. */
function* madeEarlier(): Asking<void> {
  yield* transaction("write", function* () {
    const draft = new Draft((yield* openHead()) as never);
    draft.head.version = 1;
    const rows: EntryRow[] = [];
    for (let after = -1; after < ENTRIES - 1; after = rows.at(-1)?.key ?? ENTRIES) {
      rows.push(...(yield* ask("entries", { after, limit: 500 })));
    }
    draft.remove("entries", ...rows);
    for (const { sessionId: _, roleText: __, speakerText: ___, ...row } of rows) {
      draft.put("entries", { ...row, content: row.content.replace("glued", "☕️cu\u00adp") });
    }
    yield* draft.save();
  });
}

async function earlierIndex(run: Run): Promise<void> {
  for (let at = 0; at < ENTRIES; at += 100) {
    await run(addEntries(Array.from({ length: 100 }, (_, more) => entry(at + more))));
  }
  while (await run(keepUp()));
  await run(madeEarlier());
}

async function finds(run: Run, query: string, index = new OpenIndex()): Promise<string[]> {
  const hits = await run(searchEntries(index, { query, limit: 3, minScore: 0.3 }));
  return hits.map(({ id }) => id);
}

describe.each(kinds)("an index of an earlier rkat on %s", (_, open) => {
  test("answers as before until it is made again, step by step, whoever takes the next one", async () => {
    const run = open();
    await earlierIndex(run);
    const reader = new OpenIndex();
    expect(await finds(run, "cup1207", reader)).toEqual([]);
    let steps = 0;
    for (let more = true; more; steps += 1) {
      expect(await finds(run, "number37", reader)).toEqual(["entry-37"]);
      const isRenewed = (await run(ask("head")))?.version === 2;
      expect(await finds(run, "glued1207", reader)).toEqual(isRenewed ? [] : ["entry-1207"]);
      expect(await finds(run, "cup1207")).toEqual(isRenewed ? ["entry-1207"] : []);
      await run(addEntries([entry(2000 + steps, "☕️glass")]));
      expect(await finds(run, `glass${2000 + steps}`, reader)).toEqual([`entry-${2000 + steps}`]);
      more = (await run(renewIndex())).more;
    }
    expect(steps).toBeGreaterThan(3);
    expect((await run(verifyIndex(() => new OpenIndex()))).problems).toEqual([]);
    expect(await finds(run, "cup12", reader)).toEqual(["entry-12"]);
    expect(await finds(run, "glass2001", reader)).toEqual(["entry-2001"]);
  }, 60_000);

  test("loses the words of a deleted text, also those that only the earlier rkat found", async () => {
    const run = open();
    await earlierIndex(run);
    const deleted = async (step: () => Asking<{ deleted: number; more: boolean }>) => {
      for (let count = 0; ; ) {
        const { deleted, more } = await run(step());
        count += deleted;
        if (!more) return count;
      }
    };
    expect(await deleted(() => deleteEntries(["entry-12"]))).toBe(1);
    expect(await deleted(() => deleteSession("session-3"))).toBe(186);
    expect(await finds(run, "glued12")).toEqual([]);
    expect(await finds(run, "cup12")).toEqual([]);
    const segments = await run(ask("segments"));
    const head = await run(ask("head"));
    expect(segments.filter(({ generation }) => generation !== head?.generation)).toEqual([]);
    expect((await run(verifyIndex(() => new OpenIndex()))).problems).toEqual([]);
  }, 60_000);

  test("is made again by what is done in the background", async () => {
    const run = open();
    await earlierIndex(run);
    while (await run(keepUp()));
    expect((await run(ask("head")))?.version).toBe(2);
    expect(await finds(run, "cup1207")).toEqual(["entry-1207"]);
    expect((await run(verifyIndex(() => new OpenIndex()))).problems).toEqual([]);
  }, 60_000);
});
