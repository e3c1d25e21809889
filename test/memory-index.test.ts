import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MEMORY_KINDS, type MemoryEntry } from "../src/core/memory-store.ts";
import { findEntries } from "../src/search/find-entries.ts";
import { instant } from "../src/search/instant.ts";
import type { PassageIndex } from "../src/search/passage-index.ts";
import type { Connection } from "../src/stores/sqlite/connection.ts";
import { addMemories } from "../src/stores/sqlite/memory/memory-add.ts";
import {
  deleteMemories,
  deleteSessionMemories,
} from "../src/stores/sqlite/memory/memory-delete.ts";
import { passageIndex } from "../src/stores/sqlite/memory/memory-indexes.ts";
import { mergeMemories } from "../src/stores/sqlite/memory/memory-merge.ts";
import { findNamespace } from "../src/stores/sqlite/memory/memory-namespace.ts";
import { MemoryPassageIndex } from "../src/stores/sqlite/memory/memory-passage-index.ts";
import { PostingsCache } from "../src/stores/sqlite/memory/memory-postings-cache.ts";
import { reindexMemories } from "../src/stores/sqlite/memory/memory-reindex.ts";
import {
  entryOf,
  type MemoryRow,
  placedEntry,
  SELECT_MEMORY,
} from "../src/stores/sqlite/memory/memory-row.ts";
import { linksOf, runsOf } from "../src/stores/sqlite/memory/memory-slots.ts";
import { verifyMemories } from "../src/stores/sqlite/memory/memory-verify.ts";
import { wordsOf } from "../src/stores/sqlite/memory/memory-words.ts";
import { openConnection } from "../src/stores/sqlite/open-connection.ts";

const RUNS = Number(process.env.RKAT_INDEX_RUNS ?? 12);

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

function open(name: string): Connection {
  const db = openConnection(join(folder, `${name}.db`));
  connections.push(db);
  return db;
}

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

const NAMESPACE = "n";
/** Small, so that much can happen while a segment grows. */
const STEP_BYTES = 3000;
let many = 0;

function take(db: Connection, taken: Step): void {
  switch (taken.type) {
    case "add":
      addMemories(db, NAMESPACE, taken.entries);
      return;
    case "add many":
      many += 1;
      addMemories(
        db,
        NAMESPACE,
        Array.from({ length: taken.count }, (_, index) => ({
          id: `many-${many}-${index}`,
          content: `heron ${index % 7} word${index} weir${many}. `.repeat(
            index % 11 === 0 ? 60 : 1,
          ),
          sessionId: index % 6 === 0 ? "s" : `many-${index % 5}`,
          turn: index,
          kind: "message",
        })),
      );
      return;
    case "delete":
      while (deleteMemories(db, NAMESPACE, taken.ids).more);
      return;
    case "delete session":
      while (deleteSessionMemories(db, NAMESPACE, taken.sessionId).more);
      return;
    case "merge":
      mergeMemories(db, NAMESPACE, STEP_BYTES);
      return;
    case "merge all":
      while (mergeMemories(db, NAMESPACE, STEP_BYTES));
      return;
    case "reindex step":
      reindexMemories(db, NAMESPACE);
      return;
    case "reindex":
      while (reindexMemories(db, NAMESPACE).more);
      return;
    case "look":
      expectExact(db);
      return;
  }
}

/** The index says of every entry, and of nothing else, what its text says. */
function expectExact(db: Connection): void {
  db.read(() => {
    const namespace = findNamespace(db, NAMESPACE);
    if (!namespace) return;
    const index: PassageIndex = passageIndex(db, namespace);
    const rows = db.all<MemoryRow>(`${SELECT_MEMORY} WHERE entry.namespace = ?`, namespace.number);
    const words = wordsOf(rows.map(placedEntry));
    for (const [word, postings] of words) expect(index.postings(word), word).toEqual(postings);
    for (const word of ["nowhere", "zebra", "a", "🎃"]) {
      if (words.every(([known]) => known !== word)) {
        expect(index.postings(word).slots).toHaveLength(0);
      }
    }
    expectBeginning(index, words, "w");
    expectBeginning(index, words, "東");
    expectColumns(db, index, rows);
    expectSameAsNew(index, new MemoryPassageIndex(db, namespace, new PostingsCache(1_000_000)));
  });
  expect(verified(db)).toEqual([]);
}

