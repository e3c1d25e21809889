import { passOnSummary } from "../../../search/bounds/word-summaries.ts";
import type {
  DetailColumns,
  PassageColumns,
  PassageIndex,
  PassageLinks,
  Postings,
} from "../../../search/passage-index.ts";
import type { Connection } from "../connection.ts";
import { ColumnRoom } from "./memory-column-room.ts";
import { changedBlocks, searchedBlock, unpackRecords } from "./memory-columns.ts";
import { labelNumber, labelText } from "./memory-labels.ts";
import { LoadedSegment } from "./memory-loaded-segment.ts";
import type { MemoryNamespace } from "./memory-namespace.ts";
import { postingsBesides, unitePostings, withPostings } from "./memory-postings.ts";
import type { PostingsCache } from "./memory-postings-cache.ts";
import { postingsInBlocks, postingsOfBeginning, segmentWords } from "./memory-segment-words.ts";
import { type Segment, searchedSegments, smallSegment } from "./memory-segments.ts";
import { sessionNumber, sessionsBehind } from "./memory-session.ts";
import { wordBytes } from "./memory-word-block.ts";

/**
 * The index of a namespace, as far as it was needed: what is asked for is read, and kept in
 * memory as long as it is true. `refresh` comes first in every transaction that searches.
 */
export class MemoryPassageIndex implements PassageIndex {
  readonly links: PassageLinks;
  readonly #db: Connection;
  readonly #cache: PostingsCache;
  #namespace: MemoryNamespace;
  #segments: readonly Segment[] = [];
  /** By number of the segment; `undefined` for one that is read word by word. */
  readonly #loaded = new Map<number, LoadedSegment | undefined>();
  readonly #room: ColumnRoom;
  #columns: PassageColumns | undefined;
  /** The change up to which the columns are read; -1 when they are not. */
  #columnsAt = -1;
  #sessions = { count: 0, last: 0 };
  /** The change up to which they are counted. */
  #sessionsAt = -1;
  readonly #labels = new Map<number, string | undefined>();
  readonly #labelNumbers = new Map<string, number>();

  constructor(db: Connection, namespace: MemoryNamespace, cache: PostingsCache) {
    this.#db = db;
    this.#cache = cache;
    this.#namespace = namespace;
    this.#segments = searchedSegments(db, namespace);
    this.#room = new ColumnRoom((block) => searchedBlock(this.#db, this.#namespace, block));
    const index = this;
    this.links = {
      get: (slot) => this.#link(slot),
      get version() {
        return index.columns && index.#room.linkChanges.version;
      },
      changedSince: (version) => this.columns && this.#room.linkChanges.since(version),
    };
  }

