import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { newId } from "../../core/ids.ts";
import type {
  MemoryCheck,
  MemoryEntry,
  MemoryHit,
  MemoryQuery,
  Watch,
} from "../../core/memory-store.ts";
import { type Added, addEntries } from "../../indexing/add.ts";
import { OpenIndex, OpenIndexes } from "../../indexing/open-index.ts";
import {
  type Asking,
  type AsyncIndexStore,
  type Progress,
  runAsync,
} from "../../indexing/port/asking.ts";
import { searchEntries } from "../../indexing/search.ts";
import { keepUp } from "../../indexing/upkeep/reindex.ts";
import { verifyIndex } from "../../indexing/upkeep/verify.ts";
import type { EmbeddedSearch } from "../../indexing/vectors/search-vectors.ts";
import {
  askTask,
  type IndexedMemoryOptions,
  IndexedMemoryStore,
  type MemoryDatabase,
  type RunTask,
} from "../indexed-memory.ts";
import { MemoryPartition } from "./partitions.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { EntriesWait, PostgresIndexStore } from "./postgres-index-store.ts";
import type { Statements } from "./statements.ts";
import { GroupedAdds, mayWait } from "./waiting-entries.ts";

const DELETED_FROM = [
  "rkat.memory_waiting",
  "rkat.memory_entry",
  "rkat.memory_segment",
  "rkat.memory_word_block",
  "rkat.memory_column_block",
  "rkat.memory_session",
  "rkat.memory_label",
  "rkat.memory_vector",
  "rkat.memory_code_block",
];

/** A memory in PostgreSQL, which any number of processes use at once. */
export class PostgresMemoryStore extends IndexedMemoryStore {
  /** Closing the store closes the database. */
  constructor(
    db: PostgresDatabase,
    { namespace, embedder, cacheBytes }: IndexedMemoryOptions = {},
  ) {
    super(new PostgresMemory(db, namespace, cacheBytes), embedder);
  }
}

/** The state that the memories of all namespaces of a process share. */
interface Shared {
  readonly merger: BackgroundMerger;
  readonly indexes: OpenIndexes;
  readonly adds: GroupedAdds;
}

/** Entries that a process adds before it folds them by itself. A question folds them sooner. */
const FOLDED_AFTER = 128;
/** So many may wait of a process that adds faster than it folds: who asks next, folds them first. */
const WAITING_MAX = 512;
/** After a kill, another process folds when this is over. */
const FOLD_MS = 5_000;
const FOLD_WAIT_MS = 50;

/** The memory of a namespace in PostgreSQL. */
class PostgresMemory implements MemoryDatabase {
  readonly #db: PostgresDatabase;
  readonly #namespace: string;
  readonly #cacheBytes: number | undefined;
  readonly #partition: MemoryPartition;
  readonly #store: PostgresIndexStore;
  /** The same, for all that has to see every entry that was added. */
  readonly #whole: PostgresIndexStore;
  readonly #merging: Merging;
  readonly #shared: Shared;
  /** The fold that runs, and the one that begins after it. */
  #folding: Promise<void> | undefined;
  #nextFold: Promise<void> | undefined;
  /** The fold that this process began by itself. No question waits for it. */
  #aside: Promise<void> | undefined;
  /** Entries that this process added since it last folded. */
  #unfolded = 0;
  /** The last search. The next one waits for it: they share what is known of the index. */
  #searching: Promise<unknown> = Promise.resolve();

  constructor(
    db: PostgresDatabase,
    namespace = "default",
    cacheBytes?: number,
    shared: Shared = {
      merger: new BackgroundMerger(),
      indexes: new OpenIndexes(),
      adds: new GroupedAdds(db),
    },
  ) {
    this.#db = db;
    this.#namespace = namespace;
    this.#cacheBytes = cacheBytes;
    this.#partition = new MemoryPartition(db, namespace);
    this.#store = new PostgresIndexStore(db, namespace, { partition: this.#partition });
    this.#whole = this.#store.lookingForWaiting();
    this.#merging = { store: this.#store, lease: new PostgresLease(db, namespace, "merge") };
    this.#shared = shared;
  }

