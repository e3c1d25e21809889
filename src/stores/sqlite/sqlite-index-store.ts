import type { SQLInputValue } from "node:sqlite";
import {
  finish,
  type Progress,
  type SyncIndexStore,
  type TransactionMode,
} from "../../indexing/asking.ts";
import {
  type Changes,
  type CodeBlockRow,
  type ColumnBlockRow,
  type Counts,
  type EntryRow,
  type FreeRun,
  type Head,
  type IndexStats,
  type Known,
  type LabelRow,
  type LackingEntry,
  type LastNumbers,
  type News,
  type Segment,
  type SessionRow,
  type SmallSegment,
  stillKnown,
  type VectorRow,
  type VectorSpace,
  type WantedBlocks,
  type WantedEntries,
  type WordBlockRow,
} from "../../indexing/index-store.ts";
import { searchedOf } from "../../indexing/segments/segments.ts";
import type { Connection } from "./connection.ts";
import * as sql from "./index-queries.ts";
import { GENERATION_KEYS, KEYS } from "./index-schema.ts";
import { saveIndexChanges } from "./save-index-changes.ts";

/** The index of a namespace in SQLite. */
export class SqliteIndexStore implements SyncIndexStore {
  readonly #db: Connection;
  readonly #name: string;
  #known = -1;
  /** What was read, and what was saved since. It holds until another connection writes. */
  #kept: Kept = newKept(-1);

  constructor(db: Connection, namespace: string) {
    this.#db = db;
    this.#name = namespace;
  }

  *transact<Result>(
    mode: TransactionMode,
    work: () => Generator<Progress, Result>,
  ): Generator<Progress, Result> {
    if (mode === "read" || mode === "search") return yield* this.#db.readInSteps(work);
    const whole = () => finish(work());
    try {
      return mode === "write" ? this.#db.write(whole) : this.#db.writeUnsynced(whole);
    } catch (error) {
      // What was saved was undone.
      this.#kept = newKept(-1);
      throw error;
    }
  }

  head(): Head | undefined {
    const version = this.#db.dataVersion();
    if (this.#kept.version !== version) this.#kept = newKept(version);
    if (this.#kept.head) return this.#kept.head;
    const row = this.#db.array(sql.HEAD, this.#name);
    if (!row) return undefined;
    const { number, ...head } = sql.headOf(row);
    this.#known = number;
    this.#kept.head = head;
    return head;
  }

  catchUp(known: Known): News | undefined {
    const head = this.head();
    if (!head) return undefined;
    const still = stillKnown(known, head);
    const isNew = known.changes !== head.changes;
    const isAsked = known.words.some(({ after }) => after < head.changes);
    if (!isNew && !isAsked && known.vectors === undefined && known.sessionId === undefined) {
      return { ...NO_NEWS, head };
    }
    const segments = isNew || isAsked ? searchedOf(head, this.segments()) : [];
    const loaded = new Set(still.words < 0 ? [] : known.loaded);
    const toLoad = isNew
      ? segments.filter(({ number, level }) => level <= known.loadedLevel && !loaded.has(number))
      : [];
    const lastSession = still.words < 0 ? 0 : known.lastSession;
    return {
      head,
      segments: isNew ? segments : undefined,
      small: this.smallSegments(numbersOf(toLoad, (level) => level === 0)),
      blocks: numbersOf(toLoad, (level) => level > 0).flatMap((segment) =>
        this.#allBlocks(segment),
      ),
      columns:
        isNew && head.columnsAt > still.columns
          ? this.#columnBlocks(head.generation, still.columns)
          : [],
      sessions: isNew ? this.#sessionsBehind(lastSession) : { count: 0, last: 0 },
      labels: isNew
        ? this.#labels(sql.LABELS_AFTER, this.#number, still.words < 0 ? 0 : known.lastLabel)
        : [],
      words: this.#wordsOf(known, segments, still.words),
      session:
        known.sessionId === undefined
          ? undefined
          : this.#db.get<{ number: number }>(sql.SESSION_NUMBER, this.#number, known.sessionId)
              ?.number,
      ...this.#codesOf(known.vectors),
    };
  }

  /** For each word, the blocks of segments that are not loaded. */
  #wordsOf(
    known: Known,
    segments: readonly Segment[],
    still: number,
  ): readonly (readonly WordBlockRow[])[] {
    const large = segments.filter(({ level }) => level > known.loadedLevel);
    return known.words.map(({ from, to, after }) =>
      large
        .filter(({ lastChange }) => lastChange > (still < 0 ? -1 : after))
        .flatMap(({ number }) => this.#blocksBetween(number, from, to)),
    );
  }

  #codesOf(known: Known["vectors"]): Pick<News, "space" | "codes"> {
    if (!known) return { space: undefined, codes: [] };
    const space = this.#db.get<VectorSpace>(
      `${sql.SPACE} AND embedder = ?`,
      this.#number,
      known.embedder,
    );
    const changedAfter = space?.number === known.space ? known.changes : -1;
    const codes =
      space && space.changes > changedAfter ? this.codeBlocks(space.number, { changedAfter }) : [];
    return { space, codes };
  }

