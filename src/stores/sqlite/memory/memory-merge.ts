import type { Connection } from "../connection.ts";
import { deleteColumns, joinRecords, unpackRecords } from "./memory-columns.ts";
import { mergeWords } from "./memory-merge-words.ts";
import {
  findNamespace,
  type MemoryNamespace,
  openNamespace,
  saveNamespace,
} from "./memory-namespace.ts";
import { segmentWords } from "./memory-segment-words.ts";
import {
  allSegments,
  bytesOf,
  type Extent,
  insertBlocks,
  insertSegment,
  LEVEL_FACTOR,
  levelOf,
  type Segment,
  smallSegment,
  writeSegment,
} from "./memory-segments.ts";
import { WordBlock, wordBytes } from "./memory-word-block.ts";
import { WordPlaces } from "./memory-word-places.ts";
import { type PackedBlock, WordWriter } from "./memory-word-writer.ts";

/** Small segments are merged by whoever adds one too many. */
const NEWEST_MAX = 16;

/** Makes one segment of the newest ones when they are many, in a transaction. */
export function mergeNewest(
  db: Connection,
  namespace: MemoryNamespace,
  generation: number = namespace.generation,
): void {
  if ((waiting(db, namespace, generation).get(0) ?? 0) < NEWEST_MAX) return;
  const inputs = mergeable(db, namespace, generation).filter(({ level }) => level === 0);
  const blobs = inputs.map(({ number }) => smallSegment(db, number));
  const places = new WordPlaces();
  for (const { words } of blobs) if (words) new WordBlock(words).addTo(places);
  const records = blobs.map(({ columns }) => unpackRecords(columns));
  for (const { number } of inputs) {
    db.run("DELETE FROM memory_segment WHERE number = ?", number);
  }
  writeSegment(db, namespace, extentOf(inputs), places.sorted(), joinRecords(records));
}

/** Whether there is something for `mergeStep` to do. */
export function isMergeDue(
  db: Connection,
  namespace: MemoryNamespace,
  generation: number = namespace.generation,
): boolean {
  const sql =
    "SELECT 1 FROM memory_segment WHERE namespace = ? AND (state = 'gone' OR (state = 'growing' AND generation = ?))";
  if (db.get(sql, namespace.number, generation)) return true;
  return levelToMerge(waiting(db, namespace, generation)) > 0;
}

/** What one step adds to a segment, about: it is read and packed before the lock is taken. */
const STEP_BYTES = 400_000;

/** One short step of merging what waits in a namespace; returns whether there may be more. */
export function mergeMemories(
  db: Connection,
  name: string,
  stepBytes: number = STEP_BYTES,
): boolean {
  const namespace = openNamespace(db, name);
  if (!namespace) return false;
  return (
    mergeStep(db, namespace, namespace.generation, stepBytes) || clearOldColumns(db, namespace)
  );
}

/**
 * The next step of a merge, each a short transaction. A segment grows, by the order of words,
 * out of those that it is to replace, and is not searched; in one step it takes their place;
 * then they are deleted, a few blocks at a time. Whoever comes after one that was killed goes
 * on where that one was.
 */
export function mergeStep(
  db: Connection,
  namespace: MemoryNamespace,
  generation: number,
  stepBytes: number = STEP_BYTES,
): boolean {
  const segments = allSegments(db, namespace);
  const gone = segments.find(({ state }) => state === "gone");
  if (gone) {
    deleteSome(db, gone);
    return true;
  }
  const growing = segments.find(
    (segment) => segment.state === "growing" && segment.generation === generation,
  );
  if (growing) {
    grow(db, namespace.name, growing, stepBytes);
    return true;
  }
  return startMerge(db, namespace.name, generation);
}

/** Deletes columns of an index that was replaced. */
function clearOldColumns(db: Connection, namespace: MemoryNamespace): boolean {
  // While the next index is built, those of its generation are its own.
  if (namespace.rebuilt !== null) return false;
  return db.writeUnsynced(() =>
    deleteColumns(db, namespace, namespace.generation + 1, STEP_BLOCKS),
  );
}

/** How many segments of each level are in no merge. */
function waiting(
  db: Connection,
  namespace: MemoryNamespace,
  generation: number,
): ReadonlyMap<number, number> {
  const rows = db.all<{ level: number; count: number }>(
    `SELECT level, count(*) AS count FROM memory_segment
     WHERE namespace = ? AND generation = ? AND state = 'whole' AND becomes IS NULL GROUP BY level`,
    namespace.number,
    generation,
  );
  return new Map(rows.map(({ level, count }) => [level, count]));
}

/** The highest level that has enough for a merge; 0 when none has. */
function levelToMerge(counts: ReadonlyMap<number, number>): number {
  const full = [...counts].filter(([level, count]) => level > 0 && count >= LEVEL_FACTOR);
  return Math.max(0, ...full.map(([level]) => level));
}

function mergeable(db: Connection, namespace: MemoryNamespace, generation: number): Segment[] {
  return allSegments(db, namespace).filter(
    (segment) =>
      segment.generation === generation && segment.state === "whole" && segment.becomes === null,
  );
}

