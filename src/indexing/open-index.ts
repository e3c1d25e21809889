import type { MemoryFilter } from "../core/memory-store.ts";
import {
  type DetailColumns,
  type LinkChanges,
  NOWHERE,
  type PassageColumns,
  type PassageIndex,
  type Postings,
  postingsBesides,
  unitePostings,
  withPostings,
} from "./passages/passage-index.ts";
import { type Asking, ask, checked, question, stillKnown, together } from "./port/asking.ts";
import type { EntryRow, Head, Known, News, Segment } from "./port/index-store.ts";
import { blockOf } from "./score/word-amounts.ts";
import { passOnSummary } from "./score/word-summaries.ts";
import { unpackRecords } from "./segments/columns.ts";
import { LoadedColumns } from "./segments/loaded-columns.ts";
import { wordBytes } from "./segments/word-block.ts";
import { WordBlocks, WordLists } from "./segments/word-blocks.ts";
import { KnownVectors } from "./vectors/code-table.ts";

/**
 * Segments up to this level are read whole, at most some 64 000 postings each. While others add, small
 * segments come and go, and each search asks each of them for all of its words.
 */
const LOADED_LEVEL_MAX = 2;
const BYTES_OF_SLOT = 27;

const NOTHING_KNOWN = { changes: -1, removedAt: -1, generation: -1 };

export interface Wanted {
  /** Words that the search will look up; `東*` is all words that begin so. */
  readonly words: readonly string[];
  readonly sessionId?: string | undefined;
  /** The embedder whose codes are wanted. */
  readonly embedder?: string | undefined;
}

export interface CaughtUp {
  /** Nothing was written since the last time. */
  readonly isSame: boolean;
  /** The entries that were asked for. */
  readonly entries: readonly EntryRow[];
}

/**
 * The index of a namespace in memory: loaded lazily, cached until it changes. Every search calls `catchUp`
 * first, which loads everything that the search will look at.
 */
export class OpenIndex implements PassageIndex {
  #head: Head | undefined;
  #known: Pick<Known, "changes" | "removedAt" | "generation"> = NOTHING_KNOWN;
  #segments: readonly Segment[] = [];
  readonly #loaded = new Map<number, WordBlocks>();
  readonly #cacheBytes: number | undefined;
  readonly #cache: PostingsCache;
  readonly #room = new LoadedColumns();
  #columns: PassageColumns;
  #sessions = { count: 0, last: 0 };
  readonly #labels = new Map<number, string>();
  readonly #labelNumbers = new Map<string, number>();
  #lastLabel = 0;
  readonly #lists = new WordLists();
  #vectors: KnownVectors | undefined;
  /** The last `catchUp` brought nothing new. */
  #isQuiet = false;
  /** The postings that the last `catchUp` loaded for the search at hand. */
  #postings = new Map<string, Postings>();
  #sessionNumbers: ReadonlyMap<string, number | undefined> = new Map();

  /** `cacheBytes` bounds the postings that stay in memory, and the rows of vectors. */
  constructor(cacheBytes?: number) {
    this.#cacheBytes = cacheBytes;
    this.#cache = new PostingsCache(cacheBytes ?? CACHE_BYTES);
    this.#columns = this.#room.upTo(0);
  }

