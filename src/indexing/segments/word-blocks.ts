import { NOWHERE, type Postings, withoutSlots } from "../passages/passage-index.ts";
import { type Asking, ask, type Draft } from "../port/asking.ts";
import type { Segment, SmallSegment, WantedBlocks, WordBlockRow } from "../port/index-store.ts";
import { compareWords } from "./sorted-words.ts";
import { type PackedBlock, packWords, WordBlock, wordBytes } from "./word-block.ts";

type Words = Generator<readonly [string, Postings]>;

/** Consecutive blocks of a segment, in memory. */
export class WordBlocks {
  /** In the order of their first words. */
  readonly #rows: readonly PackedBlock[];
  readonly #blocks: readonly WordBlock[];

  constructor(rows: readonly PackedBlock[]) {
    this.#rows = rows;
    this.#blocks = rows.map(({ data }) => new WordBlock(data));
  }

  /** The one block of a small segment. */
  static ofSmall(words: Uint8Array | null): WordBlocks {
    return new WordBlocks(words ? [{ first: NOTHING, slot: 0, data: words }] : []);
  }

  get bytes(): number {
    return this.#rows.reduce((sum, { data }) => sum + data.length, 0);
  }

  /** The postings of a word, a part from each block that has some. */
  postings(word: Uint8Array): readonly Postings[] {
    const last = this.#lastFrom(word);
    const block = this.#blocks[last];
    const index = block?.search(word) ?? 0;
    if (!block?.has(index, word)) return [];
    // A word that does not fit a block fills several, and begins each of them.
    const first = this.#firstPart(last);
    if (first === last) return [block.postings(index)];
    return this.#blocks.slice(first, last + 1).map((part) => part.postings(0));
  }