function extentOf(inputs: readonly Segment[]): Extent {
  return {
    generation: inputs[0]?.generation ?? 0,
    first_entry: Math.min(...inputs.map(({ first_entry }) => first_entry)),
    last_entry: Math.max(...inputs.map(({ last_entry }) => last_entry)),
    first_change: Math.min(...inputs.map(({ first_change }) => first_change)),
    last_change: Math.max(...inputs.map(({ last_change }) => last_change)),
  };
}

function startMerge(db: Connection, name: string, generation: number): boolean {
  return db.writeUnsynced(() => {
    const namespace = findNamespace(db, name);
    const level = namespace && levelToMerge(waiting(db, namespace, generation));
    if (!namespace || !level) return false;
    // What is smaller comes along: it costs little, and leaves fewer segments to search.
    const inputs = mergeable(db, namespace, generation).filter(
      (segment) => segment.level > 0 && segment.level <= level,
    );
    const number = insertSegment(db, namespace, extentOf(inputs), {
      state: "growing",
      level: level + 1,
      postings: 0,
      bytes: 0,
    });
    for (const input of inputs) {
      db.run("UPDATE memory_segment SET becomes = ? WHERE number = ?", number, input.number);
    }
    saveNamespace(db, namespace);
    return true;
  });
}

interface Growth {
  readonly blocks: readonly PackedBlock[];
  readonly postings: number;
  /** The last word of the blocks; `undefined` when there are no more words. */
  readonly lastWord: string | undefined;
  /** What the growth was read from. */
  readonly grown: Uint8Array | null;
  readonly removedAt: number;
}

function grow(db: Connection, name: string, { number }: Segment, stepBytes: number): void {
  const growth = db.read(() => growthOf(db, name, number, stepBytes));
  if (!growth) return;
  db.writeUnsynced(() => {
    const namespace = findNamespace(db, name);
    const now = growing(db, number);
    // Somebody else has gone on with it, or has deleted some of what was read: once more, then.
    if (!namespace || !now || !isSame(now.grown, growth.grown)) return;
    if (namespace.removed_at !== growth.removedAt) return;
    insertBlocks(db, number, growth.blocks);
    const { lastWord } = growth;
    db.run(
      "UPDATE memory_segment SET grown = ?, postings = postings + ?, bytes = bytes + ? WHERE number = ?",
      lastWord === undefined ? null : wordBytes(lastWord),
      growth.postings,
      bytesOf(growth.blocks),
      number,
    );
    if (lastWord !== undefined) return;
    db.run(
      "UPDATE memory_segment SET state = 'whole', level = ? WHERE number = ?",
      Math.max(1, levelOf(growing(db, number)?.postings ?? 0)),
      number,
    );
    db.run("UPDATE memory_segment SET state = 'gone' WHERE becomes = ?", number);
    namespace.changes += 1;
    saveNamespace(db, namespace);
  });
}

function growing(
  db: Connection,
  number: number,
): { readonly grown: Uint8Array | null; readonly postings: number } | undefined {
  return db.get(
    "SELECT grown, postings FROM memory_segment WHERE number = ? AND state = 'growing'",
    number,
  );
}

function growthOf(
  db: Connection,
  name: string,
  number: number,
  stepBytes: number,
): Growth | undefined {
  const namespace = findNamespace(db, name);
  const now = growing(db, number);
  if (!namespace || !now) return undefined;
  const { grown } = now;
  const last = grown === null ? undefined : Buffer.from(grown).toString();
  const inputs = allSegments(db, namespace).filter(({ becomes }) => becomes === number);
  const words = mergeWords(inputs.map((input) => segmentWords(db, input, grown ?? undefined)));
  const writer = new WordWriter();
  let postings = 0;
  let lastWord: string | undefined;
  for (const [word, where] of words) {
    if (word === last) continue;
    writer.add(word, where);
    postings += where.slots.length;
    lastWord = word;
    if (writer.size >= stepBytes) {
      const blocks = writer.take();
      return { blocks, postings, lastWord, grown, removedAt: namespace.removed_at };
    }
  }
  const blocks = writer.take();
  return { blocks, postings, lastWord: undefined, grown, removedAt: namespace.removed_at };
}

function isSame(one: Uint8Array | null, other: Uint8Array | null): boolean {
  if (one === null || other === null) return one === other;
  return Buffer.compare(one, other) === 0;
}

/** Blocks that one step deletes: each is overwritten. */
const STEP_BLOCKS = 250;

function deleteSome(db: Connection, { number }: Segment): void {
  db.writeUnsynced(() => {
    const deleted = db.run(
      `DELETE FROM memory_word_block WHERE number IN (
         SELECT number FROM memory_word_block WHERE segment = ? LIMIT ?)`,
      number,
      STEP_BLOCKS,
    );
    if (deleted < STEP_BLOCKS) db.run("DELETE FROM memory_segment WHERE number = ?", number);
  });
}
