import {
  type AsyncIndexStore,
  stillKnown,
  type TransactionMode,
} from "../../src/indexing/port/asking.ts";
import {
  type Changes,
  type Counts,
  type EntryRow,
  type FreeRun,
  type Head,
  type IndexStats,
  KEYS,
  type Known,
  type NewEntry,
  type News,
  type TableName,
  type Tables,
  type WantedBlocks,
  type WantedEntries,
  type WordBlockRow,
} from "../../src/indexing/port/index-store.ts";

type AllTables = { readonly [Name in TableName]: ReadonlyMap<string, Tables[Name]> };

/** All rows at one time. A save makes another state and leaves this one as it is. */
interface State {
  readonly head: Head | undefined;
  readonly tables: AllTables;
  readonly lastSpace: number;
}

/** Another writer has saved since the transaction began. */
const CONFLICT = Symbol("conflict");

/**
 * The index of one namespace, in this process only: its tables are maps, and every answer is a promise.
 * The first implementation to read.
 *
 * It is optimistic, as a database over a network may be: a transaction sees the state at its beginning, and
 * runs again when another writer has saved before it.
 */
export class EphemeralIndexStore implements AsyncIndexStore {
  readonly #shared: { state: State };
  /** The state that a transaction sees; `undefined` outside of one. */
  #seen: State | undefined;

  constructor(shared: { state: State } = { state: EMPTY }, seen?: State) {
    this.#shared = shared;
    this.#seen = seen;
  }

  async transact<Result>(
    _: TransactionMode,
    work: (within: AsyncIndexStore) => Promise<Result>,
  ): Promise<Result> {
    for (;;) {
      try {
        return await work(new EphemeralIndexStore(this.#shared, this.#shared.state));
      } catch (error) {
        if (error !== CONFLICT) throw error;
      }
    }
  }

  get #state(): State {
    return this.#seen ?? this.#shared.state;
  }

  #rows<Name extends TableName>(table: Name): readonly Tables[Name][] {
    return [...this.#state.tables[table].values()];
  }

  /** The rows with these keys that there are, in the order of the keys. */
  #at<Name extends TableName>(table: Name, keys: readonly (number | string)[]): Tables[Name][] {
    return keys.flatMap((key) => this.#state.tables[table].get(`${key}`) ?? []);
  }

  async head() {
    return this.#state.head;
  }

  async catchUp(known: Known): Promise<News | undefined> {
    const { head } = this.#state;
    if (!head) return undefined;
    const still = stillKnown(known, head);
    const isNew = known.changes !== head.changes;
    const all = await this.segments();
    const segments = all.filter(
      ({ generation, state }) => generation === head.generation && state === "whole",
    );
    const loaded = new Set(still.words < 0 ? [] : known.loaded);
    const lacking = segments.filter(
      ({ number, level }) => isNew && level <= known.loadedLevel && !loaded.has(number),
    );
    const large = segments.filter(({ level }) => level > known.loadedLevel);
    const lastSession = still.words < 0 ? 0 : known.lastSession;
    const lastLabel = still.words < 0 ? 0 : known.lastLabel;
    const sessions = this.#rows("sessions").filter(({ number }) => number > lastSession);
    const { vectors } = known;
    const space = this.#rows("spaces").find(({ embedder }) => embedder === vectors?.embedder);
    const changedAfter = space && space.number === vectors?.space ? vectors.changes : -1;
    return {
      head,
      segments: isNew ? segments : undefined,
      small: await this.smallSegments(
        lacking.filter(({ level }) => level === 0).map(({ number }) => number),
      ),
      blocks: lacking.flatMap(({ number, level }) => (level > 0 ? this.#blocksOf(number) : [])),
      columns: this.#rows("columnBlocks").filter(
        ({ generation, changed }) => generation === head.generation % 2 && changed > still.columns,
      ),
      sessions: {
        count: sessions.length,
        last: Math.max(0, ...sessions.map(({ number }) => number)),
      },
      labels: this.#rows("labels").filter(({ number }) => number > lastLabel),
      words: known.words.map(({ from, to, after }) =>
        large
          .filter(({ lastChange }) => lastChange > (still.words < 0 ? -1 : after))
          .flatMap(({ number }) => blocksBetween(this.#blocksOf(number), from, to)),
      ),
      session: this.#rows("sessions").find(({ id }) => id === known.sessionId)?.number,
      space,
      codes: space ? await this.codeBlocks(space.number, { changedAfter }) : [],
    };
  }

  async segments() {
    return this.#rows("segments").toSorted((one, other) => one.number - other.number);
  }

  async smallSegments(numbers: readonly number[]) {
    return this.#at("segments", numbers).map(({ number, words = null, columns = null }) => ({
      number,
      words,
      columns,
    }));
  }

  async wordBlocks(wanted: readonly WantedBlocks[]) {
    return wanted.map((one) => {
      const blocks = this.#blocksOf(one.segment);
      if ("from" in one) return blocksBetween(blocks, one.from, one.to);
      if ("slots" in one) {
        const parts = blocksBetween(blocks, one.word, one.word);
        return parts.filter(({ slot }, at) => {
          const end = parts[at + 1]?.slot ?? Number.POSITIVE_INFINITY;
          return one.slots.some((wanted) => (slot === 0 || slot <= wanted) && wanted < end);
        });
      }
      const start = blocks.findLast(({ first }) => Buffer.compare(first, one.start) <= 0)?.first;
      const from = start ? blocks.findIndex(({ first }) => isSame(first, start)) : 0;
      return blocks.slice(from, from + one.limit);
    });
  }

  /** The blocks of a segment in their order. */
  #blocksOf(segment: number): readonly WordBlockRow[] {
    const { wordBlocks } = this.#state.tables;
    const known = SORTED.get(wordBlocks) ?? sortedBlocks(wordBlocks.values());
    SORTED.set(wordBlocks, known);
    return known.get(segment) ?? [];
  }

