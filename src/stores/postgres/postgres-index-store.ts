import type { MemoryEntry } from "../../core/memory-store.ts";
import type { AsyncIndexStore, TransactionMode } from "../../indexing/port/asking.ts";
import type {
  Changes,
  Counts,
  EntryRow,
  FreeRun,
  Head,
  IndexStats,
  Known,
  WantedBlocks,
  WantedEntries,
} from "../../indexing/port/index-store.ts";
import { askCatchUp } from "./catch-up.ts";
import { findWordBlocks } from "./find-word-blocks.ts";
import * as questions from "./index-questions.ts";
import { NAMESPACE } from "./index-questions.ts";
import { MemoryPartition } from "./partitions.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { type AnswerRow, type QuestionBatch, QuestionsTogether } from "./question-batch.ts";
import { SaveStatement } from "./save-index-changes.ts";
import type { Statements } from "./statements.ts";
import type { LackingPage, WantedCodes } from "./vector-questions.ts";
import * as vectors from "./vector-questions.ts";
import {
  dropWaiting,
  ENTRIES_WAIT,
  MANY_WAIT,
  readWaiting,
  type WaitingEntries,
} from "./waiting-entries.ts";

/** The number of attempts before work gets a real transaction. A read may be long. */
const TRIES = { read: 1, search: 3, write: 3, "write unsynced": 3 } as const;

const LOCK = "select 1 from rkat.memory_namespace where name = $1 for update";

/**
 * The index of a namespace in PostgreSQL. Questions that are asked together are one statement, and so is a save.
 *
 * A transaction needs no `begin` and no `commit`, which would be two more round trips: every answer says how
 * often the namespace was saved, and work whose answers are not of one state begins again. After some
 * attempts it gets a real transaction, so that it ends however many others write.
 */
export class PostgresIndexStore implements AsyncIndexStore {
  readonly #db: PostgresDatabase;
  readonly #namespace: string;
  readonly #within: Within | undefined;
  readonly #partition: MemoryPartition;
  readonly #questions: QuestionsTogether<Head | undefined>;
  readonly #writes: Writes;
  /** Whether entries that wait matter: then each answer is refused while there are some. */
  readonly #looksForWaiting: boolean;
  /** The entries that the next save folds. */
  readonly #folds: WaitingEntries | undefined;

  constructor(
    db: PostgresDatabase,
    namespace: string,
    {
      partition = new MemoryPartition(db, namespace),
      within,
      writes = { last: Promise.resolve() },
      looksForWaiting = false,
      folds,
    }: StoreParts = {},
  ) {
    this.#db = db;
    this.#namespace = namespace;
    this.#partition = partition;
    this.#within = within;
    this.#writes = writes;
    this.#looksForWaiting = looksForWaiting;
    this.#folds = folds;
    this.#questions = new QuestionsTogether(namespace, (batch) => this.#begin(batch));
  }

  /** The same index, whose every answer is an `EntriesWait` while entries wait. */
  lookingForWaiting(): PostgresIndexStore {
    return this.#with({ looksForWaiting: true });
  }

