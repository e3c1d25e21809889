import type { SQLInputValue } from "node:sqlite";
import {
  finish,
  type Progress,
  type SyncIndexStore,
  searchedOf,
  stillKnown,
  type TransactionMode,
} from "../../indexing/port/asking.ts";
import type {
  Changes,
  ColumnBlockRow,
  Counts,
  EntryRow,
  FreeRun,
  Head,
  IndexStats,
  Known,
  LabelRow,
  LastNumbers,
  News,
  Segment,
  SessionRow,
  SmallSegment,
  VectorSpace,
  WantedBlocks,
  WantedEntries,
  WordBlockRow,
} from "../../indexing/port/index-store.ts";
import type { Connection } from "./connection.ts";
import * as sql from "./index-queries.ts";
import { GENERATION_KEYS, KEYS } from "./index-schema.ts";
import type { LackingPage, WantedCodes } from "./index-vectors.ts";
import * as vectors from "./index-vectors.ts";
import { saveIndexChanges } from "./save-index-changes.ts";
import { WordBlocks } from "./word-blocks.ts";

/** The index of a namespace in SQLite. */
export class SqliteIndexStore implements SyncIndexStore {
  readonly #db: Connection;
  readonly #name: string;
  #known = -1;
  /** Rows that were read or saved. They are valid until another connection writes. */
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
      // The transaction was undone.
      this.#kept = newKept(-1);
      throw error;
    }
  }

  head(): Head | undefined {
    const version = this.#db.dataVersion();
    if (this.#kept.version !== version) this.#kept = newKept(version);
    if (this.#kept.head) return this.#kept.head;
    const row = this.#db.array(sql.HEAD, this.#name);
    if (!row) {
      // A first save that was undone gave it a number, which another namespace may have now.
      this.#known = -1;
      return undefined;
    }
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
        this.#blocks.all(segment),
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
        .flatMap(({ number }) => this.#blocks.between(number, from, to)),
    );
  }

  #codesOf(known: Known["vectors"]): Pick<News, "space" | "codes"> {
    if (!known) return { space: undefined, codes: [] };
    const space = vectors.spaceOfEmbedder(this.#db, this.#number, known.embedder);
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
    return wanted.map((one) => this.#blocks.find(one));
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
    if ("marked" in which) return this.#entries(sql.ENTRIES_MARKED, number, after, which.limit);
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
    return vectors.spaces(this.#db, this.#number);
  }

  vectorSlots(slots: readonly number[]) {
    return vectors.vectorSlots(this.#db, this.#number, slots);
  }

  vectorPage(space: number, after: number, limit: number) {
    return vectors.vectorPage(this.#db, space, after, limit);
  }

  vectorRows(space: number, slots: readonly number[]) {
    return vectors.vectorRows(this.#db, space, slots);
  }

  codeBlocks(space: number, which: WantedCodes) {
    return vectors.codeBlocks(this.#db, space, which);
  }

  entriesLacking(space: number, page: LackingPage) {
    return vectors.entriesLacking(this.#db, this.#number, space, page);
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

  get #blocks(): WordBlocks {
    return new WordBlocks(this.#db, this.#number);
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

/** The rows of a namespace that were read before. */
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

function numbersOf(segments: readonly Segment[], isWanted: (level: number) => boolean): number[] {
  return segments.filter(({ level }) => isWanted(level)).map(({ number }) => number);
}
