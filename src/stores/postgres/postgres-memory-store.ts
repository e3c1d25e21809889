import type { MemoryCheck, MemoryHit, MemoryQuery, Watch } from "../../core/memory-store.ts";
import { OpenIndex, OpenIndexes } from "../../indexing/open-index.ts";
import { type Asking, type Progress, runAsync } from "../../indexing/port/asking.ts";
import { searchEntries } from "../../indexing/search.ts";
import { verifyIndex } from "../../indexing/upkeep/verify.ts";
import type { EmbeddedSearch } from "../../indexing/vectors/search-vectors.ts";
import {
  type IndexedMemoryOptions,
  IndexedMemoryStore,
  type MemoryDatabase,
  type RunTask,
} from "../indexed-memory.ts";
import { askTask } from "../memory-tasks.ts";
import { BackgroundMerger, type Merging, PostgresLease } from "./background-merger.ts";
import { MemoryPartition } from "./partitions.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { PostgresIndexStore } from "./postgres-index-store.ts";

const DELETED_FROM = [
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
}

/** The memory of a namespace in PostgreSQL. */
class PostgresMemory implements MemoryDatabase {
  readonly #db: PostgresDatabase;
  readonly #namespace: string;
  readonly #cacheBytes: number | undefined;
  readonly #partition: MemoryPartition;
  readonly #store: PostgresIndexStore;
  readonly #merging: Merging;
  readonly #shared: Shared;
  /** The last search. The next one waits for it: they share what is known of the index. */
  #searching: Promise<unknown> = Promise.resolve();

  constructor(
    db: PostgresDatabase,
    namespace = "default",
    cacheBytes?: number,
    shared: Shared = { merger: new BackgroundMerger(), indexes: new OpenIndexes() },
  ) {
    this.#db = db;
    this.#namespace = namespace;
    this.#cacheBytes = cacheBytes;
    this.#partition = new MemoryPartition(db, namespace);
    this.#store = new PostgresIndexStore(db, namespace, this.#partition);
    this.#merging = { store: this.#store, lease: new PostgresLease(db, namespace, "merge") };
    this.#shared = shared;
  }

  get closed(): boolean {
    return this.#db.closed;
  }

  inNamespace(namespace: string): PostgresMemory {
    return new PostgresMemory(this.#db, namespace, this.#cacheBytes, this.#shared);
  }

  readonly run: RunTask = (name, ...values) => this.#run(askTask(name, values));

  #run<Result>(asking: Asking<Result>, onProgress?: (progress: Progress) => void): Promise<Result> {
    return runAsync(asking, this.#store, onProgress).catch((error) => {
      throw this.#db.failure(error);
    });
  }

  search(query: MemoryQuery, embedded?: EmbeddedSearch): Promise<readonly MemoryHit[]> {
    const search = () => {
      const index = this.#shared.indexes.of(this.#namespace, this.#cacheBytes);
      return this.#run(searchEntries(index, query, embedded));
    };
    const hits = this.#searching.then(search, search);
    this.#searching = hits;
    return hits;
  }

  async verify({ signal, onProgress }: Watch): Promise<MemoryCheck> {
    const check = await this.#run(
      verifyIndex(() => new OpenIndex()),
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

  finishMerging(): Promise<void> {
    return this.#shared.merger.finish(this.#merging);
  }

  lease(work: string) {
    const lease = new PostgresLease(this.#db, this.#namespace, work);
    return { lease: (ttlMs: number) => lease.take(ttlMs), release: () => lease.release() };
  }

  async close(): Promise<void> {
    await this.#shared.merger.close();
    await this.#db.close();
  }
}