  #with(parts: StoreParts): PostgresIndexStore {
    return new PostgresIndexStore(this.#db, this.#namespace, {
      partition: this.#partition,
      writes: this.#writes,
      looksForWaiting: this.#looksForWaiting,
      ...parts,
    });
  }

  /** Puts entries that wait into the index with `add`, which saves once. Returns whether there may be more. */
  fold(add: (entries: readonly MemoryEntry[], within: AsyncIndexStore) => Promise<unknown>) {
    return this.#inTurn(() => this.#repeat("write", (within) => within.#foldSome(add)));
  }

  /** Whether more entries wait than one fold takes. */
  async manyWait(): Promise<boolean> {
    return (await this.#db.row(MANY_WAIT, this.#namespace)) !== undefined;
  }

  async #foldSome(
    add: (entries: readonly MemoryEntry[], within: AsyncIndexStore) => Promise<unknown>,
  ): Promise<boolean> {
    const { statements } = this.#within ?? { statements: this.#db };
    const folds = await readWaiting(statements, this.#namespace);
    if (folds.entries.length === 0) return false;
    await add(folds.entries, this.#with({ within: this.#within, folds }));
    if (!this.#within?.hasSaved) await dropWaiting(statements, this.#namespace, folds);
    return folds.more;
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#writes.last.then(work, work);
    this.#writes.last = result.catch(() => {});
    return result;
  }

  async transact<Result>(
    mode: TransactionMode,
    work: (within: AsyncIndexStore) => Promise<Result>,
  ): Promise<Result> {
    if (this.#within) return work(this);
    const run = () => this.#repeat(mode, work);
    return mode === "read" || mode === "search" ? run() : this.#inTurn(run);
  }

  async #repeat<Result>(
    mode: TransactionMode,
    work: (within: PostgresIndexStore) => Promise<Result>,
  ): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#try(mode, work, tries > TRIES[mode]);
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
      }
    }
  }

  async #try<Result>(
    mode: TransactionMode,
    work: (within: PostgresIndexStore) => Promise<Result>,
    isReal: boolean,
  ): Promise<Result> {
    await this.#partition.find();
    const run = (statements: Statements) =>
      work(this.#with({ within: new Within(mode, statements) }));
    if (!isReal) return run(this.#db);
    if (mode === "read" || mode === "search") return this.#db.read(run);
    return this.#db.write(async (statements) => {
      await statements.row(LOCK, this.#namespace);
      return run(statements);
    });
  }

  #ask<Answer>(ask: (batch: QuestionBatch) => (head: Head | undefined) => Answer): Promise<Answer> {
    return this.#questions.ask(ask);
  }

  /** A question with one kind of rows. */
  #rows<Row>(ask: (batch: QuestionBatch) => readonly Row[]): Promise<readonly Row[]> {
    return this.#questions.ask((batch) => {
      const rows = ask(batch);
      return () => rows;
    });
  }

  /** Puts the head first into a batch. The result sends the batch. */
  #begin(batch: QuestionBatch): () => Promise<Head | undefined> {
    const heads = batch.rows(questions.HEAD, questions.headOf);
    const waiting = this.#looksForWaiting
      ? batch.rows({ fields: "1", from: ENTRIES_WAIT }, questions.firstNumber)
      : [];
    return async () => {
      batch.take(await this.#send(batch.statement));
      if (waiting.length > 0) throw new EntriesWait();
      this.#within?.check(heads[0]);
      return heads[0] && questions.portHead(heads[0]);
    };
  }

  async #send(batch: QuestionBatch["statement"]): Promise<readonly AnswerRow[]> {
    const { mode, statements } = this.#within ?? { mode: undefined, statements: this.#db };
    if (!this.#within) await this.#partition.find();
    const sql = this.#partition.of(batch.sql);
    // While many entries are added, a plan that was made when there were few is a bad one.
    if (mode !== "search") return statements.rows(sql, ...batch.values);
    return statements.prepared(sql, ...batch.values);
  }

  head() {
    return this.#ask(() => (head) => head);
  }

  catchUp(known: Known) {
    return this.#ask((batch) => {
      const news = askCatchUp(batch, known);
      return (head) => head && news(head);
    });
  }

  segments() {
    return this.#rows((batch) =>
      batch.rows(
        questions.segments(
          `from rkat.memory_segment s where s.namespace = ${NAMESPACE} order by s.number`,
        ),
        questions.segmentOf,
      ),
    );
  }

  async smallSegments(numbers: readonly number[]) {
    if (numbers.length === 0) return [];
    return this.#rows((batch) =>
      batch.rows(
        questions.smallSegments(
          `from rkat.memory_segment s where s.namespace = ${NAMESPACE}
             and s.number = any (${batch.bind(numbers, "bigint[]")}) order by s.number`,
        ),
        questions.smallSegmentOf,
      ),
    );
  }

  async wordBlocks(wanted: readonly WantedBlocks[]) {
    if (wanted.length === 0) return [];
    return this.#ask((batch) => findWordBlocks(batch, wanted));
  }

  async columnBlocks(generation: number, blocks: readonly number[]) {
    if (blocks.length === 0) return [];
    return this.#rows((batch) =>
      batch.rows(
        questions.columnBlocks(
          `from rkat.memory_column_block c where c.namespace = ${NAMESPACE}
             and c.is_odd = ${generation % 2 === 1} and c.block = any (${batch.bind(blocks, "integer[]")})`,
        ),
        questions.columnBlockOf(generation),
      ),
    );
  }

  columnBlockPage(generation: number, limit: number) {
    return this.#rows((batch) =>
      batch.rows(
        {
          fields: "c.block",
          from: `from rkat.memory_column_block c where c.namespace = ${NAMESPACE}
            and c.is_odd = ${generation % 2 === 1} limit ${batch.bind(limit, "bigint")}`,
        },
        questions.firstNumber,
      ),
    );
  }

  async entries(which: WantedEntries): Promise<readonly EntryRow[]> {
    if ("slots" in which) {
      if (which.slots.length === 0) return [];
      return this.#entries((batch) => `e.slot = any (${batch.bind(which.slots, "bigint[]")})`);
    }
    if ("ids" in which) {
      if (which.ids.length === 0) return [];
      const ids = which.ids;
      const rows = await this.#entries((batch) => `e.id = any (${batch.bind(ids, "text[]")})`);
      const byId = new Map(rows.map((row) => [row.id, row]));
      return which.ids.flatMap((id) => byId.get(id.toWellFormed()) ?? []);
    }
    return this.#entries((batch) => {
      const after = `e.key > ${batch.bind(which.after, "bigint")}`;
      const limit = `limit ${batch.bind(which.limit, "bigint")}`;
      const marked = "marked" in which ? "e.marks is not null and " : "";
      if (!("first" in which)) return `${marked}${after} order by e.key ${limit}`;
      const slots = `e.slot between ${batch.bind(which.first, "bigint")} and ${batch.bind(which.last, "bigint")}`;
      return `${slots} and ${after} order by e.slot ${limit}`;
    });
  }

  #entries(condition: (batch: QuestionBatch) => string): Promise<readonly EntryRow[]> {
    return this.#rows((batch) =>
      batch.rows(questions.entries(condition(batch)), questions.entryOf),
    );
  }

  async entrySlots(keys: readonly number[]) {
    if (keys.length === 0) return [];
    return this.#rows((batch) =>
      batch.rows(
        {
          fields: "e.key, e.slot, e.passages",
          from: `from rkat.memory_entry e where e.namespace = ${NAMESPACE}
            and e.key = any (${batch.bind(keys, "bigint[]")})`,
        },
        ([key = 0, slot = 0, passages = 0]) => ({ key, slot, passages }),
      ),
    );
  }

  async storedIds(ids: readonly string[]) {
    if (ids.length === 0) return [];
    const found = await this.#rows((batch) =>
      batch.rows(
        {
          fields: "e.id",
          // With `any`, PostgreSQL would rather read all entries of a namespace than look up a hundred.
          from: `from unnest(${batch.bind(ids, "text[]")}) as w (id) cross join lateral (
              select e.id from rkat.memory_entry e
              where e.namespace = ${NAMESPACE} and e.id = w.id offset 0
            ) as e`,
        },
        questions.firstText,
      ),
    );
    const stored = new Set(found);
    return ids.filter((id) => stored.has(id.toWellFormed()));
  }

  async sessions(
    which: { readonly ids: readonly string[] } | { readonly numbers: readonly number[] } | "all",
  ) {
    if (which === "all") return this.#sessions(() => "true");
    if ("ids" in which) {
      const ids = which.ids;
      if (ids.length === 0) return [];
      return this.#sessions((batch) => `s.id = any (${batch.bind(ids, "text[]")})`);
    }
    const { numbers } = which;
    if (numbers.length === 0) return [];
    return this.#sessions((batch) => `s.number = any (${batch.bind(numbers, "integer[]")})`);
  }

  #sessions(condition: (batch: QuestionBatch) => string) {
    return this.#rows((batch) =>
      batch.rows(questions.sessions(condition(batch)), questions.sessionOf),
    );
  }

  async labels(texts: readonly string[]) {
    if (texts.length === 0) return [];
    return this.#rows((batch) => {
      const all = batch.bind(texts, "text[]");
      return batch.rows(questions.labels(`l.text = any (${all})`), questions.labelOf);
    });
  }

  async lastNumbers() {
    const rows = await this.#rows((batch) =>
      batch.rows(questions.LAST_NUMBERS, questions.lastNumbersOf),
    );
    return rows[0] ?? { session: 0, label: 0, hasFreeRuns: false };
  }

  async freeRuns(sizes: readonly number[], limit: number): Promise<readonly FreeRun[]> {
    const found = await this.#rows((batch) =>
      batch.rows(
        {
          fields: "r.size, r.first",
          from: `from unnest(${batch.bind(sizes, "bigint[]")}) as w (size) cross join lateral (
              select r.size, r.first from rkat.memory_free_run r where r.namespace = ${NAMESPACE}
                and r.size between w.size and 2 * w.size
              order by r.size, r.first limit ${batch.bind(limit, "bigint")}
            ) as r`,
        },
        ([size = 0, first = 0]) => ({ size, first }),
      ),
    );
    return [...new Map(found.map((run) => [`${run.size} ${run.first}`, run])).values()];
  }

  recount(): Promise<Counts> {
    return this.#ask((batch) => {
      const counts = batch.rows(questions.COUNTS, ([entries = 0, passages = 0]) => ({
        entries,
        passages,
      }));
      const sessions = batch.rows(questions.WRONG_SESSIONS, questions.sessionOf);
      const labels = batch.rows(questions.WRONG_LABELS, questions.labelOf);
      return () => ({ entries: 0, passages: 0, ...counts[0], sessions, labels });
    });
  }

  stats(sessionId: string | null): Promise<IndexStats> {
    return this.#ask((batch) => {
      const id = batch.bind(sessionId === null ? null : sessionId, "text");
      const rows = batch.rows(
        questions.stats(id),
        ([entries = 0, sessions = 0, textBytes = 0, segments = 0, postings = 0, bytes = 0]) => ({
          ...{ entries, sessions, textBytes, segments, postings, bytes },
        }),
      );
      return (head) => ({ ...NOTHING_STORED, ...rows[0], passages: head?.passages ?? 0 });
    });
  }

  spaces() {
    return this.#rows((batch) => vectors.spaces(batch));
  }

  async vectorSlots(slots: readonly number[]) {
    return slots.length === 0 ? [] : this.#rows((batch) => vectors.vectorSlots(batch, slots));
  }

  vectorPage(space: number, after: number, limit: number) {
    return this.#rows((batch) => vectors.vectorPage(batch, space, after, limit));
  }

  async vectorRows(space: number, slots: readonly number[]) {
    return slots.length === 0 ? [] : this.#rows((batch) => vectors.vectorRows(batch, space, slots));
  }

  codeBlocks(space: number, which: WantedCodes) {
    return this.#rows((batch) => vectors.codeBlocks(batch, space, which));
  }

  entriesLacking(space: number, page: LackingPage) {
    return this.#rows((batch) => vectors.entriesLacking(batch, space, page));
  }

  async save(changes: Changes): Promise<void> {
    const within = this.#within;
    if (!within) return this.transact("write", (inside) => inside.save(changes));
    if (within.seen === undefined) await this.head();
    const { sql, values, removes } = new SaveStatement(this.#namespace, {
      saves: within.seen?.saves,
      isSynced: within.mode !== "write unsynced",
      folds: this.#folds,
      changes,
    });
    const named = this.#partition.of(sql);
    // A statement that only puts rows has the same plan for any number of them.
    const saved = removes
      ? await within.statements.rows(named, ...values)
      : await within.statements.prepared(named, ...values);
    if (saved.length === 0) throw new Conflict();
    within.hasSaved = true;
  }
}

