import { type Postings, withoutSlots } from "../passages/passage-index.ts";
import type { Draft } from "../port/head.ts";
import type { Segment, SmallSegment, WantedBlocks, WordBlockRow } from "../port/index-store.ts";
import { packWords, WordBlock, wordBytes } from "./word-block.ts";
import { blockWords } from "./word-blocks.ts";

type Words = readonly (readonly [string, Postings])[];

/** The blocks of a segment from which words have to be removed. */
export function blocksWithWords(segment: number, words: Words): WantedBlocks[] {
  return words.map(([word, { slots }]) => ({ segment, word: wordBytes(word), slots }));
}

/** Removes the postings of `words` and all columns from a small segment. */
export function removeFromSmall(
  draft: Draft,
  segment: Segment,
  blob: SmallSegment,
  words: Words,
): void {
  const { data, removed } =
    blob.words && words.length > 0
      ? blockWithout(blob.words, words)
      : { data: blob.words, removed: 0 };
  if (removed === 0 && blob.columns === null) return;
  const left = { ...segment, postings: segment.postings - removed, bytes: data?.length ?? 0 };
  if (removed > 0 && isEmpty(left)) draft.remove("segments", left);
  else draft.put("segments", { ...left, columns: null, ...(removed > 0 ? { words: data } : {}) });
}

/** Removes the postings of `words` from blocks: `found` has for each word those that may have it. */
export function removeFromBlocks(
  draft: Draft,
  segment: Segment,
  words: Words,
  found: readonly (readonly WordBlockRow[])[],
): void {
  const blocks = new Map<string, { row: WordBlockRow; words: (readonly [string, Postings])[] }>();
  for (const [at, rows] of found.entries()) {
    for (const row of rows) {
      const key = `${Buffer.from(row.first).toString("latin1")} ${row.slot}`;
      const block = blocks.get(key) ?? { row, words: [] };
      block.words.push(words[at] as Words[number]);
      blocks.set(key, block);
    }
  }
  let removedPostings = 0;
  let removedBytes = 0;
  for (const { row, words: gone } of blocks.values()) {
    const { data, removed } = blockWithout(row.data, gone);
    if (removed === 0) continue;
    removedPostings += removed;
    removedBytes += row.data.length - (data?.length ?? 0);
    const first = data && wordBytes(new WordBlock(data).word(0));
    if (!first || Buffer.compare(first, row.first) !== 0) draft.remove("wordBlocks", row);
    if (first) draft.put("wordBlocks", { ...row, first, data });
  }
  if (removedPostings === 0) return;
  const postings = segment.postings - removedPostings;
  const left = { ...segment, postings, bytes: segment.bytes - removedBytes };
  if (isEmpty(left)) draft.remove("segments", left);
  else draft.put("segments", left);
}

/** A segment without words is removed, unless it is part of a merge. */
function isEmpty({ postings, state, becomes }: Segment): boolean {
  return postings <= 0 && state === "whole" && becomes === null;
}

/** A block without some words in some slots; `null` when it would be empty. */
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