  #sessionsBehind(number: number): { readonly count: number; readonly last: number } {
    return this.#db.get(sql.SESSIONS_BEHIND, this.#number, number) ?? { count: 0, last: 0 };
  }

  segments(): readonly Segment[] {
    if (!this.head()) return [];
    this.#kept.segments ??= new Map(
      this.#db
        .arrays(sql.SEGMENTS, ...this.#keys())
        .map(sql.segmentOf)
        .map((segment) => [segment.number, segment]),
    );
    return [...this.#kept.segments.values()];
  }

  smallSegments(numbers: readonly number[]): readonly SmallSegment[] {
    return numbers.flatMap((number) => {
      const row = this.#db.get<Omit<SmallSegment, "number">>(sql.BLOBS, this.#key(number));
      return row ? [{ ...row, number }] : [];
    });
  }

  wordBlocks(wanted: readonly WantedBlocks[]): readonly (readonly WordBlockRow[])[] {
    return wanted.map((one) => {
      if ("from" in one) return this.#blocksBetween(one.segment, one.from, one.to);
      if ("slots" in one) return this.#blocksOfSlots(one.segment, one.word, one.slots);
      const key = this.#key(one.segment);
      const first = this.#db.get<BlockRow>(sql.LAST_BLOCK, key, one.start)?.first ?? NOTHING;
      return this.#blocks(one.segment, sql.BLOCKS_FROM, key, first, one.limit);
    });
  }

  #blocks(segment: number, query: string, ...values: SQLInputValue[]): WordBlockRow[] {
    return this.#db.all<BlockRow>(query, ...values).map((row) => ({ ...row, segment }));
  }

  #allBlocks(segment: number): WordBlockRow[] {
    return this.#blocks(segment, sql.ALL_BLOCKS, this.#key(segment));
  }

  #blocksBetween(segment: number, from: Uint8Array, to: Uint8Array): WordBlockRow[] {
    const key = this.#key(segment);
    const block = this.#db.get<BlockRow>(sql.LAST_BLOCK, key, from);
    const found: WordBlockRow[] = [];
    if (block && block.slot > 0 && Buffer.compare(block.first, from) === 0) {
      found.push(...this.#blocks(segment, sql.PARTS, key, from));
    } else if (block) found.push({ ...block, segment });
    if (to !== from) found.push(...this.#blocks(segment, sql.BLOCKS_BETWEEN, key, from, to));
    return found;
  }

  #blocksOfSlots(segment: number, word: Uint8Array, slots: Uint32Array): WordBlockRow[] {
    const found: WordBlockRow[] = [];
    for (const slot of slots) {
      const row = this.#db.get<BlockRow>(sql.BLOCK_OF_SLOT, this.#key(segment), word, slot);
      const last = found.at(-1);
      if (!row || (last?.slot === row.slot && Buffer.compare(last.first, row.first) === 0))
        continue;
      found.push({ ...row, segment });
      // All places of a word are in one block, unless it is a frequent one.
      if (row.slot === 0 && Buffer.compare(row.first, word) !== 0) break;
    }
    return found;
  }

  columnBlocks(generation: number, blocks: readonly number[]): readonly ColumnBlockRow[] {
    const first = this.#columnKey(generation);
    return blocks.flatMap((block) => {
      const row = this.#db.get<Pick<ColumnBlockRow, "changed" | "data">>(
        sql.COLUMN_BLOCK,
        first + block,
      );
      return row ? [{ ...row, generation, block }] : [];
    });
  }

  columnBlockPage(generation: number, limit: number): readonly number[] {
    const first = this.#columnKey(generation);
    return this.#db
      .all<{ key: number }>(sql.COLUMN_BLOCK_KEYS, first, first + GENERATION_KEYS - 1, limit)
      .map(({ key }) => key - first);
  }

  #columnBlocks(generation: number, after: number): ColumnBlockRow[] {
    const first = this.#columnKey(generation);
    return this.#db
      .all<{ key: number; changed: number; data: Uint8Array }>(
        sql.COLUMN_BLOCKS,
        first,
        first + GENERATION_KEYS - 1,
        after,
      )
      .map(({ key, ...row }) => ({ ...row, generation, block: key - first }));
  }

  entries(which: WantedEntries): readonly EntryRow[] {
    const number = this.#number;
    if ("slots" in which) {
      return which.slots.length === 0
        ? []
        : this.#entries(sql.ENTRIES_AT, number, JSON.stringify(which.slots));
    }
    if ("ids" in which)
      return which.ids.flatMap((id) => this.#entries(sql.ENTRY_OF_ID, number, id));
    const after = this.#key(which.after);
    return "first" in which
      ? this.#entries(sql.ENTRIES_BETWEEN, number, which.first, which.last, after, which.limit)
      : this.#entries(sql.ENTRIES_AFTER, after, this.#keys()[1], which.limit);
  }

  #entries(query: string, ...values: SQLInputValue[]): EntryRow[] {
    // Entries share a few labels, which a join would look up for each.
    const { labels } = this.#kept;
    const labelText = (number: number) => {
      const known =
        labels.get(number) ?? this.#db.get<LabelRow>(sql.LABEL_TEXT, this.#number, number)?.text;
      labels.set(number, known ?? null);
      return known ?? null;
    };
    const first = this.#key(0);
    return this.#db.arrays(query, ...values).map((row) => sql.entryOf(row, first, labelText));
  }

  entrySlots(keys: readonly number[]): readonly Pick<EntryRow, "key" | "slot" | "passages">[] {
    return [...new Set(keys)].flatMap((key) => {
      const row = this.#db.get<Pick<EntryRow, "slot" | "passages">>(
        sql.ENTRY_SLOTS,
        this.#key(key),
      );
      return row ? [{ ...row, key }] : [];
    });
  }

  storedIds(ids: readonly string[]): readonly string[] {
    const number = this.#number;
    return ids.filter((id) => this.#db.get(sql.HAS_ID, number, id) !== undefined);
  }

  sessions(
    which: { readonly ids: readonly string[] } | { readonly numbers: readonly number[] } | "all",
  ): readonly SessionRow[] {
    const number = this.#number;
    if (which === "all") return this.#sessions(sql.SESSION, number);
    return "ids" in which
      ? which.ids.flatMap((id) => this.#sessions(sql.SESSION_OF_ID, number, id))
      : which.numbers.flatMap((one) => this.#sessions(sql.SESSION_OF_NUMBER, number, one));
  }

  #sessions(query: string, ...values: SQLInputValue[]): SessionRow[] {
    return this.#db.arrays(query, ...values).map(sql.sessionOf);
  }

  labels(texts: readonly string[]): readonly LabelRow[] {
    return texts.flatMap((text) => this.#labels(sql.LABEL_OF_TEXT, this.#number, text));
  }

  lastNumbers(): LastNumbers {
    const [session, label, runs] = this.#db.array(sql.LAST_NUMBERS, this.#number) ?? [];
    return { session: session as number, label: label as number, hasFreeRuns: runs === 1 };
  }

  freeRuns(sizes: readonly number[], limit: number): readonly FreeRun[] {
    const found = sizes.flatMap((size) =>
      this.#db.all<FreeRun>(sql.FREE_RUNS, this.#number, size, 2 * size, limit),
    );
    return [...new Map(found.map((run) => [`${run.size} ${run.first}`, run])).values()];
  }

  recount(): Counts {
    const counts = this.#db.get<{ entries: number; passages: number }>(sql.COUNT, this.#number);
    return {
      ...{ entries: 0, passages: 0, ...counts },
      sessions: this.#sessions(sql.WRONG_SESSIONS, this.#number),
      labels: this.#labels(sql.WRONG_LABELS, this.#number),
    };
  }

  #labels(query: string, ...values: SQLInputValue[]): LabelRow[] {
    return this.#db.arrays(query, ...values).map(sql.labelOf);
  }

  stats(sessionId: string | null): IndexStats {
    const head = this.head();
    const number = this.#number;
    const stats = this.#db.get<IndexStats>(
      sql.STATS,
      number,
      sessionId,
      ...this.#keys(),
      head?.generation ?? 0,
    );
    return { ...(stats as IndexStats), passages: head?.passages ?? 0 };
  }

  spaces(): readonly VectorSpace[] {
    return this.#db.all<VectorSpace>(sql.SPACE, this.#number);
  }

  vectorSlots(
    slots: readonly number[],
  ): readonly { readonly space: number; readonly slot: number }[] {
    return this.spaces().flatMap(({ number: space }) =>
      slots
        .filter((slot) => this.#db.get(sql.HAS_VECTOR, space * KEYS + slot) !== undefined)
        .map((slot) => ({ space, slot })),
    );
  }

  vectorPage(
    space: number,
    after: number,
    limit: number,
  ): readonly { readonly slot: number; readonly isBlank: boolean }[] {
    const first = space * KEYS;
    return this.#db
      .all<{ key: number; blank: number }>(sql.VECTORS, first + after, first + KEYS - 1, limit)
      .map(({ key, blank }) => ({ slot: key - first, isBlank: blank === 1 }));
  }

  vectorRows(space: number, slots: readonly number[]): readonly VectorRow[] {
    if (slots.length === 0) return [];
    const first = space * KEYS;
    // One statement for all takes a third of the time of one for each.
    const keys = JSON.stringify(slots.map((slot) => first + slot));
    return this.#db.arrays(sql.VECTOR_ROWS, keys).map((row) => ({
      space,
      slot: (row[0] as number) - first,
      row: row[1] as Uint8Array | null,
    }));
  }

  codeBlocks(
    space: number,
    which: { readonly blocks: readonly number[] } | { readonly changedAfter: number },
  ): readonly CodeBlockRow[] {
    const first = space * KEYS;
    const rows =
      "blocks" in which
        ? which.blocks.flatMap((block) => this.#db.all<StoredCodes>(sql.CODE_BLOCK, first + block))
        : this.#db.all<StoredCodes>(sql.CODE_BLOCKS, first, first + KEYS - 1, which.changedAfter);
    return rows.map(({ key, ...row }) => ({ ...row, space, block: key - first }));
  }

  entriesLacking(
    space: number,
    { oldest, before, limit }: { oldest: number; before: number; limit: number },
  ): readonly LackingEntry[] {
    const first = space * KEYS;
    const rows = this.#db.iterate<Omit<LackingEntry, "have">>(
      sql.LACKING,
      this.#key(oldest),
      this.#key(before) - 1,
      first,
      limit,
    );
    return [...rows].map((row) => ({
      ...row,
      key: row.key - this.#key(0),
      have: Array.from({ length: row.passages }, (_, index) => row.slot + index).filter(
        (slot) => this.#db.get(sql.HAS_VECTOR, first + slot) !== undefined,
      ),
    }));
  }

  save(changes: Changes): void {
    if (this.#number < 0) {
      this.#known = this.#db.insert(sql.NEW_NAMESPACE, this.#name, changes.head.version);
    }
    saveIndexChanges(this.#db, this.#number, changes);
    const { segments } = this.#kept;
    for (const { number } of changes.remove.segments ?? []) segments?.delete(number);
    for (const { words, columns, ...segment } of changes.put.segments ?? []) {
      segments?.set(segment.number, segment);
    }
    this.#kept.head = { ...changes.head };
    this.#kept.labels.clear();
  }

  /** The number of the namespace; -1 until its first save. */
  get #number(): number {
    if (this.#known < 0) this.head();
    return this.#known;
  }

  #key(number: number): number {
    return this.#number * KEYS + number;
  }

  #keys(): [number, number] {
    return [this.#key(0), this.#key(KEYS - 1)];
  }

  #columnKey(generation: number): number {
    return this.#key((generation % 2) * GENERATION_KEYS);
  }
}

/** What is known of a namespace without asking for it again. */
interface Kept {
  /** `Connection.dataVersion` when it was read. */
  readonly version: number;
  head?: Head;
  segments?: Map<number, Segment>;
  readonly labels: Map<number, string | null>;
}

function newKept(version: number): Kept {
  return { version, labels: new Map() };
}

const NOTHING = new Uint8Array();

const NO_NEWS: Omit<News, "head"> = {
  segments: undefined,
  small: [],
  blocks: [],
  columns: [],
  sessions: { count: 0, last: 0 },
  labels: [],
  words: [],
  session: undefined,
  space: undefined,
  codes: [],
};

type BlockRow = Omit<WordBlockRow, "segment">;
type StoredCodes = Omit<CodeBlockRow, "space" | "block"> & { readonly key: number };

function numbersOf(segments: readonly Segment[], isWanted: (level: number) => boolean): number[] {
  return segments.filter(({ level }) => isWanted(level)).map(({ number }) => number);
}
