import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Postings } from "../../../search/passage-index.ts";
import type { Connection } from "../connection.ts";
import { openConnection } from "../open-connection.ts";
import { newColumns } from "./memory-column-format.ts";
import { LoadedSegment } from "./memory-loaded-segment.ts";
import { keepNamespace } from "./memory-namespace.ts";
import { unitePostings } from "./memory-postings.ts";
import { postingsInBlocks, segmentWords } from "./memory-segment-words.ts";
import { allSegments, type Segment, writeSegment } from "./memory-segments.ts";
import { wordBytes } from "./memory-word-block.ts";

let folder: string;
let db: Connection;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rkat-segment-"));
  db = openConnection(join(folder, "rkat.db"));
});

afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

/** Slots with changing hits, so that they take room. */
function postings(first: number, count: number): Postings {
  const slots = Uint32Array.from({ length: count }, (_, index) => first + 3 * index);
  return { slots, hits: Uint8Array.from(slots, (slot) => 1 + (slot % 13)) };
}

function segmentOf(words: readonly (readonly [string, Postings])[]): Segment {
  const namespace = keepNamespace(db, "default");
  const extent = { generation: 0, first_entry: 0, last_entry: 0, first_change: 1, last_change: 1 };
  const records = { slots: new Uint32Array(), columns: newColumns(0) };
  db.write(() => writeSegment(db, namespace, extent, words, records));
  return allSegments(db, namespace)[0] as Segment;
}

const FEW = Array.from({ length: 300 }, (_, index) => `few${String(index).padStart(3, "0")}`);

test.each([
  ["one of the newest", 0, FEW.map((word, at) => [word, postings(at, 2)] as const)],
  [
    "one with words that do not fit a block",
    2,
    [
      ["a", postings(0, 9000)] as const,
      ...FEW.map((word, at) => [word, postings(at, 9)] as const),
      ["many", postings(1, 9000)] as const,
      ["more", postings(5, 7000)] as const,
      ["z", postings(7, 1)] as const,
    ],
  ],
])("%s has the same words in memory as in its blocks", (_, level, words) => {
  const segment = segmentOf(words);
  expect(segment.level).toBe(level);
  const loaded = LoadedSegment.of(db, segment);
  const known = new Map(words);
  for (const word of [...known.keys(), "", "0", "few", "few1500", "man", "many1", "zz"]) {
    const bytes = wordBytes(word);
    const found = unitePostings([...(loaded?.postings(bytes) ?? [])]);
    expect(found, word).toEqual(
      unitePostings(known.has(word) ? [known.get(word) as Postings] : []),
    );
    if (level > 0)
      expect(found).toEqual(unitePostings(postingsInBlocks(db, segment.number, bytes)));
    const first = [...(loaded?.words(bytes) ?? [])].slice(0, 3);
    expect(first, word).toEqual([...segmentWords(db, segment, bytes)].slice(0, 3));
  }
});

test("a large one is not loaded", () => {
  expect(LoadedSegment.of(db, segmentOf([["a", postings(0, 70_000)]]))).toBeUndefined();
});
