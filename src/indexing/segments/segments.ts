import { type Asking, ask, type Draft } from "../port/asking.ts";
import type { Segment, SmallSegment } from "../port/index-store.ts";
import {
  blocksOf,
  changedBlocks,
  joinRecords,
  packRecords,
  type SlotRecords,
  unpackRecords,
} from "./columns.ts";
import { type SortedWords, WordPlaces } from "./sorted-words.ts";
import { type PackedBlock, WordBlock, WordWriter } from "./word-block.ts";

/** Postings of a segment that is one blob, at most. */
const SMALL_POSTINGS = 4096;
/** The segments of a level are this many times as large as those of the level before. */
const LEVEL_FACTOR = 4;
/** The writer that makes the sixteenth small segment merges them. */
const SMALL_MAX = 16;

export function levelOf(postings: number): number {
  if (postings <= SMALL_POSTINGS) return 0;
  return 1 + Math.floor(Math.log(postings / SMALL_POSTINGS) / Math.log(LEVEL_FACTOR));
}

/** The entries and changes that a new segment covers. */
export type Extent = Pick<
  Segment,
  "generation" | "firstEntry" | "lastEntry" | "firstChange" | "lastChange"
>;

export function extentOf(inputs: readonly Extent[]): Extent {
  return {
    generation: inputs[0]?.generation ?? 0,
    firstEntry: Math.min(...inputs.map(({ firstEntry }) => firstEntry)),
    lastEntry: Math.max(...inputs.map(({ lastEntry }) => lastEntry)),
    firstChange: Math.min(...inputs.map(({ firstChange }) => firstChange)),
    lastChange: Math.max(...inputs.map(({ lastChange }) => lastChange)),
  };
}

/** A segment that the next change makes. */
export function newSegment(
  draft: Draft,
  extent: Extent,
  row: Pick<Segment, "state" | "level" | "postings" | "bytes">,
): Segment {
  draft.head.changes += 1;
  return { ...extent, ...row, number: draft.head.changes, becomes: null, grown: null };
}

export interface NewWords {
  readonly extent: Extent;
  readonly words: SortedWords;
  readonly records: SlotRecords;
}

/**
 * Writes words and columns as a segment, and returns the segments that there are then. When there are
 * enough small ones, they become one with it.
 */
export function* writeSegment(
  draft: Draft,
  segments: readonly Segment[],
  added: NewWords,
): Asking<readonly Segment[]> {
  const { generation } = added.extent;
  const small = segments.filter(
    (segment) =>
      segment.generation === generation && segment.state === "whole" && segment.level === 0,
  );
  const addsSmall = levelOf(added.words.postings.slots.length) === 0;
  const merges = addsSmall && small.length + 1 >= SMALL_MAX;
  const blobs =
    merges || !addsSmall
      ? yield* ask(
          "smallSegments",
          small.map(({ number }) => number),
        )
      : [];
  const { extent, words, records } = merges ? mergedWords(small, blobs, added) : added;
  const postings = words.postings.slots.length;
  const level = levelOf(postings);
  if (merges) draft.remove("segments", ...small);
  const left = merges ? segments.filter((segment) => !small.includes(segment)) : segments;
  if (level === 0) {
    const [block] = packed(words, { whole: true });
    const data = block?.data ?? null;
    const bytes = data?.length ?? 0;
    const segment = newSegment(draft, extent, { state: "whole", level, postings, bytes });
    draft.put("segments", { ...segment, words: data, columns: packRecords(records) });
    return [...left, segment];
  }
  const blocks = packed(words);
  const bytes = bytesOf(blocks);
  const segment = newSegment(draft, extent, { state: "whole", level, postings, bytes });
  draft.put("segments", segment);
  draft.put("wordBlocks", ...blocks.map((block) => ({ ...block, segment: segment.number })));
  // The column blocks that are written next are newer than the columns of small segments.
  const older = merges ? [] : foldSmall(small, blobs);
  for (const blob of merges ? [] : blobs) {
    const own = small.find(({ number }) => number === blob.number);
    if (own && blob.columns) draft.put("segments", { ...own, columns: null });
  }
  const all = joinRecords([...older.map((one) => one.records), records]);
  const known = yield* ask("columnBlocks", generation, blocksOf(all.slots));
  putColumns(draft, changedBlocks(known, generation, draft.head.changes, all));
  return [...left, segment];
}

export function putColumns(draft: Draft, blocks: ReturnType<typeof changedBlocks>): void {
  if (blocks.length === 0) return;
  draft.put("columnBlocks", ...blocks);
  draft.head.columnsAt = draft.head.changes;
}

/** The columns of small segments, the oldest first. */
export function foldSmall(
  small: readonly Segment[],
  blobs: readonly SmallSegment[],
): readonly { readonly generation: number; readonly records: SlotRecords }[] {
  const columns = new Map(blobs.map((blob) => [blob.number, blob.columns]));
  return small.flatMap(({ number, generation }) => {
    const packed = columns.get(number);
    return packed ? [{ generation, records: unpackRecords(packed) }] : [];
  });
}

function mergedWords(
  small: readonly Segment[],
  blobs: readonly SmallSegment[],
  { extent, words, records }: NewWords,
): NewWords {
  const { vocabulary, ends, postings } = words;
  const places = new WordPlaces(vocabulary);
  for (const blob of blobs) if (blob.words) new WordBlock(blob.words).addTo(places);
  for (let word = 0, at = 0; word < ends.length; word += 1) {
    for (; at < (ends[word] as number); at += 1) {
      const [slot, hits] = [postings.slots[at] as number, postings.hits[at] as number];
      places.add(words.words[word] as number, slot, hits);
    }
  }
  return {
    extent: extentOf([...small, extent]),
    words: places.sorted(),
    records: joinRecords([...blobs.map(({ columns }) => unpackRecords(columns)), records]),
  };
}

function packed({ vocabulary, words, ends, postings }: SortedWords, { whole = false } = {}) {
  const writer = new WordWriter({ whole });
  for (let at = 0, from = 0; at < words.length; at += 1) {
    const to = ends[at] as number;
    writer.add(vocabulary.textOf(words[at] as number), postings, from, to);
    from = to;
  }
  return writer.take();
}

export function bytesOf(blocks: readonly PackedBlock[]): number {
  return blocks.reduce((sum, { data }) => sum + data.length, 0);
}

/** Whether a step of merging has work to do. */
export function isMergeDue(segments: readonly Segment[], generation: number): boolean {
  return (
    segments.some(
      (segment) =>
        segment.state === "gone" ||
        (segment.state === "growing" && segment.generation === generation),
    ) || levelToMerge(segments, generation) > 0
  );
}

/** The highest level that has enough segments for a merge; 0 when none has. */
export function levelToMerge(segments: readonly Segment[], generation: number): number {
  const counts: number[] = [];
  for (const { level } of mergeable(segments, generation)) counts[level] = (counts[level] ?? 0) + 1;
  return Math.max(
    0,
    counts.findLastIndex((count = 0, level) => level > 0 && count >= LEVEL_FACTOR),
  );
}

/** The segments that are in no merge. */
export function mergeable(segments: readonly Segment[], generation: number): readonly Segment[] {
  return segments.filter(
    (segment) =>
      segment.generation === generation && segment.state === "whole" && segment.becomes === null,
  );
}