interface StoreParts {
  readonly partition?: MemoryPartition;
  readonly within?: Within | undefined;
  readonly writes?: Writes;
  readonly looksForWaiting?: boolean;
  readonly folds?: WaitingEntries;
}

/** The last write. The next one waits for it: one of two that run at once would have to begin again. */
interface Writes {
  last: Promise<unknown>;
}

/** A transaction: where its statements run, and the state that it has seen. */
class Within {
  readonly mode: TransactionMode;
  readonly statements: Statements;
  /** `null` when the namespace was not there yet. */
  seen: questions.StoredHead | null | undefined;
  hasSaved = false;

  constructor(mode: TransactionMode, statements: Statements) {
    this.mode = mode;
    this.statements = statements;
  }

  /** @throws Conflict when an answer is not of the state that the first one was of */
  check(head: questions.StoredHead | undefined): void {
    const seen = this.seen;
    if (seen === undefined) this.seen = head ?? null;
    else if (!this.hasSaved && stateOf(this.mode, seen) !== stateOf(this.mode, head ?? null)) {
      throw new Conflict();
    }
  }
}

function stateOf(mode: TransactionMode, head: questions.StoredHead | null): number {
  return (mode === "search" ? head?.removals : head?.saves) ?? -1;
}

/** Entries wait that have to be folded first. */
export class EntriesWait extends Error {}

/** Another process saved in between. */
class Conflict extends Error {}

const NOTHING_STORED = {
  entries: 0,
  sessions: 0,
  textBytes: 0,
  segments: 0,
  postings: 0,
  bytes: 0,
};
