import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MEMORY_KINDS, type MemoryEntry } from "../src/core/memory-store.ts";
import { addEntries } from "../src/indexing/add.ts";
import { deleteEntries, deleteSession } from "../src/indexing/delete.ts";
import { OpenIndex } from "../src/indexing/open-index.ts";
import type { PassageIndex } from "../src/indexing/passages/passage-index.ts";
import { type Asking, ask, runAsync, runSync, transaction } from "../src/indexing/port/asking.ts";
import type { EntryRow } from "../src/indexing/port/index-store.ts";
import { findEntries } from "../src/indexing/score/find-entries.ts";
import { formsOf, readQuestion } from "../src/indexing/score/question.ts";
import { entryOf, placedEntry, wordsOf } from "../src/indexing/segments/entries.ts";
import { linksOf } from "../src/indexing/segments/runs.ts";
import { pairsOf } from "../src/indexing/segments/sorted-words.ts";
import { mergeSegments } from "../src/indexing/upkeep/merge.ts";
import { reindex } from "../src/indexing/upkeep/reindex.ts";
import { verifyIndex } from "../src/indexing/upkeep/verify.ts";
import type { Connection } from "../src/stores/sqlite/connection.ts";
import { openConnection } from "../src/stores/sqlite/open-connection.ts";
import { SqliteIndexStore } from "../src/stores/sqlite/sqlite-index-store.ts";
import { instant } from "../src/text/time/calendar.ts";
import { EphemeralIndexStore } from "./support/ephemeral-index-store.ts";
import { IN_LONG_FORM, LONG, trials } from "./support/trials.ts";

const RUNS = trials(2, 200);

/** One of several that read and write the same index. */
interface Reader {
  readonly index: OpenIndex;
  run<Result>(asking: Asking<Result>): Promise<Result>;
}

let folder: string;
let connections: Connection[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rkat-test-"));
  connections = [];
});

afterEach(async () => {
  for (const db of connections) db.close();
  await rm(folder, { recursive: true });
});

const STORES: readonly {
  readonly name: string;
  readonly runs: number;
  /** Opens a store; each call of what it returns is another reader of it. */
  open(name: string): () => Reader;
}[] = [
  {
    name: "SQLite",
    runs: RUNS,
    open: (name) => () => {
      const db = openConnection(join(folder, `${name}.db`));
      connections.push(db);
      const store = new SqliteIndexStore(db, "n");
      return { index: new OpenIndex(), run: async (asking) => runSync(asking, store) };
    },
  },
  {
    name: "a store that answers later",
    runs: RUNS,
    open: () => {
      const store = new EphemeralIndexStore();
      return () => ({ index: new OpenIndex(), run: (asking) => runAsync(asking, store) });
    },
  },
];

const VOCABULARY = "heron weir kiln 東京 café 🎂 walrus the of when? naïve getUserName".split(" ");

const text = fc
  .array(fc.constantFrom(...VOCABULARY, ". ", "\n"), { minLength: 1, maxLength: 12 })
  .chain((words) =>
    // Some texts are long enough for several passages.
    fc.constantFrom(1, 1, 1, 40).map((times) => `${words.join(" ")} `.repeat(times)),
  );

const entry = fc.record(
  {
    id: fc.nat(60).map((number) => `entry-${number}`),
    content: text,
    sessionId: fc.constantFrom("s", "r", "q"),
    turn: fc.constant(0),
    kind: fc.constantFrom(...MEMORY_KINDS),
    time: fc.constantFrom("2024-05-06T07:08:09.000Z", "2023-02-01", "never"),
    role: fc.constantFrom("user", "assistant"),
    speaker: fc.constantFrom("Caroline", "Melanie Müller"),
  },
  { requiredKeys: ["id", "content", "sessionId", "turn", "kind"] },
);