  async columnBlocks(generation: number, blocks: readonly number[]) {
    return this.#at(
      "columnBlocks",
      blocks.map((block) => `${generation % 2} ${block}`),
    );
  }

  async columnBlockPage(generation: number, limit: number) {
    const rows = this.#rows("columnBlocks").filter((row) => row.generation === generation % 2);
    return rows.slice(0, limit).map(({ block }) => block);
  }

  async entries(which: WantedEntries): Promise<readonly EntryRow[]> {
    const all = this.#rows("entries");
    if ("slots" in which) {
      const slots = new Set(which.slots);
      return all.filter(({ slot }) => slots.has(slot)).map((row) => this.#told(row));
    }
    if ("ids" in which) {
      const byId = new Map(all.map((row) => [row.id, row]));
      return which.ids.flatMap((id) => byId.get(id) ?? []).map((row) => this.#told(row));
    }
    const later = all.filter(({ key }) => key > which.after);
    const wanted =
      "first" in which
        ? later
            .filter(({ slot }) => which.first <= slot && slot <= which.last)
            .sort((one, other) => one.slot - other.slot)
        : later.sort((one, other) => one.key - other.key);
    return wanted.slice(0, which.limit).map((row) => this.#told(row));
  }

  /** The row with the texts of its numbers. */
  #told(row: NewEntry): EntryRow {
    const { sessions, labels } = this.#state.tables;
    return {
      ...row,
      sessionId: sessions.get(`${row.session}`)?.id ?? "",
      roleText: labels.get(`${row.role}`)?.text ?? null,
      speakerText: labels.get(`${row.speaker}`)?.text ?? null,
    };
  }

  async entrySlots(keys: readonly number[]) {
    return this.#at("entries", keys);
  }

  async storedIds(ids: readonly string[]) {
    const stored = new Set(this.#rows("entries").map(({ id }) => id));
    return ids.filter((id) => stored.has(id));
  }

  async sessions(
    which: { readonly ids: readonly string[] } | { readonly numbers: readonly number[] } | "all",
  ) {
    if (which === "all") return this.#rows("sessions");
    if ("numbers" in which) return this.#at("sessions", which.numbers);
    return this.#rows("sessions").filter(({ id }) => which.ids.includes(id));
  }

  async labels(texts: readonly string[]) {
    return this.#rows("labels").filter(({ text }) => texts.includes(text));
  }

  async lastNumbers() {
    const { sessions, labels, freeRuns } = this.#state.tables;
    return {
      hasFreeRuns: freeRuns.size > 0,
      session: Math.max(0, ...[...sessions.values()].map(({ number }) => number)),
      label: Math.max(0, ...[...labels.values()].map(({ number }) => number)),
    };
  }

  async freeRuns(sizes: readonly number[], limit: number): Promise<readonly FreeRun[]> {
    const all = this.#rows("freeRuns").toSorted(
      (one, other) => one.size - other.size || one.first - other.first,
    );
    const wanted = sizes.flatMap((size) =>
      all.filter((run) => size <= run.size && run.size <= 2 * size).slice(0, limit),
    );
    return [...new Set(wanted)];
  }

  async recount(): Promise<Counts> {
    const entries = this.#rows("entries");
    const sessions = this.#rows("sessions").flatMap((session) => {
      const own = entries.filter((row) => row.session === session.number);
      const textBytes = own.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
      const isRight = session.entries === own.length && session.textBytes === textBytes;
      return isRight ? [] : [{ ...session, entries: own.length, textBytes }];
    });
    const labels = this.#rows("labels").flatMap((label) => {
      const used = entries.flatMap(({ role, speaker }) => [role, speaker]);
      const uses = used.filter((number) => number === label.number).length;
      return uses === label.uses ? [] : [{ ...label, uses }];
    });
    const passages = entries.reduce((sum, row) => sum + row.passages, 0);
    return { entries: entries.length, passages, sessions, labels };
  }

  async stats(sessionId: string | null): Promise<IndexStats> {
    const { head } = this.#state;
    const sessions = this.#rows("sessions").filter(
      ({ id }) => sessionId === null || id === sessionId,
    );
    const segments = this.#rows("segments").filter(
      ({ generation, state }) => generation === head?.generation && state === "whole",
    );
    const sum = (numbers: readonly number[]) => numbers.reduce((all, number) => all + number, 0);
    return {
      entries: sum(sessions.map(({ entries }) => entries)),
      sessions: sessions.length,
      textBytes: sum(sessions.map(({ textBytes }) => textBytes)),
      segments: segments.length,
      postings: sum(segments.map(({ postings }) => postings)),
      bytes:
        sum(segments.map(({ bytes }) => bytes)) +
        sum(this.#rows("columnBlocks").map(({ data }) => data.length)),
      passages: head?.passages ?? 0,
    };
  }

  async spaces() {
    return this.#rows("spaces");
  }

  async vectorSlots(slots: readonly number[]) {
    return this.#rows("vectors").filter(({ slot }) => slots.includes(slot));
  }

  async vectorPage(space: number, after: number, limit: number) {
    return this.#rows("vectors")
      .filter((row) => row.space === space && row.slot > after)
      .sort((one, other) => one.slot - other.slot)
      .slice(0, limit)
      .map(({ slot, row }) => ({ slot, isBlank: row === null }));
  }

  async vectorRows(space: number, slots: readonly number[]) {
    return this.#at(
      "vectors",
      slots.map((slot) => `${space} ${slot}`),
    ).filter(({ row }) => row !== null);
  }

  async codeBlocks(
    space: number,
    which: { readonly blocks: readonly number[] } | { readonly changedAfter: number },
  ) {
    const own = this.#rows("codeBlocks").filter((row) => row.space === space);
    return "blocks" in which
      ? own.filter(({ block }) => which.blocks.includes(block))
      : own.filter(({ changed }) => changed > which.changedAfter);
  }

  async entriesLacking(
    space: number,
    { oldest, before, limit }: { oldest: number; before: number; limit: number },
  ) {
    const { vectors } = this.#state.tables;
    const has = (slot: number) => vectors.has(`${space} ${slot}`);
    return this.#rows("entries")
      .filter(({ key }) => oldest <= key && key < before)
      .map((row) => ({
        ...row,
        have: Array.from({ length: row.passages }, (_, at) => row.slot + at).filter(has),
      }))
      .filter(({ have, passages }) => have.length < passages)
      .sort((one, other) => other.key - one.key)
      .slice(0, limit);
  }

  async save(changes: Changes): Promise<void> {
    if (this.#seen && this.#seen !== this.#shared.state) throw CONFLICT;
    const state = changed(this.#state, changes);
    this.#shared.state = state;
    if (this.#seen) this.#seen = state;
  }
}

const EMPTY: State = {
  head: undefined,
  tables: Object.fromEntries(
    Object.keys(KEYS).map((name) => [name, new Map()]),
  ) as unknown as AllTables,
  lastSpace: 0,
};

function changed({ tables, lastSpace }: State, { head, remove, put }: Changes): State {
  const next = { ...tables } as { [name: string]: ReadonlyMap<string, object> };
  let last = lastSpace;
  for (const name of Object.keys(KEYS) as TableName[]) {
    if (!remove[name] && !put[name]) continue;
    const rows = new Map<string, object>(tables[name]);
    for (const row of remove[name] ?? []) rows.delete(keyOf(name, row));
    for (const row of put[name] ?? []) {
      const isNewSpace = name === "spaces" && (row as { number: number }).number === 0;
      if (isNewSpace) last += 1;
      const known = isNewSpace ? { ...row, number: last } : row;
      const key = keyOf(name, known);
      rows.set(key, name === "segments" ? { ...rows.get(key), ...known } : evenOrOdd(name, known));
    }
    next[name] = rows;
  }
  return { head, tables: next as unknown as AllTables, lastSpace: last };
}

/** Generations of column blocks are told apart by whether they are odd. */
function evenOrOdd(name: TableName, row: object): object {
  if (name !== "columnBlocks") return row;
  return { ...row, generation: (row as { generation: number }).generation % 2 };
}

function keyOf(name: TableName, row: object): string {
  const values = evenOrOdd(name, row) as Record<string, number | Uint8Array>;
  return KEYS[name]
    .map((key) => values[key])
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : `${value}`))
    .join(" ");
}

/** By segment. */
type SortedBlocks = ReadonlyMap<number, readonly WordBlockRow[]>;
const SORTED = new WeakMap<ReadonlyMap<string, WordBlockRow>, SortedBlocks>();

function sortedBlocks(rows: Iterable<WordBlockRow>): SortedBlocks {
  const sorted = [...rows].sort(
    (one, other) => Buffer.compare(one.first, other.first) || one.slot - other.slot,
  );
  return Map.groupBy(sorted, ({ segment }) => segment);
}

/** The blocks that begin with `from`, or else the last one before it, and those that begin up to `to`. */
function blocksBetween(
  blocks: readonly WordBlockRow[],
  from: Uint8Array,
  to: Uint8Array,
): readonly WordBlockRow[] {
  const begins = blocks.filter(
    ({ first }) => Buffer.compare(first, from) >= 0 && Buffer.compare(first, to) <= 0,
  );
  if (begins[0] && isSame(begins[0].first, from)) return begins;
  const before = blocks.findLast(({ first }) => Buffer.compare(first, from) < 0);
  return before ? [before, ...begins] : begins;
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