  get closed(): boolean {
    return this.#db.closed;
  }

  inNamespace(namespace: string): PostgresMemory {
    return new PostgresMemory(this.#db, namespace, this.#cacheBytes, this.#shared);
  }

  readonly run: RunTask = (name, ...values) => this.#run(() => askTask(name, values));

  async addFew(entries: readonly MemoryEntry[]): Promise<number | undefined> {
    if (!mayWait(entries)) return undefined;
    const said = entries.filter(({ content }) => content.trim() !== "");
    if (said.length === 0) return 0;
    if (this.#unfolded >= WAITING_MAX) await this.#aside;
    const added = await this.#shared.adds.add(this.#namespace, said).catch((error) => {
      throw this.#db.failure(error);
    });
    this.#unfolded += added;
    if (this.#unfolded >= FOLDED_AFTER) this.#aside ??= this.#foldAside();
    return added;
  }

  /** Folds without a question, unless another process does. Resolves when few entries wait. */
  async #foldAside(): Promise<void> {
    const lease = new PostgresLease(this.#db, this.#namespace, "fold");
    try {
      while (!(await lease.take(FOLD_MS))) {
        await sleep(FOLD_WAIT_MS);
        if (this.closed || !(await this.#store.manyWait())) return;
      }
      try {
        await this.#foldAll();
      } finally {
        await lease.release();
      }
    } catch {
      // The next question folds too, and tells of the failure.
    } finally {
      this.#unfolded = 0;
      this.#aside = undefined;
    }
  }

  /** Puts all entries that wait now into the index. Those who ask while it runs share the next one. */
  #fold(): Promise<void> {
    if (!this.#folding) {
      this.#folding = this.#foldAll().finally(() => {
        this.#folding = undefined;
      });
      return this.#folding;
    }
    // The one that runs may have begun before the last entry was added.
    this.#nextFold ??= this.#folding
      .catch(() => {})
      .then(() => {
        this.#nextFold = undefined;
        return this.#fold();
      });
    return this.#nextFold;
  }

  async #foldAll(): Promise<void> {
    this.#unfolded = 0;
    let mergeDue = false;
    const add = async (entries: readonly MemoryEntry[], within: AsyncIndexStore) => {
      const added: Added = await runAsync(addEntries(entries), within);
      mergeDue ||= added.mergeDue;
    };
    while (await this.#store.fold(add));
    if (mergeDue) this.wakeMerging();
  }

