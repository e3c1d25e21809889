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
  type News,
  type Run,
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
    if (mode === "read") return yield* this.#db.readInSteps(work);
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
    const row = this.#db.array(HEAD, this.#name);
    if (!row) return undefined;
    this.#known = row[0] as number;
    this.#kept.head = headOf(row as unknown as StoredHead);
    return this.#kept.head;
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
        ? this.#labels(LABELS_AFTER, this.#number, still.words < 0 ? 0 : known.lastLabel)
        : [],
      words: this.#wordsOf(known, segments, still.words),
      session:
        known.sessionId === undefined
          ? undefined
          : this.#db.get<{ number: number }>(SESSION_NUMBER, this.#number, known.sessionId)?.number,
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
      `${SPACE} AND embedder = ?`,
      this.#number,
      known.embedder,
    );
    const changedAfter = space?.number === known.space ? known.changes : -1;
    const codes =
      space && space.changes > changedAfter ? this.codeBlocks(space.number, { changedAfter }) : [];
    return { space, codes };
  }

  #sessionsBehind(number: number): { readonly count: number; readonly last: number } {
    return this.#db.get(SESSIONS_BEHIND, this.#number, number) ?? { count: 0, last: 0 };
  }

  segments(): readonly Segment[] {
    if (!this.head()) return [];
    this.#kept.segments ??= new Map(
      this.#db
        .arrays(SEGMENTS, ...this.#keys())
        .map((row) => segmentOf(row as unknown as StoredSegment))
        .map((segment) => [segment.number, segment]),
    );
    return [...this.#kept.segments.values()];
  }

  smallSegments(numbers: readonly number[]): readonly SmallSegment[] {
    return numbers.flatMap((number) => {
      const row = this.#db.get<Omit<SmallSegment, "number">>(BLOBS, this.#key(number));
      return row ? [{ ...row, number }] : [];
    });
  }

  wordBlocks(wanted: readonly WantedBlocks[]): readonly (readonly WordBlockRow[])[] {
    return wanted.map((one) => {
      if ("from" in one) return this.#blocksBetween(one.segment, one.from, one.to);
      if ("slots" in one) return this.#blocksOfSlots(one.segment, one.word, one.slots);
      const key = this.#key(one.segment);
      const first = this.#db.get<BlockRow>(LAST_BLOCK, key, one.start)?.first ?? NOTHING;
      return this.#blocks(one.segment, BLOCKS_FROM, key, first, one.limit);
    });
  }

  #blocks(segment: number, sql: string, ...values: SQLInputValue[]): WordBlockRow[] {
    return this.#db.all<BlockRow>(sql, ...values).map((row) => ({ ...row, segment }));
  }

  #allBlocks(segment: number): WordBlockRow[] {
    return this.#blocks(segment, ALL_BLOCKS, this.#key(segment));
  }

  #blocksBetween(segment: number, from: Uint8Array, to: Uint8Array): WordBlockRow[] {
    const key = this.#key(segment);
    const block = this.#db.get<BlockRow>(LAST_BLOCK, key, from);
    const found: WordBlockRow[] = [];
    if (block && block.slot > 0 && Buffer.compare(block.first, from) === 0) {
      found.push(...this.#blocks(segment, PARTS, key, from));
    } else if (block) found.push({ ...block, segment });
    if (to !== from) found.push(...this.#blocks(segment, BLOCKS_BETWEEN, key, from, to));
    return found;
  }

  #blocksOfSlots(segment: number, word: Uint8Array, slots: Uint32Array): WordBlockRow[] {
    const found: WordBlockRow[] = [];
    for (const slot of slots) {
      const row = this.#db.get<BlockRow>(BLOCK_OF_SLOT, this.#key(segment), word, slot);
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
        COLUMN_BLOCK,
        first + block,
      );
      return row ? [{ ...row, generation, block }] : [];
    });
  }

  columnBlockPage(generation: number, limit: number): readonly number[] {
    const first = this.#columnKey(generation);
    return this.#db
      .all<{ key: number }>(COLUMN_BLOCK_KEYS, first, first + GENERATION_KEYS - 1, limit)
      .map(({ key }) => key - first);
  }

  #columnBlocks(generation: number, after: number): ColumnBlockRow[] {
    const first = this.#columnKey(generation);
    return this.#db
      .all<{ key: number; changed: number; data: Uint8Array }>(
        COLUMN_BLOCKS,
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
        : this.#entries(ENTRIES_AT, number, JSON.stringify(which.slots));
    }
    if ("ids" in which) return which.ids.flatMap((id) => this.#entries(ENTRY_OF_ID, number, id));
    const after = this.#key(which.after);
    return "first" in which
      ? this.#entries(ENTRIES_BETWEEN, number, which.first, which.last, after, which.limit)
      : this.#entries(ENTRIES_AFTER, after, this.#keys()[1], which.limit);
  }

  #entries(sql: string, ...values: SQLInputValue[]): EntryRow[] {
    // Entries share a few labels, which a join would look up for each.
    const { labels } = this.#kept;
    const label = (number: number | null) => {
      if (number === null) return null;
      const known =
        labels.get(number) ?? this.#db.get<LabelRow>(LABEL_TEXT, this.#number, number)?.text;
      labels.set(number, known ?? null);
      return known ?? null;
    };
    return this.#db.arrays(sql, ...values).map((row) => {
      const [
        key,
        session,
        sessionId,
        slot,
        passages,
        id,
        turn,
        kind,
        time,
        role,
        speaker,
        from,
        to,
        content,
      ] = row as unknown as StoredEntry;
      return {
        key: key - this.#key(0),
        session,
        sessionId,
        slot,
        passages,
        id,
        turn,
        kind,
        time,
        role: role ?? 0,
        speaker: speaker ?? 0,
        roleText: label(role),
        speakerText: label(speaker),
        sourceFrom: from,
        sourceTo: to,
        content,
      };
    });
  }

  entrySlots(keys: readonly number[]): readonly Pick<EntryRow, "key" | "slot" | "passages">[] {
    return [...new Set(keys)].flatMap((key) => {
      const row = this.#db.get<Pick<EntryRow, "slot" | "passages">>(ENTRY_SLOTS, this.#key(key));
      return row ? [{ ...row, key }] : [];
    });
  }

  storedIds(ids: readonly string[]): readonly string[] {
    const number = this.#number;
    return ids.filter((id) => this.#db.get(HAS_ID, number, id) !== undefined);
  }

  sessions(
    which: { readonly ids: readonly string[] } | { readonly numbers: readonly number[] } | "all",
  ): readonly SessionRow[] {
    const number = this.#number;
    if (which === "all") return this.#sessions(SESSION, number);
    return "ids" in which
      ? which.ids.flatMap((id) => this.#sessions(SESSION_OF_ID, number, id))
      : which.numbers.flatMap((one) => this.#sessions(SESSION_OF_NUMBER, number, one));
  }

  #sessions(sql: string, ...values: SQLInputValue[]): SessionRow[] {
    return this.#db.arrays(sql, ...values).map((row) => sessionOf(row as unknown as StoredSession));
  }

  labels(texts: readonly string[]): readonly LabelRow[] {
    return texts.flatMap((text) => this.#labels(LABEL_OF_TEXT, this.#number, text));
  }

  lastNumbers(): { session: number; label: number; hasFreeRuns: boolean } {
    const last = this.#db.get<{ session: number; label: number; free: number }>(
      LAST_NUMBERS,
      this.#number,
    );
    return {
      session: last?.session ?? 0,
      label: last?.label ?? 0,
      hasFreeRuns: last?.free === 1,
    };
  }

  freeRuns(sizes: readonly number[], limit: number): readonly FreeRun[] {
    const found = sizes.flatMap((size) =>
      this.#db.all<FreeRun>(FREE_RUNS, this.#number, size, 2 * size, limit),
    );
    return [...new Map(found.map((run) => [`${run.size} ${run.first}`, run])).values()];
  }

  recount(): Counts {
    const counts = this.#db.get<{ entries: number; passages: number }>(COUNT, this.#number);
    return {
      ...{ entries: 0, passages: 0, ...counts },
      sessions: this.#sessions(WRONG_SESSIONS, this.#number),
      labels: this.#labels(WRONG_LABELS, this.#number),
    };
  }

  #labels(sql: string, ...values: SQLInputValue[]): LabelRow[] {
    return this.#db.arrays(sql, ...values).map((row) => {
      const [number, text, uses] = row as unknown as StoredLabel;
      return { number, text, uses };
    });
  }

  stats(sessionId: string | null): IndexStats {
    const head = this.head();
    const number = this.#number;
    const stats = this.#db.get<IndexStats>(
      STATS,
      number,
      sessionId,
      ...this.#keys(),
      head?.generation ?? 0,
    );
    return { ...(stats as IndexStats), passages: head?.passages ?? 0 };
  }

  spaces(): readonly VectorSpace[] {
    return this.#db.all<VectorSpace>(SPACE, this.#number);
  }

  vectorSlots(
    slots: readonly number[],
  ): readonly { readonly space: number; readonly slot: number }[] {
    return this.spaces().flatMap(({ number: space }) =>
      slots
        .filter((slot) => this.#db.get(HAS_VECTOR, space * KEYS + slot) !== undefined)
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
      .all<{ key: number; blank: number }>(VECTORS, first + after, first + KEYS - 1, limit)
      .map(({ key, blank }) => ({ slot: key - first, isBlank: blank === 1 }));
  }

  vectorRows(space: number, slots: readonly number[]): readonly VectorRow[] {
    if (slots.length === 0) return [];
    const first = space * KEYS;
    // One statement for all takes a third of the time of one for each.
    const keys = JSON.stringify(slots.map((slot) => first + slot));
    return this.#db.arrays(VECTOR_ROWS, keys).map((row) => ({
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
        ? which.blocks.flatMap((block) => this.#db.all<StoredCodes>(CODE_BLOCK, first + block))
        : this.#db.all<StoredCodes>(CODE_BLOCKS, first, first + KEYS - 1, which.changedAfter);
    return rows.map(({ key, ...row }) => ({ ...row, space, block: key - first }));
  }

  entriesLacking(
    space: number,
    { oldest, before, limit }: { oldest: number; before: number; limit: number },
  ): readonly LackingEntry[] {
    const first = space * KEYS;
    const rows = this.#db.iterate<Omit<LackingEntry, "have">>(
      LACKING,
      this.#key(oldest),
      this.#key(before) - 1,
      first,
      limit,
    );
    return [...rows].map((row) => ({
      ...row,
      key: row.key - this.#key(0),
      have: Array.from({ length: row.passages }, (_, index) => row.slot + index).filter(
        (slot) => this.#db.get(HAS_VECTOR, first + slot) !== undefined,
      ),
    }));
  }

  save(changes: Changes): void {
    if (this.#number < 0) {
      this.#known = this.#db.insert(NEW_NAMESPACE, this.#name, changes.head.version);
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

/** The columns of `HEAD`. */
type StoredHead = readonly [
  number: number,
  version: number,
  generation: number,
  changes: number,
  removedAt: number,
  columnsAt: number,
  stored: number,
  slots: number,
  passages: number,
  rebuilt: number | null,
  rebuiltVersion: number | null,
];

/** The columns of `SEGMENTS`. */
type StoredSegment = readonly [
  number: number,
  generation: number,
  state: Segment["state"],
  becomes: number | null,
  level: number,
  firstEntry: number,
  lastEntry: number,
  firstChange: number,
  lastChange: number,
  postings: number,
  bytes: number,
  grown: Segment["grown"],
];

/** The columns of `SESSION`. */
type StoredSession = readonly [
  number: number,
  id: string,
  entries: number,
  textBytes: number,
  runs: string,
];

function numbersOf(segments: readonly Segment[], isWanted: (level: number) => boolean): number[] {
  return segments.filter(({ level }) => isWanted(level)).map(({ number }) => number);
}

/** The columns of `LABEL`. */
type StoredLabel = readonly [number: number, text: string, uses: number];

function headOf(row: StoredHead): Head {
  const [, version, generation, changes, removedAt, columnsAt, stored, slots, passages] = row;
  const state = { version, generation, changes, removedAt, columnsAt, stored, slots, passages };
  return { ...state, rebuilt: row[9], rebuiltVersion: row[10] };
}

function segmentOf(row: StoredSegment): Segment {
  const [number, generation, state, becomes, level, firstEntry, lastEntry] = row;
  const [, , , , , , , firstChange, lastChange, postings, bytes, grown] = row;
  const extent = { firstEntry, lastEntry, firstChange, lastChange };
  return { number, generation, state, becomes, level, ...extent, postings, bytes, grown };
}

function sessionOf([number, id, entries, textBytes, runs]: StoredSession): SessionRow {
  const all = JSON.parse(runs) as [number, number, number][];
  const read = all.map(([first, size, used]): Run => ({ first, size, used }));
  return { number, id, entries, textBytes, runs: read };
}

/** The columns of `ENTRY`. */
type StoredEntry = readonly [
  key: number,
  session: number,
  sessionId: string,
  slot: number,
  passages: number,
  id: string,
  turn: number | null,
  kind: number,
  time: string | number | null,
  role: number | null,
  speaker: number | null,
  sourceFrom: number | null,
  sourceTo: number | null,
  content: string,
];

const HEAD = `SELECT number, version, generation, changes, removed_at AS removedAt, columns_at AS columnsAt,
    stored, slots, passages, rebuilt, rebuilt_version AS rebuiltVersion
  FROM memory_namespace WHERE name = ?`;
const NEW_NAMESPACE = `INSERT INTO memory_namespace
    (number, name, version, generation, changes, removed_at, columns_at, stored, slots, passages)
  SELECT coalesce(max(number) + 1, 0), ?, ?, 0, 0, 0, 0, 0, 0, 0 FROM memory_namespace`;

const SEGMENT = `SELECT key - ?1 AS number, generation, state, becomes, level, first_entry AS firstEntry,
    last_entry AS lastEntry, first_change AS firstChange, last_change AS lastChange, postings, bytes, grown
  FROM memory_segment WHERE key BETWEEN ?1 AND ?2`;
const SEGMENTS = `${SEGMENT} ORDER BY key`;
const BLOBS = "SELECT words, columns FROM memory_segment WHERE key = ?";

const BLOCK = "SELECT first, slot, data FROM memory_word_block WHERE segment = ?";
const ALL_BLOCKS = `${BLOCK} ORDER BY first, slot`;
/** The last block that begins with the word or with one before it. */
const LAST_BLOCK = `${BLOCK} AND first <= ? ORDER BY first DESC, slot DESC LIMIT 1`;
const PARTS = `${BLOCK} AND first = ? ORDER BY slot`;
const BLOCKS_BETWEEN = `${BLOCK} AND first > ? AND first <= ? ORDER BY first, slot`;
const BLOCKS_FROM = `${BLOCK} AND first >= ? ORDER BY first, slot LIMIT ?`;
const BLOCK_OF_SLOT = `${BLOCK} AND (first, slot) <= (?, ?) ORDER BY first DESC, slot DESC LIMIT 1`;

const COLUMN_BLOCK = "SELECT changed, data FROM memory_column_block WHERE key = ?";
const COLUMN_BLOCK_KEYS = "SELECT key FROM memory_column_block WHERE key BETWEEN ? AND ? LIMIT ?";
const COLUMN_BLOCKS = `SELECT key, changed, data FROM memory_column_block
  WHERE key BETWEEN ? AND ? AND changed > ?`;

const ENTRY = `SELECT key, entry.session, session.id, slot, passages, entry.id, turn, kind, time, role,
    speaker, source_from, source_to, content
  FROM memory_entry AS entry
  JOIN memory_session AS session
    ON session.namespace = entry.namespace AND session.number = entry.session
  WHERE`;
const ENTRIES_AT = `${ENTRY} entry.namespace = ? AND slot IN (SELECT value FROM json_each(?))`;
const ENTRY_OF_ID = `${ENTRY} entry.namespace = ? AND entry.id = ?`;
const ENTRIES_AFTER = `${ENTRY} key > ? AND key <= ? ORDER BY key LIMIT ?`;
const ENTRIES_BETWEEN = `${ENTRY} entry.namespace = ? AND slot BETWEEN ? AND ? AND key > ?
  ORDER BY slot LIMIT ?`;
const LABEL_TEXT = "SELECT text FROM memory_label WHERE namespace = ? AND number = ?";
const ENTRY_SLOTS = "SELECT slot, passages FROM memory_entry WHERE key = ?";
const HAS_ID = "SELECT 1 FROM memory_entry WHERE namespace = ? AND id = ?";

const SESSION = `SELECT number, id, entries, text_bytes AS textBytes, runs FROM memory_session
  WHERE namespace = ?`;
const SESSION_OF_ID = `${SESSION} AND id = ?`;
const SESSION_OF_NUMBER = `${SESSION} AND number = ?`;
const SESSION_NUMBER = "SELECT number FROM memory_session WHERE namespace = ? AND id = ?";
const SESSIONS_BEHIND = `SELECT count(*) AS count, coalesce(max(number), 0) AS last FROM memory_session
  WHERE namespace = ? AND number > ?`;
const LABEL = "SELECT number, text, uses FROM memory_label WHERE namespace = ?";
const LABEL_OF_TEXT = `${LABEL} AND text = ?`;
const LABELS_AFTER = `${LABEL} AND number > ?`;
const LAST_NUMBERS = `SELECT
    coalesce((SELECT max(number) FROM memory_session WHERE namespace = ?1), 0) AS session,
    coalesce((SELECT max(number) FROM memory_label WHERE namespace = ?1), 0) AS label,
    EXISTS (SELECT 1 FROM memory_free_run WHERE namespace = ?1) AS free`;
const FREE_RUNS = `SELECT size, first FROM memory_free_run
  WHERE namespace = ? AND size BETWEEN ? AND ? ORDER BY size, first LIMIT ?`;

const COUNT = `SELECT count(*) AS entries, coalesce(sum(passages), 0) AS passages
  FROM memory_entry WHERE namespace = ?`;
const WRONG_SESSIONS = `
  SELECT session.number, session.id, coalesce(counted.entries, 0) AS entries,
         coalesce(counted.text_bytes, 0) AS textBytes, runs
  FROM memory_session AS session
  LEFT JOIN (
    SELECT session, count(*) AS entries, sum(length(CAST(content AS BLOB))) AS text_bytes
    FROM memory_entry WHERE namespace = ?1 GROUP BY session
  ) AS counted ON counted.session = session.number
  WHERE session.namespace = ?1 AND (
    session.entries IS NOT counted.entries OR session.text_bytes IS NOT counted.text_bytes)`;
const WRONG_LABELS = `
  SELECT label.number, label.text, count(used.number) AS uses
  FROM memory_label AS label
  LEFT JOIN (
    SELECT role AS number FROM memory_entry WHERE namespace = ?1 AND role IS NOT NULL
    UNION ALL
    SELECT speaker FROM memory_entry WHERE namespace = ?1 AND speaker IS NOT NULL
  ) AS used ON used.number = label.number
  WHERE label.namespace = ?1 GROUP BY label.number HAVING count(used.number) <> label.uses`;
const STATS = `
  SELECT entries, sessions, textBytes, segments, postings, word_bytes + column_bytes AS bytes
  FROM (
    SELECT coalesce(sum(entries), 0) AS entries, count(*) AS sessions,
           coalesce(sum(text_bytes), 0) AS textBytes
    FROM memory_session WHERE namespace = ?1 AND (?2 IS NULL OR id = ?2)
  ), (
    SELECT count(*) AS segments, coalesce(sum(postings), 0) AS postings,
           coalesce(sum(bytes), 0) AS word_bytes
    FROM memory_segment WHERE key BETWEEN ?3 AND ?4 AND generation = ?5 AND state = 'whole'
  ), (
    SELECT coalesce(sum(length(data)), 0) AS column_bytes
    FROM memory_column_block WHERE key BETWEEN ?3 AND ?4
  )`;

const SPACE = `SELECT number, embedder, dimensions, changes, passages, unrelated, related
  FROM memory_vector_space WHERE namespace = ?`;
const HAS_VECTOR = "SELECT 1 FROM memory_vector WHERE key = ?";
const VECTORS = `SELECT key, row IS NULL AS blank FROM memory_vector
  WHERE key > ? AND key <= ? ORDER BY key LIMIT ?`;
const VECTOR_ROWS = `SELECT key, row FROM memory_vector
  WHERE key IN (SELECT value FROM json_each(?)) AND row IS NOT NULL`;
const CODE_BLOCK = "SELECT key, changed, codes FROM memory_code_block WHERE key = ?";
const CODE_BLOCKS = `SELECT key, changed, codes FROM memory_code_block
  WHERE key BETWEEN ? AND ? AND changed > ?`;
/** The passages of an entry are embedded in their order: an entry that has the vector of the last has all. */
const LACKING = `SELECT key, slot, passages, content FROM memory_entry AS entry
  WHERE key BETWEEN ?1 AND ?2 AND NOT EXISTS (
    SELECT 1 FROM memory_vector WHERE key = ?3 + entry.slot + entry.passages - 1)
  ORDER BY key DESC LIMIT ?4`;