  /** Words with their postings, beginning with `from` or the first word behind it. */
  *words(from: Uint8Array = NOTHING): Words {
    let word = "";
    let parts: Postings[] = [];
    const start = this.#firstPart(Math.max(0, this.#lastFrom(from)));
    for (let at = start; at < this.#blocks.length; at += 1) {
      for (const [next, postings] of blockWords(this.#blocks[at] as WordBlock, from)) {
        if (parts.length > 0 && next === word) {
          parts.push(postings);
          continue;
        }
        if (parts.length > 0) yield [word, joined(parts)];
        word = next;
        parts = [postings];
      }
    }
    if (parts.length > 0) yield [word, joined(parts)];
  }

  /** The postings of all words that begin with `beginning`. */
  *postingsOfBeginning(beginning: string): Generator<Postings> {
    for (const [word, postings] of this.words(Buffer.from(beginning))) {
      if (!word.startsWith(beginning)) return;
      yield postings;
    }
  }

  /** The words that begin with `beginning`, each once. */
  beginningWith(beginning: string): string[] {
    const from = wordBytes(beginning);
    const found: string[] = [];
    for (let at = Math.max(0, this.#lastFrom(from)); at < this.#blocks.length; at += 1) {
      const block = this.#blocks[at] as WordBlock;
      for (let index = block.search(from); index < block.count; index += 1) {
        const word = block.word(index);
        if (!word.startsWith(beginning)) return found;
        if (word !== found.at(-1)) found.push(word);
      }
    }
    return found;
  }

  /** The last block that may have a word: it begins with it or with one before it. -1 when there is none. */
  #lastFrom(word: Uint8Array): number {
    // Comparing takes longer than looking into the one block of a small segment.
    if (this.#rows.length === 1) return 0;
    let [from, until] = [0, this.#rows.length];
    while (from < until) {
      const middle = (from + until) >> 1;
      const { first } = this.#rows[middle] as PackedBlock;
      if (compareBytes(first, word) <= 0) from = middle + 1;
      else until = middle;
    }
    return from - 1;
  }

  /** The first of the blocks that begin with the same word as the one at `index`. */
  #firstPart(index: number): number {
    let first = index;
    while (first > 0 && this.#isSameWord(first - 1, first)) first -= 1;
    return first;
  }

  #isSameWord(one: number, other: number): boolean {
    const [a, b] = [this.#rows[one], this.#rows[other]];
    return a !== undefined && b !== undefined && Buffer.compare(a.first, b.first) === 0;
  }
}

const NOTHING = new Uint8Array();

/** Like `Buffer.compare`, which takes longer for a few bytes. */
function compareBytes(one: Uint8Array, other: Uint8Array): number {
  const shorter = Math.min(one.length, other.length);
  for (let at = 0; at < shorter; at += 1) {
    const difference = (one[at] as number) - (other[at] as number);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** The words of one block, beginning with `from` or the first word behind it. */
export function* blockWords(block: WordBlock, from: Uint8Array = NOTHING): Words {
  for (let index = block.search(from); index < block.count; index += 1) {
    yield [block.word(index), block.postings(index)];
  }
}

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

/** Some consecutive blocks of a segment, of which at most `limit` were asked for. */
export class BlockPage extends WordBlocks {
  /** The word that may continue behind the page; `undefined` when nothing is behind it. */
  readonly end: string | undefined;

  constructor(rows: readonly PackedBlock[], limit: number) {
    super(rows);
    const last = rows.length < limit ? undefined : rows.at(-1);
    const block = last && new WordBlock(last.data);
    this.end = block && block.count > 0 ? block.word(block.count - 1) : undefined;
  }
}

/** The first word that some page may not have whole; `undefined` when every page is the last of its segment. */
export function endOf(pages: readonly BlockPage[]): string | undefined {
  const ends = pages.flatMap(({ end }) => end ?? []);
  return ends.length === 0 ? undefined : ends.reduce((a, b) => (compareWords(a, b) < 0 ? a : b));
}

type WordList = readonly (readonly [string, Postings])[];

/** The blocks of a segment from which words have to be removed. */
export function blocksWithWords(segment: number, words: WordList): WantedBlocks[] {
  return words.map(([word, { slots }]) => ({ segment, word: wordBytes(word), slots }));
}

/** Removes the postings of `words` and all columns from a small segment. */
export function removeFromSmall(
  draft: Draft,
  segment: Segment,
  blob: SmallSegment,
  words: WordList,
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
  words: WordList,
  found: readonly (readonly WordBlockRow[])[],
): void {
  const blocks = new Map<string, { row: WordBlockRow; words: (readonly [string, Postings])[] }>();
  for (const [at, rows] of found.entries()) {
    for (const row of rows) {
      const key = `${Buffer.from(row.first).toString("latin1")} ${row.slot}`;
      const block = blocks.get(key) ?? { row, words: [] };
      block.words.push(words[at] as WordList[number]);
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
  words: WordList,
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

/** Maximum characters of lists that stay in memory. */
const CHARACTERS_MAX = 4_000_000;

/**
 * The words of an index by their first letter, one list for each segment, one word a line. They are read when a question
 * has a word that no entry has, and kept as long as their segment.
 */
export class WordLists {
  readonly #charactersMax: number;
  readonly #lists = new Map<number, Map<string, string>>();
  #characters = 0;

  constructor(charactersMax = CHARACTERS_MAX) {
    this.#charactersMax = charactersMax;
  }

  get bytes(): number {
    return this.#characters;
  }

  clear(): void {
    this.#lists.clear();
    this.#characters = 0;
  }

  /** The lists of `segments` for a letter. Those in `loaded` are in memory. */
  *of(
    letter: string,
    segments: readonly Segment[],
    loaded: ReadonlyMap<number, WordBlocks>,
  ): Asking<readonly string[]> {
    this.#forgetOthers(segments);
    const from = wordBytes(letter);
    const unread = segments.filter(
      ({ number }) => !loaded.has(number) && !this.#lists.get(number)?.has(letter),
    );
    const to = Buffer.concat([from, LAST]);
    const rows =
      unread.length > 0
        ? yield* ask(
            "wordBlocks",
            unread.map(({ number }) => ({ segment: number, from, to })),
          )
        : [];
    // Keeping a list may drop others, so those of now are noted first.
    const known = segments.map(({ number }) => this.#lists.get(number)?.get(letter));
    const read = new Map(unread.map(({ number }, at) => [number, new WordBlocks(rows[at] ?? [])]));
    return segments.map(({ number }, at) => {
      const blocks = loaded.get(number) ?? read.get(number);
      return known[at] ?? this.#keep(number, letter, blocks?.beginningWith(letter) ?? []);
    });
  }

  #keep(segment: number, letter: string, words: readonly string[]): string {
    const list = words.join("\n");
    if (this.#characters + list.length > this.#charactersMax) this.clear();
    const lists = this.#lists.get(segment) ?? new Map<string, string>();
    this.#lists.set(segment, lists.set(letter, list));
    this.#characters += list.length;
    return list;
  }

  #forgetOthers(segments: readonly Segment[]): void {
    const left = new Set(segments.map(({ number }) => number));
    for (const [number, lists] of this.#lists) {
      if (left.has(number)) continue;
      for (const list of lists.values()) this.#characters -= list.length;
      this.#lists.delete(number);
    }
  }
}

/** No character begins with this byte in UTF-8. */
const LAST = Uint8Array.of(255);