  /** `asking` is made again if it has to be asked again. */
  async #run<Result>(
    asking: () => Asking<Result>,
    onProgress?: (progress: Progress) => void,
  ): Promise<Result> {
    try {
      if (this.#db.onlyReads) return await runAsync(asking(), this.#store, onProgress);
      try {
        return await runAsync(asking(), this.#whole, onProgress);
      } catch (error) {
        if (!(error instanceof EntriesWait)) throw error;
      }
      await this.#fold();
      // Entries that were added since then came later than the question.
      return await runAsync(asking(), this.#store, onProgress);
    } catch (error) {
      throw this.#db.failure(error);
    }
  }

  search(query: MemoryQuery, embedded?: EmbeddedSearch): Promise<readonly MemoryHit[]> {
    const search = () => {
      const index = this.#shared.indexes.of(this.#namespace, this.#cacheBytes);
      return this.#run(() => searchEntries(index, query, embedded));
    };
    const hits = this.#searching.then(search, search);
    this.#searching = hits;
    return hits;
  }

  async verify({ signal, onProgress }: Watch): Promise<MemoryCheck> {
    const check = await this.#run(
      () => verifyIndex(() => new OpenIndex()),
      (progress) => {
        signal?.throwIfAborted();
        onProgress?.(progress);
      },
    );
    onProgress?.({ done: check.entries, total: check.entries });
    return check;
  }

  /** The server does the work, so here is no worse than elsewhere. */
  aside<Result>(work: (run: RunTask) => Promise<Result>): Promise<Result> {
    return work(this.run);
  }

  /** Every write is synced: memory and log may be different servers. */
  restoresFrom(): boolean {
    return false;
  }

  async wipe(): Promise<void> {
    const tables = await this.#partition.ofTables(DELETED_FROM);
    await this.#db.vacuum(tables.join(", "));
  }

  wakeMerging(): void {
    this.#shared.merger.wake(this.#merging);
  }

  async finishMerging(): Promise<void> {
    await this.#fold();
    await this.#shared.merger.finish(this.#merging);
  }

  lease(work: string) {
    const lease = new PostgresLease(this.#db, this.#namespace, work);
    return { lease: (ttlMs: number) => lease.take(ttlMs), release: () => lease.release() };
  }

  async close(): Promise<void> {
    await this.#aside;
    await this.#folding?.catch(() => {});
    await this.#shared.merger.close();
    await this.#db.close();
  }
}

/** The index of a namespace, which the process that holds its lease merges. */
interface Merging {
  readonly store: AsyncIndexStore;
  readonly lease: PostgresLease;
}

/** After a kill, another process goes on when this is over. */
const LEASE_MS = 15_000;
const WAIT_MS = 200;
/** Bytes that a step reads and packs. Meanwhile the process does nothing else. */
const STEP_BYTES = 200_000;

/**
 * Merges segments beside searches, in short steps. Of several processes one merges a namespace at a time, and of
 * several namespaces a process merges one.
 */
class BackgroundMerger {
  /** Merges that have not begun yet. */
  readonly #waiting = new Map<Merging, Promise<unknown>>();
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** Says that there may be something to merge. */
  wake(merging: Merging): void {
    if (this.#waiting.has(merging)) return;
    // `finish` reports a failure; a store that cannot be merged can still be searched.
    const merge = this.#last
      .then(() => {
        this.#waiting.delete(merging);
        return this.#merge(merging);
      })
      .catch(() => {});
    this.#waiting.set(merging, merge);
    this.#last = merge;
  }

  /** Resolves when nothing is left to merge. */
  async finish(merging: Merging): Promise<void> {
    while (!(await this.#merge(merging)) && !this.#closed) await sleep(WAIT_MS);
  }

  /** Resolves when the step that runs now is done. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
  }

  /** Returns false when another process merges. */
  async #merge({ store, lease }: Merging): Promise<boolean> {
    if (this.#closed || !(await lease.take(LEASE_MS))) return false;
    try {
      let renewedAt = performance.now();
      while (!this.#closed && (await runAsync(keepUp(STEP_BYTES), store))) {
        await setImmediate();
        if (performance.now() - renewedAt < LEASE_MS / 3) continue;
        if (!(await lease.take(LEASE_MS))) return false;
        renewedAt = performance.now();
      }
    } finally {
      await lease.release();
    }
    return true;
  }
}

/** Takes or renews the lease. Only the server's clock counts. */
const TAKE = `
  insert into rkat.memory_lease as l (namespace, work, owner, held_until)
  values ($1, $2, $3, clock_timestamp() + $4::double precision * interval '1 millisecond')
  on conflict (namespace, work) do update set owner = excluded.owner, held_until = excluded.held_until
    where l.owner = excluded.owner or l.held_until < clock_timestamp()
  returning 1`;

const RELEASE = "delete from rkat.memory_lease where namespace = $1 and work = $2 and owner = $3";

/** Lets one process at a time do some work on a namespace in the background. */
class PostgresLease {
  readonly #db: Statements;
  readonly #key: readonly [namespace: string, work: string, owner: string];

  constructor(db: Statements, namespace: string, work: string) {
    this.#db = db;
    this.#key = [namespace, work, newId()];
  }

  /** Returns false when another process has it. */
  async take(ttlMs: number): Promise<boolean> {
    return (await this.#db.row(TAKE, ...this.#key, ttlMs)) !== undefined;
  }

  async release(): Promise<void> {
    await this.#db.change(RELEASE, ...this.#key);
  }
}
