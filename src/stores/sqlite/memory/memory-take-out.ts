import type { Postings } from "../../../search/passage-index.ts";
import type { Connection } from "../connection.ts";
import { withoutSlots } from "./memory-postings.ts";
import { blockWords } from "./memory-segment-words.ts";
import { type Segment, smallSegment } from "./memory-segments.ts";
import { WordBlock, wordBytes } from "./memory-word-block.ts";
import { packWords } from "./memory-word-writer.ts";

type Words = readonly (readonly [string, Postings])[];

/** Takes words out of the places where they are said to be, in each of the segments. In a transaction. */
export function takeOutWords(db: Connection, segments: readonly Segment[], words: Words): void {
  for (const segment of segments) {
    if (segment.level === 0) takeOutOfSmall(db, segment.number, words);
    else takeOutOfBlocks(db, segment.number, words);
  }
}

function takeOutOfSmall(db: Connection, segment: number, words: Words): void {
  const row = smallSegment(db, segment);
  if (!row.words) return;
  const { data, removed } = blockWithout(row.words, words);
  if (removed === 0) return;
  db.run(
    "UPDATE memory_segment SET words = ?, postings = postings - ?, bytes = ? WHERE number = ?",
    data,
    removed,
    data?.length ?? 0,
    segment,
  );
  deleteEmpty(db, segment);
}

interface BlockRow {
  readonly number: number;
  readonly first: Uint8Array;
  readonly slot: number;
  readonly data: Uint8Array;
}

/** The last block that begins with the word or with one before it, and not behind the slot. */
const BLOCK_OF_PLACE = `SELECT number, first, slot, data FROM memory_word_block
  WHERE segment = ?1 AND (first, slot) <= (?2, ?3) ORDER BY first DESC, slot DESC LIMIT 1`;

function takeOutOfBlocks(db: Connection, segment: number, words: Words): void {
  const blocks = new Map<
    number,
    { readonly row: BlockRow; readonly words: [string, Postings][] }
  >();
  for (const [word, postings] of words) {
    const bytes = wordBytes(word);
    let last = -1;
    for (const slot of postings.slots) {
      // All places of a word are in one block, unless it is a frequent one.
      const row = db.get<BlockRow>(BLOCK_OF_PLACE, segment, bytes, slot);
      if (!row || row.number === last) continue;
      last = row.number;
      const block = blocks.get(row.number) ?? { row, words: [] };
      block.words.push([word, postings]);
      blocks.set(row.number, block);
      if (row.slot === 0 && Buffer.compare(row.first, bytes) !== 0) break;
    }
  }
  let removedPostings = 0;
  let removedBytes = 0;
  for (const { row, words: gone } of blocks.values()) {
    const { data, removed } = blockWithout(row.data, gone);
    if (removed === 0) continue;
    removedPostings += removed;
    removedBytes += row.data.length - (data?.length ?? 0);
    if (data) {
      const first = wordBytes(new WordBlock(data).word(0));
      const sql = "UPDATE memory_word_block SET first = ?, data = ? WHERE number = ?";
      db.run(sql, first, data, row.number);
    } else {
      db.run("DELETE FROM memory_word_block WHERE number = ?", row.number);
      if (row.slot === 0) beginWithNext(db, segment, row.first);
    }
  }
  db.run(
    "UPDATE memory_segment SET postings = postings - ?, bytes = bytes - ? WHERE number = ?",
    removedPostings,
    removedBytes,
    segment,
  );
  deleteEmpty(db, segment);
}

/** The block after the first of a frequent word becomes the first. */
function beginWithNext(db: Connection, segment: number, first: Uint8Array): void {
  db.run(
    `UPDATE memory_word_block SET slot = 0 WHERE number = (
       SELECT number FROM memory_word_block WHERE segment = ? AND first = ? ORDER BY slot LIMIT 1)`,
    segment,
    first,
  );
}

/** A segment without words goes, unless it still has columns or will have more words. */
function deleteEmpty(db: Connection, segment: number): void {
  db.run(
    `DELETE FROM memory_segment
     WHERE number = ? AND postings <= 0 AND state = 'whole' AND becomes IS NULL AND columns IS NULL`,
    segment,
  );
}

/** A block without some words in some places; `null` when nothing is left of it. */
function blockWithout(
  bytes: Uint8Array,
  words: Words,
): { readonly data: Uint8Array | null; readonly removed: number } {
  const gone = new Map(words.map(([word, { slots }]) => [word, new Set(slots)]));
  const kept: [string, Postings][] = [];
  let removed = 0;
  for (const [word, postings] of blockWords(new WordBlock(bytes))) {
    const slots = gone.get(word);
    const left = slots ? withoutSlots(postings, slots) : postings;
    removed += postings.slots.length - left.slots.length;
    if (left.slots.length > 0) kept.push([word, left]);
  }
  return { data: packWords(kept), removed };
}
