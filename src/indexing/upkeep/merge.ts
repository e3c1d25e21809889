import { type Postings, unitePostings } from "../passages/passage-index.ts";
import {
  type Asking,
  ask,
  Draft,
  openHead,
  question,
  together,
  transaction,
} from "../port/asking.ts";
import type { Head, Segment, WantedBlocks } from "../port/index-store.ts";
import {
  bytesOf,
  extentOf,
  levelOf,
  levelToMerge,
  mergeable,
  newSegment,
} from "../segments/segments.ts";
import { compareWords } from "../segments/sorted-words.ts";
import { type PackedBlock, WordWriter, wordBytes } from "../segments/word-block.ts";
import { BlockPage, endOf } from "../segments/word-blocks.ts";

/** Bytes that one step adds to a segment, about. They are read and packed before other writers have to wait. */
const STEP_BYTES = 400_000;
/** Blocks that one step deletes. */
const STEP_BLOCKS = 250;

/** Takes one short step of merging. Returns whether there may be more. */
export function* mergeSegments(stepBytes = STEP_BYTES): Asking<boolean> {
  const head = yield* openHead();
  if (!head) return false;
  return (yield* mergeStep(head.generation, stepBytes)) || (yield* clearOldColumns());
}

/**
 * The next step of a merge, each a short transaction. A segment grows in the order of words out of those
 * that it replaces, and is not searched. One step puts it in their place; then they are deleted, a few
 * blocks at a time. After a kill the next step continues where the last one ended.
 */
export function* mergeStep(generation: number, stepBytes = STEP_BYTES): Asking<boolean> {
  const segments = yield* ask("segments");
  const gone = segments.find(({ state }) => state === "gone");
  if (gone) {
    yield* deleteSome(gone);
    return true;
  }
  const growing = segments.find(
    (segment) => segment.state === "growing" && segment.generation === generation,
  );
  if (growing) {
    yield* grow(growing.number, stepBytes);
    return true;
  }
  return yield* startMerge(generation);
}

/** Deletes column blocks of an index that was replaced. */
function clearOldColumns(): Asking<boolean> {
  return transaction("write unsynced", function* () {
    const head = yield* openHead();
    // While the next index is built, the blocks of its generation are its own.
    if (!head || head.rebuilt !== null) return false;
    return yield* deleteColumns(new Draft(head), head.generation + 1);
  });
}

/** Deletes some column blocks of a generation, and returns whether there were any. */
export function* deleteColumns(draft: Draft, generation: number): Asking<boolean> {
  const blocks = yield* ask("columnBlockPage", generation, STEP_BLOCKS);
  if (blocks.length === 0) return false;
  draft.remove("columnBlocks", ...blocks.map((block) => ({ generation, block })));
  yield* draft.save();
  return true;
}

function startMerge(generation: number): Asking<boolean> {
  return transaction("write unsynced", function* () {
    const [head, segments] = yield* together(question("head"), question("segments"));
    const level = levelToMerge(segments, generation);
    if (!head || level === 0) return false;
    const draft = new Draft(head);
    // Smaller segments come along: that costs little, and leaves fewer to search.
    const inputs = mergeable(segments, generation).filter(
      (segment) => segment.level > 0 && segment.level <= level,
    );
    const target = newSegment(draft, extentOf(inputs), {
      state: "growing",
      level: level + 1,
      postings: 0,
      bytes: 0,
    });
    draft.put("segments", target);
    draft.put("segments", ...inputs.map((input) => ({ ...input, becomes: target.number })));
    yield* draft.save();
    return true;
  });
}

interface Growth {
  readonly blocks: readonly PackedBlock[];
  readonly postings: number;
  /** The last word of the blocks; `undefined` when no words are left. */
  readonly lastWord: string | undefined;
  /** The head when the blocks were read. */
  readonly head: Head;
  readonly grown: Uint8Array | null;
}

function* grow(number: number, stepBytes: number): Asking<void> {
  const growth = yield* transaction("read", () => growthOf(number, stepBytes));
  if (!growth) return;
  yield* transaction("write unsynced", function* () {
    const [head, segments] = yield* together(question("head"), question("segments"));
    const now = segments.find((segment) => segment.number === number);
    // Another process has continued it, or deleted entries that were read: the next step reads again.
    if (!head || now?.state !== "growing" || !isSame(now.grown, growth.grown)) return;
    if (head.removedAt !== growth.head.removedAt) return;
    const draft = new Draft(head);
    draft.put("wordBlocks", ...growth.blocks.map((block) => ({ ...block, segment: number })));
    const postings = now.postings + growth.postings;
    const grown = {
      ...now,
      postings,
      bytes: now.bytes + bytesOf(growth.blocks),
      grown: growth.lastWord === undefined ? null : wordBytes(growth.lastWord),
    };
    if (growth.lastWord !== undefined) draft.put("segments", grown);
    else {
      draft.put("segments", { ...grown, state: "whole", level: Math.max(1, levelOf(postings)) });
      const inputs = segments.filter(({ becomes }) => becomes === number);
      draft.put("segments", ...inputs.map((input): Segment => ({ ...input, state: "gone" })));
      draft.head.changes += 1;
    }
    yield* draft.save();
  });
}

