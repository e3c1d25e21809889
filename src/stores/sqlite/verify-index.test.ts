import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { sampled } from "../../../test/support/trials.ts";
import type { Connection } from "./connection.ts";
import { openDatabase } from "./database.ts";
import { openConnection } from "./open-connection.ts";
import { SqliteMemoryStore } from "./sqlite-memory-store.ts";

let folder: string;
let store: SqliteMemoryStore;

const path = () => join(folder, "rkat.db");
const sound = () => join(folder, "sound.db");

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rkat-test-"));
  const store = new SqliteMemoryStore(openDatabase({ path: sound() }));
  for (let batch = 0; batch < 3; batch += 1) {
    await store.add(
      Array.from({ length: 700 }, (_, index) => ({
        id: `${batch}-${index}`,
        content: `heron number${batch}x${index} by the weir`,
        sessionId: `session-${index % 20}`,
        turn: index,
        kind: "message" as const,
        role: "user",
      })),
    );
  }
  await store.add([{ id: "last", content: "osprey", sessionId: "s", turn: 0, kind: "fact" }]);
  await store.finishMerging();
  await store.close();
});

afterAll(() => rm(folder, { recursive: true }));

beforeEach(async () => {
  await copyFile(sound(), path());
  store = new SqliteMemoryStore(openDatabase({ path: path() }));
});

afterEach(() => store.close());

/** One word, "a", which is said to be in some 500 million places. */
const WORDS_WITHOUT_END = "02 0100 0500 01 61 fcffffff07".replaceAll(" ", "");

const DAMAGES: readonly {
  readonly what: string;
  readonly damage: string;
  readonly says: RegExp;
}[] = [
  {
    what: "words that are not in the index",
    damage:
      "DELETE FROM memory_word_block WHERE number = (SELECT min(number) FROM memory_word_block)",
    says: /The index lacks \d+ words of entry/,
  },
  {
    what: "a small segment that is gone",
    damage: "DELETE FROM memory_segment WHERE level = 0",
    says: /of entry last/,
  },
  {
    what: "words of an entry that is no more",
    damage: "DELETE FROM memory_entry WHERE id = '1-17'",
    says: /words of an entry that is no more/,
  },
  {
    what: "an entry that says something else",
    damage: "UPDATE memory_entry SET content = 'quetzal' WHERE id = '2-3'",
    says: /of entry 2-3/,
  },
  {
    what: "columns that are gone",
    damage:
      "DELETE FROM memory_column_block WHERE key = (SELECT max(key) FROM memory_column_block)",
    says: /another entry, .*session.* of entry/,
  },
  {
    what: "a count that is wrong",
    damage: "UPDATE memory_namespace SET passages = passages + 1",
    says: /should have 2102 passages, and has 2101/,
  },
  {
    what: "the counts of a session",
    damage: "UPDATE memory_session SET text_bytes = 1 WHERE id = 'session-3'",
    says: /counts of session session-3/,
  },
  {
    what: "a segment that holds less than it says",
    damage: "UPDATE memory_segment SET postings = postings + 5 WHERE level > 0",
    says: /should have \d+ places of words, and has/,
  },
  {
    what: "blocks of words that rkat did not write",
    damage: "UPDATE memory_word_block SET data = CAST(x'02ffff' || randomblob(500) AS BLOB)",
    says: /words of it cannot be read/,
  },
  {
    what: "a small segment that rkat did not write",
    damage: `UPDATE memory_segment SET words = x'${WORDS_WITHOUT_END}' WHERE level = 0`,
    says: /words of it cannot be read/,
  },
  {
    what: "blocks of columns that are cut off",
    damage: "UPDATE memory_column_block SET data = substr(data, 1, 20)",
    says: /columns of it cannot be read/,
  },
];

test("a check finds nothing wrong with a sound index", async () => {
  expect((await store.verify()).problems).toEqual([]);
});

test.each(sampled(DAMAGES, { of: 2, at: 0 }, "cases"))(
  "a check finds $what",
  async ({ damage, says }) => {
    inFile((db) => db.exec(damage));
    const { problems } = await store.verify();
    expect(
      problems.some((problem) => says.test(problem)),
      problems.join("\n"),
    ).toBe(true);
    expect(problems.length).toBeLessThanOrEqual(100);
  },
);

const WORDS_AND_COUNTS = `DELETE FROM memory_word_block;
  DELETE FROM memory_segment WHERE level = 0;
  UPDATE memory_namespace SET passages = 0;
  UPDATE memory_session SET entries = 3 WHERE id = 'session-3';
  UPDATE memory_label SET uses = 7`;
const COLUMNS = "UPDATE memory_column_block SET data = zeroblob(400)";

test.each([
  { what: "words and counts", damage: WORDS_AND_COUNTS, problems: 50 },
  // Columns that cannot be read end the check.
  { what: "columns", damage: `${WORDS_AND_COUNTS}; ${COLUMNS}`, problems: 0 },
])("rebuilding the index mends $what", async ({ damage, problems }) => {
  const expected = await store.search({ query: "number1x17", limit: 3 });
  inFile((db) => db.exec(damage));
  expect((await store.verify()).problems.length).toBeGreaterThan(problems);
  const seen: number[] = [];
  await store.reindex({ onProgress: ({ done }) => seen.push(done) });
  expect(seen.toSorted((one, other) => one - other)).toEqual(seen);
  expect((await store.verify()).problems).toEqual([]);
  expect(await store.search({ query: "number1x17", limit: 3 })).toEqual(expected);
});

function inFile(change: (db: Connection) => void): void {
  const db = openConnection(path());
  try {
    change(db);
  } finally {
    db.close();
  }
}
