import type { Postings } from "../../../search/passage-index.ts";
import type { Connection } from "../connection.ts";
import {
  foldColumns,
  joinRecords,
  packRecords,
  type SlotRecords,
  unpackRecords,
} from "./memory-columns.ts";
import { KEYS, type MemoryNamespace } from "./memory-namespace.ts";
import { type PackedBlock, packWords, WordWriter } from "./memory-word-writer.ts";

/**
 * The words of some entries, and where they are. A segment is written once; afterwards only
 * deletions change it. Every transaction that adds entries writes one. Several of about the same
 * size become one (`memory-merge.ts`):
 *
 *     level 0   ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪   the newest, each one blob of words and one of columns
 *     level 1   ▬▬▬                each a few blocks of words, a page each, found by their first word
 *     level 2   ▬▬▬▬▬▬▬▬▬▬▬
 *
 * Words of one passage are in one segment, so the places of a word are those in all segments.
 */
export interface Segment {
  readonly number: number;
  readonly generation: number;
  readonly state: "whole" | "growing" | "gone";
  readonly becomes: number | null;
  readonly level: number;
  readonly first_entry: number;
  readonly last_entry: number;
  readonly first_change: number;
  readonly last_change: number;
  readonly postings: number;
  readonly bytes: number;
}

const HEAD = `number, generation, state, becomes, level, first_entry, last_entry, first_change,
  last_change, postings, bytes`;

/** Those that a search looks into, oldest first. */
export function searchedSegments(db: Connection, namespace: MemoryNamespace): Segment[] {
  return db.all<Segment>(
    `SELECT ${HEAD} FROM memory_segment
     WHERE namespace = ? AND generation = ? AND state = 'whole' ORDER BY number`,
    namespace.number,
    namespace.generation,
  );
}

/** All that there are, those that no search looks into too. */
export function allSegments(db: Connection, namespace: MemoryNamespace): Segment[] {
  return db.all<Segment>(
    `SELECT ${HEAD} FROM memory_segment WHERE namespace = ? ORDER BY number`,
    namespace.number,
  );
}

/** Postings of a segment that is one blob. */
const SMALL_POSTINGS = 4096;
/** A level is so many times as large as the one before. */
export const LEVEL_FACTOR = 4;

export function levelOf(postings: number): number {
  if (postings <= SMALL_POSTINGS) return 0;
  return 1 + Math.floor(Math.log(postings / SMALL_POSTINGS) / Math.log(LEVEL_FACTOR));
}

/** What a new segment covers. */
export type Extent = Pick<
  Segment,
  "generation" | "first_entry" | "last_entry" | "first_change" | "last_change"
>;

/** Writes a segment of words in their order, and its columns. */
export function writeSegment(
  db: Connection,
  namespace: MemoryNamespace,
  extent: Extent,
  words: readonly (readonly [string, Postings])[],
  records: SlotRecords,
): void {
  const postings = words.reduce((sum, [, { slots }]) => sum + slots.length, 0);
  const level = levelOf(postings);
  if (level === 0) {
    const packed = packWords(words);
    insertSegment(db, namespace, extent, {
      state: "whole",
      level,
      postings,
      bytes: packed?.length ?? 0,
      words: packed,
      columns: packRecords(records),
    });
    return;
  }
  const writer = new WordWriter();
  for (const [word, where] of words) writer.add(word, where);
  const blocks = writer.take();
  const bytes = bytesOf(blocks);
  const number = insertSegment(db, namespace, extent, { state: "whole", level, postings, bytes });
  insertBlocks(db, number, blocks);
  foldNewest(db, namespace, extent.generation);
  foldColumns(db, namespace, extent.generation, records);
}

/** Inserts the row of a segment and returns its number. */
export function insertSegment(
  db: Connection,
  namespace: MemoryNamespace,
  extent: Extent,
  row: Pick<Segment, "state" | "level" | "postings" | "bytes"> & {
    readonly words?: Uint8Array | null;
    readonly columns?: Uint8Array | null;
  },
): number {
  namespace.changes += 1;
  const number = namespace.number * KEYS + namespace.changes;
  db.run(
    `INSERT INTO memory_segment (number, namespace, generation, state, level, first_entry, last_entry,
                                 first_change, last_change, postings, bytes, words, columns)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    number,
    namespace.number,
    extent.generation,
    row.state,
    row.level,
    extent.first_entry,
    extent.last_entry,
    extent.first_change,
    extent.last_change,
    row.postings,
    row.bytes,
    row.words ?? null,
    row.columns ?? null,
  );
  return number;
}

export function insertBlocks(
  db: Connection,
  segment: number,
  blocks: readonly PackedBlock[],
): void {
  for (const { first, slot, data } of blocks) {
    db.run(
      "INSERT INTO memory_word_block (segment, first, slot, data) VALUES (?, ?, ?, ?)",
      segment,
      first,
      slot,
      data,
    );
  }
}

export function bytesOf(blocks: readonly PackedBlock[]): number {
  return blocks.reduce((sum, { data }) => sum + data.length, 0);
}

/** Moves the columns of small segments into blocks: what is written there next is newer. */
export function foldNewest(db: Connection, namespace: MemoryNamespace, generation: number): void {
  const rows = db.all<{ number: number; columns: Uint8Array }>(
    `SELECT number, columns FROM memory_segment
     WHERE namespace = ? AND generation = ? AND columns IS NOT NULL ORDER BY number`,
    namespace.number,
    generation,
  );
  if (rows.length === 0) return;
  foldColumns(
    db,
    namespace,
    generation,
    joinRecords(rows.map(({ columns }) => unpackRecords(columns))),
  );
  for (const { number } of rows) {
    db.run("UPDATE memory_segment SET columns = NULL WHERE number = ?", number);
  }
}

/** The blobs of a small segment. */
export function smallSegment(
  db: Connection,
  number: number,
): { readonly words: Uint8Array | null; readonly columns: Uint8Array | null } {
  const sql = "SELECT words, columns FROM memory_segment WHERE number = ?";
  return db.get(sql, number) ?? { words: null, columns: null };
}