function* growthOf(number: number, stepBytes: number): Asking<Growth | undefined> {
  const [head, segments] = yield* together(question("head"), question("segments"));
  const target = segments.find((segment) => segment.number === number);
  if (!head || target?.state !== "growing") return undefined;
  const { grown } = target;
  const last = grown === null ? "" : Buffer.from(grown).toString();
  const inputs = segments.filter(({ becomes }) => becomes === number);
  for (let readBytes = stepBytes; ; readBytes *= 2) {
    const pages = yield* ask("wordBlocks", pagesOf(inputs, grown, readBytes));
    const read = inputs.map(
      (_, at) => new BlockPage(pages[at] ?? [], blocksIn(inputs, at, readBytes)),
    );
    const end = endOf(read);
    const words = read.map((page) => page.words(grown ?? undefined));
    const writer = new WordWriter();
    let postings = 0;
    let lastWord: string | undefined;
    for (const [word, where] of mergeWords(words)) {
      if (end !== undefined && compareWords(word, end) >= 0) break;
      if (word === last && grown !== null) continue;
      writer.add(word, where);
      postings += where.slots.length;
      lastWord = word;
    }
    // A word that fills a whole page may continue behind it.
    if (end !== undefined && lastWord === undefined) continue;
    const isLast = end === undefined;
    return {
      blocks: writer.take(),
      postings,
      lastWord: isLast ? undefined : lastWord,
      head,
      grown,
    };
  }
}

/** Bytes of a block, about. */
const BLOCK_BYTES = 3500;

/** The number of blocks that are read of an input: its share of `bytes`, by its size. */
function blocksIn(inputs: readonly Segment[], at: number, bytes: number): number {
  const all = inputs.reduce((sum, input) => sum + input.bytes, 1);
  const share = (inputs[at]?.bytes ?? 0) / all;
  return 1 + Math.ceil((bytes * share) / BLOCK_BYTES);
}

function pagesOf(
  inputs: readonly Segment[],
  grown: Uint8Array | null,
  bytes: number,
): WantedBlocks[] {
  return inputs.map(({ number }, at) => ({
    segment: number,
    start: grown ?? new Uint8Array(),
    limit: blocksIn(inputs, at, bytes),
  }));
}

function isSame(one: Uint8Array | null, other: Uint8Array | null): boolean {
  if (one === null || other === null) return one === other;
  return Buffer.compare(one, other) === 0;
}

function deleteSome({ number }: Segment): Asking<void> {
  return transaction("write unsynced", function* () {
    const [head, segments, [blocks = []]] = yield* together(
      question("head"),
      question("segments"),
      question("wordBlocks", [{ segment: number, start: new Uint8Array(), limit: STEP_BLOCKS }]),
    );
    const gone = segments.find((segment) => segment.number === number && segment.state === "gone");
    if (!head || !gone) return;
    const draft = new Draft(head);
    draft.remove("wordBlocks", ...blocks);
    if (blocks.length < STEP_BLOCKS) draft.remove("segments", gone);
    yield* draft.save();
  });
}

type Word = readonly [string, Postings];

/** Merges inputs that each give their words in order: each word once, with all its postings. */
function* mergeWords(inputs: readonly Iterator<Word>[]): Generator<Word> {
  const heap = new WordHeap();
  for (const words of inputs) heap.push(words);
  while (heap.first) {
    const { word, postings } = heap.first;
    heap.advance();
    if (heap.first?.word !== word) {
      yield [word, postings];
      continue;
    }
    const found = [postings];
    while (heap.first?.word === word) {
      found.push(heap.first.postings);
      heap.advance();
    }
    yield [word, unitePostings(found)];
  }
}

interface NextWord {
  word: string;
  postings: Postings;
  readonly words: Iterator<Word>;
}

/** The next word of each input, the least first. */
class WordHeap {
  readonly #heads: NextWord[] = [];

  get first(): NextWord | undefined {
    return this.#heads[0];
  }

  push(words: Iterator<Word>): void {
    const next = words.next();
    if (next.done) return;
    const [word, postings] = next.value;
    const heads = this.#heads;
    let at = heads.push({ word, postings, words }) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** Moves the first input on to its next word. */
  advance(): void {
    const heads = this.#heads;
    const head = heads[0] as NextWord;
    const next = head.words.next();
    if (next.done) {
      const last = heads.pop() as NextWord;
      if (heads.length === 0) return;
      heads[0] = last;
    } else {
      head.word = next.value[0];
      head.postings = next.value[1];
    }
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      if (left >= heads.length) return;
      const right = left + 1;
      const least = right < heads.length && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(least, at)) return;
      this.#swap(least, at);
      at = least;
    }
  }

  #isBefore(one: number, other: number): boolean {
    return (
      compareWords((this.#heads[one] as NextWord).word, (this.#heads[other] as NextWord).word) < 0
    );
  }

  #swap(one: number, other: number): void {
    const head = this.#heads[one] as NextWord;
    this.#heads[one] = this.#heads[other] as NextWord;
    this.#heads[other] = head;
  }
}