  /** Catches up with what was written since, by whoever it was. */
  refresh(namespace: MemoryNamespace): void {
    const before = this.#namespace;
    if (before.changes === namespace.changes) return;
    this.#namespace = namespace;
    this.#segments = searchedSegments(this.#db, namespace);
    if (this.#isNewer(namespace)) this.#columns = undefined;
    if (before.removed_at !== namespace.removed_at) {
      this.#loaded.clear();
      this.#labels.clear();
      this.#labelNumbers.clear();
      this.#sessions = { count: 0, last: 0 };
      this.#sessionsAt = -1;
      if (before.generation !== namespace.generation) this.#columnsAt = -1;
      this.#cache.forget(namespace.number);
      return;
    }
    const left = new Set(this.#segments.map(({ number }) => number));
    for (const number of this.#loaded.keys()) if (!left.has(number)) this.#loaded.delete(number);
  }

  /** Whether columns have changed since they were read: a merge changes none. */
  #isNewer({ columns_at, removed_at }: MemoryNamespace): boolean {
    return (
      Math.max(columns_at, removed_at) > this.#columnsAt ||
      this.#segments.some(({ last_change }) => last_change > this.#columnsAt)
    );
  }

  /** Bytes of memory that are not in the cache of postings. */
  get bytes(): number {
    const loaded = [...this.#loaded.values()].reduce((sum, one) => sum + (one?.bytes ?? 0), 0);
    return loaded + 27 * this.#room.slots;
  }

  get slots(): number {
    return this.#namespace.slots;
  }

  get passages(): number {
    return this.#namespace.passages;
  }

  get columns(): PassageColumns {
    this.#columns ??= this.#readColumns();
    return this.#columns;
  }

  details(slot: number, end = slot + 1): DetailColumns {
    // Read first: what newer changes say of a block is put over it.
    return this.columns && this.#room.details(slot, end);
  }

  get sessions(): number {
    return this.#countSessions().count;
  }

  get lastSession(): number {
    return this.#countSessions().last;
  }

  postings(word: string): Postings {
    const bytes = wordBytes(word);
    return this.#cached(
      word,
      (segment) =>
        this.#loadedSegment(segment)?.postings(bytes) ??
        postingsInBlocks(this.#db, segment.number, bytes),
    );
  }

  postingsOfBeginning(beginning: string): Postings {
    const bytes = wordBytes(beginning);
    return this.#cached(`${beginning}*`, (segment) => {
      const words =
        this.#loadedSegment(segment)?.words(bytes) ?? segmentWords(this.#db, segment, bytes);
      return postingsOfBeginning(words, beginning);
    });
  }

  sessionNumber(id: string): number | undefined {
    return sessionNumber(this.#db, this.#namespace.number, id);
  }

  labelNumber(text: string): number | undefined {
    const number =
      this.#labelNumbers.get(text) ?? labelNumber(this.#db, this.#namespace.number, text);
    if (number !== undefined) this.#labelNumbers.set(text, number);
    return number;
  }

  label(number: number): string | undefined {
    if (number === 0) return undefined;
    const known = this.#labels.get(number);
    if (known !== undefined) return known;
    const text = labelText(this.#db, this.#namespace.number, number);
    this.#labels.set(number, text);
    return text;
  }

  #link(slot: number): number | undefined {
    const { session, entry } = this.columns;
    return session[slot] === 0 ? entry[slot] || undefined : undefined;
  }

  /** Sessions get ascending numbers, so new ones are behind the last. */
  #countSessions(): { readonly count: number; readonly last: number } {
    const { number, changes } = this.#namespace;
    if (this.#sessionsAt !== changes) {
      const more = sessionsBehind(this.#db, number, this.#sessions.last);
      this.#sessions = {
        count: this.#sessions.count + more.count,
        last: more.last ?? this.#sessions.last,
      };
      this.#sessionsAt = changes;
    }
    return this.#sessions;
  }

  #cached(key: string, read: (segment: Segment) => Iterable<Postings>): Postings {
    const { number, changes } = this.#namespace;
    const known = this.#cache.get(number, key);
    if (known?.at === changes) return known.postings;
    // A segment that came about by a merge may have what is known and what is new.
    const unread = this.#segments.filter(({ last_change }) => last_change > (known?.at ?? -1));
    const found = unread.flatMap((segment) => [...read(segment)]);
    const postings = known ? this.#grown(known.postings, found) : unitePostings(found);
    this.#cache.set(number, key, { postings, at: changes });
    return postings;
  }

  /** The same object when there is nothing new: what is known of it stays true. */
  #grown(known: Postings, found: readonly Postings[]): Postings {
    const added = postingsBesides(known, unitePostings(found));
    if (added.slots.length === 0) return known;
    const postings = withPostings(known, added);
    passOnSummary(known, postings, added);
    return postings;
  }

  #loadedSegment(segment: Segment): LoadedSegment | undefined {
    const { number } = segment;
    if (!this.#loaded.has(number)) this.#loaded.set(number, LoadedSegment.of(this.#db, segment));
    return this.#loaded.get(number);
  }

  #readColumns(): PassageColumns {
    const { slots, columns_at, changes } = this.#namespace;
    if (this.#columnsAt < 0) this.#room.clear(slots);
    else this.#room.grow(slots);
    if (columns_at > this.#columnsAt) {
      for (const { first, data } of changedBlocks(this.#db, this.#namespace, this.#columnsAt)) {
        this.#room.putBlock(first, data);
      }
    }
    for (const { number, level, last_change } of this.#segments) {
      if (level > 0 || last_change <= this.#columnsAt) continue;
      this.#room.putRecords(unpackRecords(smallSegment(this.#db, number).columns));
    }
    this.#columnsAt = changes;
    return this.#room.upTo(slots);
  }
}