  /**
   * Uses the cached postings of the words. Returns whether they are complete and probably current: nothing had
   * changed at the last search. `catchUp` tells whether they are.
   */
  recall(words: readonly string[]): boolean {
    const changes = this.#head?.changes;
    if (!this.#isQuiet || changes === undefined) return false;
    const known = words.map((word) => [word, this.#cache.get(word)] as const);
    if (known.some(([, cached]) => cached?.at !== changes)) return false;
    this.#postings = new Map(known.map(([word, cached]) => [word, cached?.postings ?? NOWHERE]));
    return true;
  }

  /**
   * Loads the changes since the last call and everything in `wanted`; `undefined` when the namespace has no
   * memory yet. Reads the entries of `slots` in the same round trip.
   */
  *catchUp(wanted: Wanted, slots: readonly number[] = []): Asking<CaughtUp | undefined> {
    const words = [...new Set(wanted.words)].map((word): AskedWord => {
      const known = this.#cache.get(word);
      const { from, to } = known?.range ?? rangeOf(word);
      return { word, from, to, after: known?.at ?? -1, known };
    });
    const known: Known = {
      ...this.#known,
      loaded: [...this.#loaded.keys()],
      loadedLevel: LOADED_LEVEL_MAX,
      lastSession: this.#sessions.last,
      lastLabel: this.#lastLabel,
      words,
      sessionId: wanted.sessionId,
      vectors: wanted.embedder === undefined ? undefined : this.vectors.known(wanted.embedder),
    };
    const [news, entries] = yield* together(
      question("catchUp", known),
      question("entries", { slots }),
    );
    if (!news || !checked(news.head)) return undefined;
    const isKnown = stillKnown(this.#known, news.head).words >= 0;
    this.#take(news);
    const { sessionId } = wanted;
    this.#sessionNumbers = new Map(sessionId === undefined ? [] : [[sessionId, news.session]]);
    this.#postings = new Map(
      words.map((asked, at) => {
        const known = isKnown ? asked.known : undefined;
        return [asked.word, this.#unite(asked, known, news.words[at] ?? [])];
      }),
    );
    if (wanted.embedder !== undefined) this.vectors.take(news);
    this.#isQuiet = news.segments === undefined;
    return { isSame: this.#isQuiet, entries };
  }

  /** All words that begin with a letter, one a line, in a list for each segment. */
  wordsBeginningWith(letter: string): Asking<readonly string[]> {
    return this.#lists.of(letter, this.#segments, this.#loaded);
  }

  /** Reads the numbers of more sessions, for the search at hand. */
  *findSessions(which: NonNullable<MemoryFilter["sessions"]>): Asking<void> {
    const ids = "only" in which ? which.only : which.except;
    const rows = yield* ask("sessions", { ids });
    const found = rows.map(({ id, number }) => [id, number] as const);
    this.#sessionNumbers = new Map([...this.#sessionNumbers, ...found]);
  }

  /** Bytes of memory that the words and columns take. */
  get bytes(): number {
    const loaded = [...this.#loaded.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    return loaded + this.#lists.bytes + this.#cache.bytes + BYTES_OF_SLOT * this.#room.slots;
  }

  /** The vectors of the last embedder that a search named. */
  get vectors(): KnownVectors {
    this.#vectors ??= new KnownVectors(this.#cacheBytes);
    return this.#vectors;
  }

  get vectorBytes(): number {
    return this.#vectors?.bytes ?? 0;
  }

  get slots(): number {
    return this.#head?.slots ?? 0;
  }

  get passages(): number {
    return this.#head?.passages ?? 0;
  }

  get columns(): PassageColumns {
    return this.#columns;
  }

  get links(): LinkChanges {
    return this.#room.links;
  }

  details(slot: number, end = slot + 1): DetailColumns {
    return this.#room.details(slot, end);
  }

  get sessions(): number {
    return this.#sessions.count;
  }

  get lastSession(): number {
    return this.#sessions.last;
  }

  blocksOfSession(number: number): Uint32Array {
    return this.#room.blocksOf(number);
  }

  postings(word: string): Postings {
    const postings = this.#postings.get(word);
    if (!postings) throw new Error(`The search did not say that it looks for "${word}".`);
    return postings;
  }

  sessionNumber(id: string): number | undefined {
    return this.#sessionNumbers.get(id);
  }

  labelNumber(text: string): number | undefined {
    return this.#labelNumbers.get(text);
  }

  label(number: number): string | undefined {
    return this.#labels.get(number);
  }

  #take({ head, segments, small, blocks, columns, sessions, labels }: News): void {
    this.#head = head;
    if (!segments) return;
    if (this.#cacheBytes === undefined) {
      this.#cache.limitTo(Math.max(CACHE_BYTES, PASSAGE_BYTES * head.passages));
    }
    const known = stillKnown(this.#known, head);
    if (known.words < 0) this.#forgetWords();
    this.#segments = segments;
    const left = new Set(segments.map(({ number }) => number));
    for (const number of this.#loaded.keys()) if (!left.has(number)) this.#loaded.delete(number);
    for (const { number, words } of small) this.#loaded.set(number, WordBlocks.ofSmall(words));
    for (const [segment, rows] of Map.groupBy(blocks, (block) => block.segment)) {
      this.#loaded.set(segment, new WordBlocks(rows));
    }
    this.#sessions = {
      count: this.#sessions.count + sessions.count,
      last: Math.max(this.#sessions.last, sessions.last),
    };
    for (const { number, text } of labels) {
      this.#labels.set(number, text);
      this.#labelNumbers.set(text, number);
      this.#lastLabel = Math.max(this.#lastLabel, number);
    }
    if (known.columns < 0) this.#room.clear(head.slots);
    else this.#room.grow(head.slots);
    const lastChange = new Map(segments.map((segment) => [segment.number, segment.lastChange]));
    const newest = small.filter(({ number }) => (lastChange.get(number) ?? 0) > known.columns);
    if (
      known.columns < 0 ||
      columns.length > 0 ||
      newest.length > 0 ||
      this.#columns.entry.length !== head.slots
    ) {
      for (const { block, data } of columns) this.#room.putBlock(block, data);
      for (const { columns } of newest) this.#room.putRecords(unpackRecords(columns));
      this.#columns = this.#room.upTo(head.slots);
    }
    const { changes, removedAt, generation } = head;
    this.#known = { changes, removedAt, generation };
  }

  /** Drops all words that were read before a removal: they may name removed entries. */
  #forgetWords(): void {
    this.#loaded.clear();
    this.#lists.clear();
    this.#cache.clear();
    this.#labels.clear();
    this.#labelNumbers.clear();
    this.#lastLabel = 0;
    this.#sessions = { count: 0, last: 0 };
  }

  /**
   * The postings of a word: those known when it was asked for, those in segments in memory, and those in `blocks`. They
   * may have left the cache since, to make room for another word.
   */
  #unite(
    { word, from, to }: AskedWord,
    known: CachedWord | undefined,
    blocks: News["words"][number],
  ): Postings {
    const changes = this.#head?.changes ?? 0;
    if (known?.at === changes) return known.postings;
    const read = (some: WordBlocks) =>
      isRange(word) ? [...some.postingsOfBeginning(word.slice(0, -1))] : some.postings(from);
    // A merged segment may have known postings beside new ones.
    const unread = this.#segments.filter(({ lastChange }) => lastChange > (known?.at ?? -1));
    const found = unread.flatMap(({ number }) => {
      const loaded = this.#loaded.get(number);
      return loaded ? read(loaded) : [];
    });
    for (const rows of Map.groupBy(blocks, ({ segment }) => segment).values()) {
      found.push(...read(new WordBlocks(rows)));
    }
    const postings = known ? grown(known.postings, found) : unitePostings(found);
    this.#cache.set(word, { postings, at: changes, range: { from, to } });
    return postings;
  }
}

type AskedWord = WordRange & {
  readonly word: string;
  /** The change up to which its postings are known; -1 when they are not. */
  readonly after: number;
  readonly known: CachedWord | undefined;
};

/** The same object when nothing is new, so that the summary of its postings stays valid. */
function grown(known: Postings, found: readonly Postings[]): Postings {
  const added = postingsBesides(known, unitePostings(found));
  if (added.slots.length === 0) return known;
  const postings = withPostings(known, added);
  passOnSummary(known, postings, added);
  return postings;
}

function isRange(word: string): boolean {
  return word.endsWith("*");
}

function rangeOf(word: string): WordRange {
  const from = wordBytes(isRange(word) ? word.slice(0, -1) : word);
  return { from, to: isRange(word) ? Buffer.concat([from, LAST]) : from };
}

/** No character begins with this byte in UTF-8. */
const LAST = Uint8Array.of(255);

/** Where a word can be in blocks, in UTF-8. One array is both ends for a single word. */
interface WordRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

interface CachedWord {
  readonly postings: Postings;
  /** The change of the namespace up to which they are complete. */
  readonly at: number;
  readonly range: WordRange;
}

/** Bytes of a list and its summary besides their numbers: objects, mostly. */
const OVERHEAD_BYTES = 1300;
const POSTING_BYTES = 5;
/** Bytes of a summary for each block of slots. */
const BLOCK_BYTES = 12;

/** A cache of postings by word, with a limit in bytes. The least recently used go first. */
class PostingsCache {
  #bytesMax: number;
  #bytes = 0;
  readonly #known = new Map<string, CachedWord>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(word: string): CachedWord | undefined {
    const known = this.#known.get(word);
    if (!known) return undefined;
    this.#known.delete(word);
    this.#known.set(word, known);
    return known;
  }

  set(word: string, known: CachedWord): void {
    this.#drop(word);
    this.#known.set(word, known);
    this.#bytes += bytesOf(known);
    for (const oldest of this.#known.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#drop(oldest);
    }
  }

  clear(): void {
    this.#known.clear();
    this.#bytes = 0;
  }

  limitTo(bytesMax: number): void {
    this.#bytesMax = bytesMax;
  }

  #drop(word: string): void {
    const known = this.#known.get(word);
    if (!known) return;
    this.#known.delete(word);
    this.#bytes -= bytesOf(known);
  }
}

function bytesOf({ postings: { slots } }: CachedWord): number {
  const blocks = blockOf(slots.at(-1) ?? 0) - blockOf(slots[0] ?? 0) + 1;
  return (
    OVERHEAD_BYTES + POSTING_BYTES * slots.length + BLOCK_BYTES * Math.min(slots.length, blocks)
  );
}

/** Maximum bytes of postings in memory, unless another size is given. */
const CACHE_BYTES = 16_000_000;
/** Bytes for each passage, when that is more: words of a question are in more places of a large index. */
const PASSAGE_BYTES = 64;
/** Maximum bytes of vectors in memory, those of all namespaces together. */
const VECTOR_BYTES_MAX = 64 * 2 ** 20;

/** The indexes that a process has in memory, by namespace. Those searched last stay. */
export class OpenIndexes {
  /** The one used last is at the end. */
  readonly #open = new Map<string, OpenIndex>();

  of(namespace: string, cacheBytes?: number): OpenIndex {
    const index = this.#open.get(namespace) ?? new OpenIndex(cacheBytes);
    this.#open.delete(namespace);
    this.#open.set(namespace, index);
    this.#closeOthers(cacheBytes ?? CACHE_BYTES);
    return index;
  }

  /** Closes those that were not searched for longest, while all of them take too much. */
  #closeOthers(bytesMax: number): void {
    if (this.#open.size === 1) return;
    const all = [...this.#open];
    let bytes = all.reduce((sum, [, index]) => sum + index.bytes, 0);
    let vectorBytes = all.reduce((sum, [, index]) => sum + index.vectorBytes, 0);
    for (const [namespace, index] of all.slice(0, -1)) {
      if (bytes <= bytesMax && vectorBytes <= VECTOR_BYTES_MAX) return;
      bytes -= index.bytes;
      vectorBytes -= index.vectorBytes;
      this.#open.delete(namespace);
    }
  }
}