type Step =
  | { readonly type: "add"; readonly entries: readonly MemoryEntry[] }
  | { readonly type: "add many"; readonly count: number }
  | { readonly type: "delete"; readonly ids: readonly string[] }
  | { readonly type: "delete session"; readonly sessionId: string }
  | { readonly type: "merge" | "merge all" | "reindex step" | "reindex" | "look" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.array(entry, { minLength: 1, maxLength: 6 }).map(
      (entries): Step => ({
        type: "add",
        entries: entries as MemoryEntry[],
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(30, 300, 900).map((count): Step => ({ type: "add many", count })),
  },
  {
    weight: 3,
    arbitrary: fc
      .array(
        fc.nat(60).map((number) => `entry-${number}`),
        { maxLength: 20 },
      )
      .map((ids): Step => ({ type: "delete", ids })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("s", "r", "many-1")
      .map((sessionId): Step => ({ type: "delete session", sessionId })),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(
        "merge" as const,
        "merge all" as const,
        "reindex step" as const,
        "reindex" as const,
        "look" as const,
      )
      .map((type): Step => ({ type })),
  },
);

/** Small, so that much can happen while a segment grows. */
const STEP_BYTES = 3000;
let many = 0;

async function take(reader: Reader, taken: Step): Promise<void> {
  switch (taken.type) {
    case "add":
      await reader.run(addEntries(taken.entries));
      return;
    case "add many":
      many += 1;
      await reader.run(
        addEntries(
          Array.from({ length: taken.count }, (_, index) => ({
            id: `many-${many}-${index}`,
            content: `heron ${index % 7} word${index} weir${many}. `.repeat(
              index % 11 === 0 ? 60 : 1,
            ),
            sessionId: index % 6 === 0 ? "s" : `many-${index % 5}`,
            turn: index,
            kind: "message",
          })),
        ),
      );
      return;
    case "delete":
      while ((await reader.run(deleteEntries(taken.ids))).more);
      return;
    case "delete session":
      while ((await reader.run(deleteSession(taken.sessionId))).more);
      return;
    case "merge":
      await reader.run(mergeSegments(STEP_BYTES));
      return;
    case "merge all":
      while (await reader.run(mergeSegments(STEP_BYTES)));
      return;
    case "reindex step":
      await reader.run(reindex());
      return;
    case "reindex":
      while ((await reader.run(reindex())).more);
      return;
    case "look":
      await expectExact(reader);
      return;
  }
}

const QUESTIONS = ["heron weir", "Caroline's kiln 3", "東京 café", "when walrus weir1"];
const UNKNOWN = ["nowhere", "zebra", "a", "🎃"];
const BEGINNINGS = ["w", "東"];

/** The index says of every entry, and of nothing else, what its text says. */
async function expectExact({ index, run }: Reader): Promise<void> {
  const seen = await run(
    transaction("read", function* () {
      const rows = yield* ask("entries", { after: -1, limit: 1_000_000 });
      const words = pairsOf(wordsOf(rows.map(placedEntry)));
      const wanted = [
        ...words.map(([word]) => word),
        ...UNKNOWN,
        ...BEGINNINGS.map((beginning) => `${beginning}*`),
        ...QUESTIONS.flatMap((text) => formsOf(readQuestion(text))),
      ];
      const head = yield* index.catchUp({ words: wanted });
      const fresh = new OpenIndex();
      yield* fresh.catchUp({ words: wanted });
      return { rows, words, fresh, head, sessions: yield* ask("sessions", "all") };
    }),
  );
  if (!seen.head) return;
  const { rows, words, fresh, sessions } = seen;
  for (const [word, postings] of words) expect(index.postings(word), word).toEqual(postings);
  for (const word of UNKNOWN) {
    if (words.every(([known]) => known !== word)) {
      expect(index.postings(word).slots).toHaveLength(0);
    }
  }
  for (const beginning of BEGINNINGS) expectBeginning(index, words, beginning);
  expectColumns(
    index,
    rows,
    new Map(sessions.flatMap(({ runs }) => linksOf(runs)).map(({ slot, to }) => [slot, to])),
  );
  expectSameAsNew(index, fresh);
  expect((await run(verifyIndex(() => new OpenIndex()))).problems).toEqual([]);
}

/** What was kept in memory since earlier looks finds what a reader finds who reads all of it, the best alone too. */
function expectSameAsNew(index: PassageIndex, fresh: PassageIndex): void {
  for (const query of QUESTIONS) {
    const all = findEntries(fresh, { texts: [query], limit: 10_000, minMatch: 0 });
    for (const limit of [1, 4, 10_000]) {
      const found = findEntries(index, { texts: [query], limit, minMatch: 0 });
      expect(found, query).toEqual(all.slice(0, limit));
    }
  }
}

function expectBeginning(
  index: PassageIndex,
  words: ReturnType<typeof pairsOf>,
  beginning: string,
): void {
  const found = new Map<number, number>();
  for (const [word, { slots, hits }] of words) {
    if (!word.startsWith(beginning)) continue;
    for (const [at, slot] of slots.entries()) {
      found.set(slot, Math.max(found.get(slot) ?? 0, hits[at] ?? 0));
    }
  }
  const { slots, hits } = index.postings(`${beginning}*`);
  expect([...slots]).toEqual([...found.keys()].sort((one, other) => one - other));
  expect([...hits]).toEqual([...slots].map((slot) => found.get(slot)));
}

function expectColumns(
  index: PassageIndex,
  rows: readonly EntryRow[],
  links: ReadonlyMap<number, number>,
): void {
  const { columns } = index;
  const taken = new Set<number>();
  for (const row of rows) {
    const { passages } = placedEntry(row);
    const { role, speaker, kind, time } = entryOf(row);
    for (const [at, { length, flags }] of passages.entries()) {
      const slot = row.slot + at;
      taken.add(slot);
      const details = index.details(slot);
      expect({
        entry: columns.entry[slot],
        length: columns.length[slot],
        session: columns.session[slot],
        role: index.label(details.role[slot] ?? 0),
        speaker: index.label(details.speaker[slot] ?? 0),
        kind: MEMORY_KINDS[details.kind[slot] ?? -1],
        time: details.time[slot],
        flags: columns.flags[slot],
      }).toEqual({
        entry: row.slot,
        length,
        session: row.session,
        role,
        speaker,
        kind,
        time: instant(time),
        flags,
      });
    }
  }
  for (let slot = 0; slot < index.slots; slot += 1) {
    if (taken.has(slot)) continue;
    expect(columns.session[slot]).toBe(0);
    expect(columns.entry[slot]).toBe(links.get(slot) ?? 0);
  }
}

describe.each(STORES)("the index on $name", ({ name, runs, open }) => {
  test(
    "after any adding, deleting, merging and reindexing, it is what the texts say, for every reader",
    async () => {
      let round = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.nat(1), step), { minLength: 1, maxLength: 40 }),
          async (steps: readonly (readonly [number, Step])[]) => {
            round += 1;
            const reader = open(`${round}`);
            const both = [reader(), reader()] as const;
            for (const [which, taken] of steps) await take(both[which === 0 ? 0 : 1], taken);
            await expectExact(both[0]);
            await expectExact(both[1]);
            await expectExact(reader());
            await take(both[0], { type: "reindex" });
            await take(both[0], { type: "merge all" });
            await expectExact(both[1]);
          },
        ),
        { numRuns: runs },
      );
    },
    60_000 + 3000 * runs,
  );

  test("where a session goes on is what the last writer said, not what an earlier one did", async () => {
    const reader = open("links");
    const { run, index } = reader();
    const one = (id: string, passages: number): MemoryEntry => ({
      id,
      content: "heron and weir and kiln and walrus. ".repeat(8 * passages),
      sessionId: "s",
      turn: 0,
      kind: "message",
    });
    // A run that is full, one with a single passage, and one that a large transaction begins.
    await run(addEntries([one("1", 4)]));
    await run(addEntries([one("2", 1)]));
    await run(
      addEntries([
        one("3", 30),
        ...Array.from({ length: 1500 }, (_, number) => ({
          ...one(`other-${number}`, 1),
          content: `heron ${number} weir ${number + 1} kiln ${number + 2}`,
          sessionId: "r",
        })),
      ]),
    );
    await expectExact({ run, index });
    await expectExact(reader());
  });

  test("a word that is known keeps its places when one of the same question needs all of the cache", async () => {
    const { run } = open("small cache")();
    const words = Array.from({ length: 58 }, (_, at) => `weir${at}`).join(" ");
    await run(
      addEntries(
        Array.from({ length: 1200 }, (_, at) => ({
          id: `${at}`,
          content: `${at === 700 ? "otter" : "kiln"} heron ${words}`,
          sessionId: "s",
          turn: null,
          kind: "message",
        })),
      ),
    );
    const index = new OpenIndex(6000);
    for (const asked of [["otter"], ["heron", "otter"], ["otter"]]) {
      await run(index.catchUp({ words: asked }));
      expect(index.postings("otter").slots).toHaveLength(1);
    }
  });

  // What merges is the same code on both, and answers that come later are in the random steps above.
  test.skipIf(!LONG && name !== "SQLite")(
    "what is deleted while a segment grows is in neither the old ones nor the new one",
    IN_LONG_FORM,
    async () => {
      const reader = open("growing");
      const [one, other] = [reader(), reader()];
      const ids = Array.from({ length: 4000 }, (_, index) => `entry-${index}`);
      for (let start = 0; start < ids.length; start += 800) {
        await one.run(
          addEntries(
            ids.slice(start, start + 800).map((id, index) => ({
              id,
              content: `heron ${index} weir${start + index} kiln walrus ${index % 9}`,
              sessionId: `session-${index % 7}`,
              turn: null,
              kind: "message",
            })),
          ),
        );
      }
      let steps = 0;
      while (await one.run(mergeSegments(STEP_BYTES))) {
        steps += 1;
        const gone = [`entry-${(steps * 37) % 4000}`, `entry-${steps}`];
        await other.run(deleteEntries(gone));
        if (steps % 30 === 0) await expectExact(other);
      }
      expect(steps).toBeGreaterThan(20);
      await expectExact(one);
      await expectExact(other);
    },
  );
});
