import type { Postings } from "../../../search/passage-index.ts";
import type { Connection } from "../connection.ts";
import { NOWHERE } from "./memory-postings.ts";
import { type Segment, smallSegment } from "./memory-segments.ts";
import { WordBlock } from "./memory-word-block.ts";

/** Where a word is, by the blocks of a segment. */
export function postingsInBlocks(db: Connection, segment: number, word: Uint8Array): Postings[] {
  const block = db.get<{ slot: number; data: Uint8Array }>(BLOCK_OF_WORD, segment, word);
  if (!block) return [];
  const found = new WordBlock(block.data);
  const index = found.search(word);
  if (!found.has(index, word)) return [];
  if (block.slot === 0) return [found.postings(index)];
  return db
    .all<{ data: Uint8Array }>(PARTS_OF_WORD, segment, word)
    .map(({ data }) => new WordBlock(data).postings(0));
}

/** The last of those that begin with the word or with one before it. */
const BLOCK_OF_WORD = `SELECT slot, data FROM memory_word_block
  WHERE segment = ? AND first <= ? ORDER BY first DESC, slot DESC LIMIT 1`;
const PARTS_OF_WORD =
  "SELECT data FROM memory_word_block WHERE segment = ? AND first = ? ORDER BY slot";

const PAGE = 16;

/** Words and where they are, in the order of words, beginning with `from` or the first one behind it. */
export function* segmentWords(
  db: Connection,
  segment: Pick<Segment, "number" | "level">,
  from: Uint8Array = NOTHING,
): Generator<readonly [string, Postings]> {
  if (segment.level === 0) {
    const { words } = smallSegment(db, segment.number);
    if (words) yield* blockWords(new WordBlock(words), from);
    return;
  }
  yield* wordsInBlocks(blocksFrom(db, segment.number, from), from);
}

/** Words of blocks that follow each other, of which the first may have some before `from`. */
export function* wordsInBlocks(
  blocks: Iterable<Pick<BlockRow, "slot" | "data">>,
  from: Uint8Array,
): Generator<readonly [string, Postings]> {
  let word = "";
  let parts: Postings[] = [];
  for (const { slot, data } of blocks) {
    const block = new WordBlock(data);
    if (slot > 0) {
      parts.push(block.postings(0));
      continue;
    }
    for (const item of blockWords(block, from)) {
      if (parts.length > 0) yield [word, joined(parts)];
      word = item[0];
      parts = [item[1]];
    }
  }
  if (parts.length > 0) yield [word, joined(parts)];
}

export function* blockWords(
  block: WordBlock,
  from: Uint8Array = NOTHING,
): Generator<readonly [string, Postings]> {
  for (let index = block.search(from); index < block.count; index += 1) {
    yield [block.word(index), block.postings(index)];
  }
}

export interface BlockRow {
  readonly first: Uint8Array;
  readonly slot: number;
  readonly data: Uint8Array;
}

function* blocksFrom(db: Connection, segment: number, from: Uint8Array): Generator<BlockRow> {
  const first = db.get<{ first: Uint8Array }>(FIRST_OF_BLOCK, segment, from)?.first ?? NOTHING;
  for (let at: Pick<BlockRow, "first" | "slot"> | undefined = { first, slot: -1 }; at; ) {
    const rows: BlockRow[] = db.all(BLOCKS_BEHIND, segment, at.first, at.slot, PAGE);
    yield* rows;
    at = rows.length === PAGE ? rows.at(-1) : undefined;
  }
}

const NOTHING = new Uint8Array();
const FIRST_OF_BLOCK = `SELECT first FROM memory_word_block
  WHERE segment = ? AND first <= ? ORDER BY first DESC, slot DESC LIMIT 1`;
const BLOCKS_BEHIND = `SELECT first, slot, data FROM memory_word_block
  WHERE segment = ? AND (first, slot) > (?, ?) ORDER BY first, slot LIMIT ?`;

function joined(parts: readonly Postings[]): Postings {
  if (parts.length === 1) return parts[0] ?? NOWHERE;
  const size = parts.reduce((sum, { slots }) => sum + slots.length, 0);
  const all = { slots: new Uint32Array(size), hits: new Uint8Array(size) };
  let at = 0;
  for (const { slots, hits } of parts) {
    all.slots.set(slots, at);
    all.hits.set(hits, at);
    at += slots.length;
  }
  return all;
}

/** Where the words are that begin so; `words` begin with the first of them. */
export function* postingsOfBeginning(
  words: Iterable<readonly [string, Postings]>,
  beginning: string,
): Generator<Postings> {
  for (const [word, postings] of words) {
    if (!word.startsWith(beginning)) return;
    yield postings;
  }
}
