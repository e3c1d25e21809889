import type { WantedBlocks, WordBlockRow } from "../../indexing/port/index-store.ts";
import { type FoundBlock, NAMESPACE, wordBlockOf, wordBlocks } from "./index-questions.ts";
import type { QuestionBatch } from "./question-batch.ts";

/*
 * Blocks are found by their first word. A word is in the last block that begins with it or with a word before
 * it, or in several that all begin with it:
 *
 *     ant…  bee…  cat…  cat…  cat…  dog…        "cow" may be in the third "cat…", "cat" in all of them
 *
 * `offset 0` keeps PostgreSQL from reading a whole segment to join it: it looks up each block by its key.
 */

/** The first block that may have a word, as (first, slot). */
function start(segment: string, condition: string): string {
  return `join lateral (
      select x.first, x.slot from rkat.memory_word_block x
      where x.namespace = ${NAMESPACE} and x.segment = ${segment} and ${condition}
      order by x.first desc, x.slot desc limit 1
    ) as start`;
}

/** Blocks with the words between `w.low` and `w.high`, of the segments and words that `wanted` joins. */
export function blocksBetween(wanted: string, segment: string, condition = "true"): string {
  return `from ${wanted} left ${start(segment, "x.first <= w.low")} on true
    cross join lateral (
      select y.segment, y.first, y.slot, y.data from rkat.memory_word_block y
      where y.namespace = ${NAMESPACE} and y.segment = ${segment}
        and y.first >= coalesce(start.first, w.low) and y.first <= w.high
        and (start.first is null or y.first > start.first or start.first = w.low or y.slot = start.slot)
      order by y.first, y.slot offset 0
    ) as b
    where ${condition}`;
}

/** For each of the wanted, the blocks that may have what is wanted, in order. */
export function findWordBlocks(
  batch: QuestionBatch,
  wanted: readonly WantedBlocks[],
): () => readonly (readonly WordBlockRow[])[] {
  const found = [betweenWords(batch, wanted), inSlots(batch, wanted), fromStart(batch, wanted)];
  return () => {
    const all = wanted.map((): WordBlockRow[] => []);
    for (const rows of found) for (const { at, ...row } of rows()) all[at]?.push(row);
    return all;
  };
}

type Found = () => readonly FoundBlock[];
type Numbered<Wanted> = Wanted & { readonly at: number };

function numbered<Name extends "from" | "slots" | "start">(
  wanted: readonly WantedBlocks[],
  name: Name,
): readonly Numbered<Extract<WantedBlocks, Record<Name, unknown>>>[] {
  return wanted.flatMap((one, at) => (name in one ? [{ ...one, at } as never] : []));
}

const NONE: Found = () => [];

function betweenWords(batch: QuestionBatch, all: readonly WantedBlocks[]): Found {
  const wanted = numbered(all, "from");
  if (wanted.length === 0) return NONE;
  const columns = { at: "integer", segment: "bigint", from: "bytea", to: "bytea" } as const;
  const table = `${batch.unnest(wanted, columns)} as w (at, segment, low, high)`;
  const rows = batch.rows(wordBlocks(blocksBetween(table, "w.segment"), "w.at"), wordBlockOf);
  return () => rows;
}

function fromStart(batch: QuestionBatch, all: readonly WantedBlocks[]): Found {
  const wanted = numbered(all, "start");
  if (wanted.length === 0) return NONE;
  const columns = { at: "integer", segment: "bigint", start: "bytea", limit: "bigint" } as const;
  const from = `from ${batch.unnest(wanted, columns)} as w (at, segment, low, most)
    cross join lateral (
      select y.segment, y.first, y.slot, y.data from rkat.memory_word_block y
      where y.namespace = ${NAMESPACE} and y.segment = w.segment and y.first >= coalesce((
        select x.first from rkat.memory_word_block x
        where x.namespace = ${NAMESPACE} and x.segment = w.segment and x.first <= w.low
        order by x.first desc limit 1), '')
      order by y.first, y.slot limit w.most
    ) as b`;
  const rows = batch.rows(wordBlocks(from, "w.at"), wordBlockOf);
  return () => rows;
}

/** One block may have many of the words, so each comes once, and its words are found here. */
function inSlots(batch: QuestionBatch, all: readonly WantedBlocks[]): Found {
  const wanted = numbered(all, "slots").filter(({ slots }) => slots.length > 0);
  if (wanted.length === 0) return NONE;
  const runs = wanted.map(({ slots, ...rest }) => ({
    ...rest,
    least: Math.min(...slots),
    most: Math.max(...slots),
  }));
  const columns = { segment: "bigint", word: "bytea", least: "bigint", most: "bigint" } as const;
  const table = `${batch.unnest(runs, columns)} as w (segment, word, least, most)`;
  const keys = `select distinct w.segment, k.first, k.slot
    from ${table} ${start("w.segment", "(x.first, x.slot) <= (w.word, w.least)")} on true
    cross join lateral (
      select y.first, y.slot from rkat.memory_word_block y
      where y.namespace = ${NAMESPACE} and y.segment = w.segment
        and (y.first, y.slot) >= (start.first, start.slot) and (y.first, y.slot) <= (w.word, w.most)
      offset 0
    ) as k`;
  const from = `from (${keys}) as d cross join lateral (
      select y.segment, y.first, y.slot, y.data from rkat.memory_word_block y
      where y.namespace = ${NAMESPACE} and y.segment = d.segment and y.first = d.first and y.slot = d.slot
      offset 0
    ) as b`;
  const rows = batch.rows(wordBlocks(from), wordBlockOf);
  return () => {
    const bySegment = Map.groupBy(rows, ({ segment }) => segment);
    for (const blocks of bySegment.values()) blocks.sort(compareBlocks);
    return wanted.flatMap(({ at, segment, word, slots }) => {
      const blocks = bySegment.get(segment) ?? [];
      const first = lastUpTo(blocks, word, Math.min(...slots));
      const last = lastUpTo(blocks, word, Math.max(...slots));
      return blocks.slice(Math.max(0, first), last + 1).map((block) => ({ ...block, at }));
    });
  };
}

function compareBlocks(one: WordBlockRow, other: WordBlockRow): number {
  return Buffer.compare(one.first, other.first) || one.slot - other.slot;
}

/** The last block that begins at (word, slot) or before; -1 when there is none. */
function lastUpTo(blocks: readonly WordBlockRow[], word: Uint8Array, slot: number): number {
  let [from, until] = [0, blocks.length];
  while (from < until) {
    const middle = (from + until) >> 1;
    const block = blocks[middle] as WordBlockRow;
    const isBefore = (Buffer.compare(block.first, word) || block.slot - slot) <= 0;
    if (isBefore) from = middle + 1;
    else until = middle;
  }
  return from - 1;
}
