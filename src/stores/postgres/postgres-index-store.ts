import type { MemoryEntry } from "../../core/memory-store.ts";
import type { AsyncIndexStore, TransactionMode } from "../../indexing/port/asking.ts";
import type { Changes, Head } from "../../indexing/port/index-store.ts";
import { IndexAnswers } from "./index-answers.ts";
import * as questions from "./index-questions.ts";
import { MemoryPartition } from "./partitions.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import type { AnswerRow, QuestionBatch } from "./question-batch.ts";
import { SaveStatement } from "./save-index-changes.ts";
import type { Statements } from "./statements.ts";
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
export class PostgresIndexStore extends IndexAnswers implements AsyncIndexStore {
  readonly #db: PostgresDatabase;
  readonly #namespace: string;
  readonly #within: Within | undefined;
  readonly #partition: MemoryPartition;
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
    super(namespace);
    this.#db = db;
    this.#namespace = namespace;
    this.#partition = partition;
    this.#within = within;
    this.#writes = writes;
    this.#looksForWaiting = looksForWaiting;
    this.#folds = folds;
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

  protected begin(batch: QuestionBatch): () => Promise<Head | undefined> {
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

  async save(changes: Changes): Promise<void> {
    const within = this.#within;
    if (!within) return this.transact("write", (inside) => inside.save(changes));
    if (within.seen === undefined) await this.head();
    const { sql, values, removes } = new SaveStatement(this.#namespace, {
      saves: within.seen?.saves,
      stored: within.seen?.stored ?? 0,
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