/** What was kept in memory since earlier looks finds what one who reads all of it finds, the best alone too. */
function expectSameAsNew(index: PassageIndex, fresh: PassageIndex): void {
  for (const query of ["heron weir", "Caroline's kiln 3", "東京 café", "when walrus weir1"]) {
    const all = findEntries(fresh, { texts: [query], limit: 10_000, minScore: 0 });
    for (const limit of [1, 4, 10_000]) {
      const found = findEntries(index, { texts: [query], limit, minScore: 0 });
      expect(found, query).toEqual(all.slice(0, limit));
    }
  }
}

function expectBeginning(
  index: PassageIndex,
  words: ReturnType<typeof wordsOf>,
  beginning: string,
): void {
  const found = new Map<number, number>();
  for (const [word, { slots, hits }] of words) {
    if (!word.startsWith(beginning)) continue;
    for (const [at, slot] of slots.entries()) {
      found.set(slot, Math.max(found.get(slot) ?? 0, hits[at] ?? 0));
    }
  }
  const { slots, hits } = index.postingsOfBeginning(beginning);
  expect([...slots]).toEqual([...found.keys()].sort((one, other) => one - other));
  expect([...hits]).toEqual([...slots].map((slot) => found.get(slot)));
}

function expectColumns(db: Connection, index: PassageIndex, rows: readonly MemoryRow[]): void {
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
        session: index.sessionNumber(row.session_id),
        role,
        speaker,
        kind,
        time: instant(time),
        flags,
      });
    }
  }
  const links = new Map(
    [...new Set(rows.map(({ session }) => session))].flatMap((session) =>
      linksOf(runsOf(db, findNamespace(db, NAMESPACE)?.number ?? -1, session)).map(
        ({ slot, to }): [number, number] => [slot, to],
      ),
    ),
  );
  for (let slot = 0; slot < index.slots; slot += 1) {
    if (taken.has(slot)) continue;
    expect(columns.session[slot]).toBe(0);
    expect(index.links.get(slot)).toBe(links.get(slot));
  }
}

function verified(db: Connection): readonly string[] {
  for (;;) {
    const { check } = verifyMemories(db, NAMESPACE);
    if (check) return check.problems;
  }
}

test(
  "after any adding, deleting, merging and reindexing, the index is what the texts say, on every connection",
  () => {
    let round = 0;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(1), step), { minLength: 1, maxLength: 40 }),
        (steps: readonly (readonly [number, Step])[]) => {
          round += 1;
          const both = [open(`${round}`), open(`${round}`)] as const;
          for (const [which, taken] of steps) take(both[which === 0 ? 0 : 1], taken);
          expectExact(both[0]);
          expectExact(both[1]);
          expectExact(open(`${round}`));
          while (reindexMemories(both[0], NAMESPACE).more);
          while (mergeMemories(both[0], NAMESPACE));
          expectExact(both[1]);
        },
      ),
      { numRuns: RUNS },
    );
  },
  30_000 + 3000 * RUNS,
);

test("where a session goes on is what the last writer said, not what an earlier one did", () => {
  const db = open("links");
  const one = (id: string, passages: number): MemoryEntry => ({
    id,
    content: "heron and weir and kiln and walrus. ".repeat(8 * passages),
    sessionId: "s",
    turn: 0,
    kind: "message",
  });
  // A run that is full, one with a single passage, and one that a large transaction begins.
  addMemories(db, NAMESPACE, [one("1", 4)]);
  addMemories(db, NAMESPACE, [one("2", 1)]);
  addMemories(db, NAMESPACE, [
    one("3", 30),
    ...Array.from({ length: 1500 }, (_, index) => ({
      ...one(`other-${index}`, 1),
      content: `heron ${index} weir ${index + 1} kiln ${index + 2}`,
      sessionId: "r",
    })),
  ]);
  expectExact(db);
  expectExact(open("links"));
});

test("what is deleted while a segment grows is in neither the old ones nor the new one", () => {
  const [one, other] = [open("growing"), open("growing")];
  const ids = Array.from({ length: 4000 }, (_, index) => `entry-${index}`);
  for (let start = 0; start < ids.length; start += 800) {
    addMemories(
      one,
      NAMESPACE,
      ids.slice(start, start + 800).map((id, index) => ({
        id,
        content: `heron ${index} weir${start + index} kiln walrus ${index % 9}`,
        sessionId: `session-${index % 7}`,
        turn: null,
        kind: "message",
      })),
    );
  }
  let steps = 0;
  while (mergeMemories(one, NAMESPACE, STEP_BYTES)) {
    steps += 1;
    deleteMemories(other, NAMESPACE, [`entry-${(steps * 37) % 4000}`, `entry-${steps}`]);
    if (steps % 30 === 0) expectExact(other);
  }
  expect(steps).toBeGreaterThan(20);
  expectExact(one);
  expectExact(other);
});
