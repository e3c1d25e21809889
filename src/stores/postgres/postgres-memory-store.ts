import type { Embedder } from "../../core/embedder.ts";
import type {
  MemoryCheck,
  MemoryEntry,
  MemoryHit,
  MemoryPage,
  MemoryQuery,
  MemoryStats,
  MemoryStore,
  Watch,
} from "../../core/memory-store.ts";
import { addEntries } from "../../indexing/add.ts";
import { type Asking, type Progress, runAsync } from "../../indexing/asking.ts";
import { type Deleted, deleteEntries, deleteSession } from "../../indexing/delete.ts";
import { listEntries, memoryStats, readEntries } from "../../indexing/list.ts";
import { OpenIndexes } from "../../indexing/open-index.ts";
import { searchEntries } from "../../indexing/search.ts";
import { prepareIndex, type RebuildStep, reindex } from "../../indexing/upkeep/reindex.ts";
import { verifyIndex } from "../../indexing/upkeep/verify.ts";
import { mendVectors } from "../../indexing/vectors/check-vectors.ts";
import { EmbeddedMemory } from "../../indexing/vectors/embedded-memory.ts";
import type { EmbeddedSearch } from "../../indexing/vectors/search-vectors.ts";
import {
  deleteOtherSpaces,
  openSpace,
  pendingPassages,
  saveCalibration,
  storeVectors,
  vectorStats,
} from "../../indexing/vectors/store-vectors.ts";
import type { VectorQueueStatus, VectorWork } from "../../indexing/vectors/vector-queue.ts";
import type { redactEntries } from "../../secrets/redact-secrets.ts";
import { BackgroundMerger, type Merging } from "./background-merger.ts";
import { MemoryPartition } from "./memory-partition.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { PostgresIndexStore } from "./postgres-index-store.ts";
import { PostgresLease } from "./postgres-lease.ts";

export interface PostgresMemoryStoreOptions {
  /** What it adds and finds is in this namespace only. */
  readonly namespace?: string;
  /**
   * A trained one makes vectors of all that is added, in the background, and entries are found by
   * what they mean as well as by their words. One that is not trained makes no difference.
   */
  readonly embedder?: Embedder;
  /**
   * Of the index, so many bytes stay in memory at the most, besides 20 to 27 for each passage, and of rows of
   * vectors as many again, up to 12 000 000. Default 16 000 000, or 64 for each passage when that is more.
   */
  readonly cacheBytes?: number;
}

/** Ids that one step looks at. */
const STEP = 1000;

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

/** What the stores of all namespaces of a process share. */
interface Shared {
  readonly merger: BackgroundMerger;
  readonly indexes: OpenIndexes;
}

/**
 * Keeps memory in PostgreSQL, which any number of processes use at once, and finds it by its words, with an
 * index of its own in the tables (`src/indexing`).
 */
export class PostgresMemoryStore implements MemoryStore {
  readonly #db: PostgresDatabase;
  readonly #options: PostgresMemoryStoreOptions;
  readonly #namespace: string;
  readonly #partition: MemoryPartition;
  readonly #store: PostgresIndexStore;
  readonly #merging: Merging;
  readonly #shared: Shared;
  readonly #vectors: EmbeddedMemory | undefined;
  /** By namespace. */
  readonly #others = new Map<string, PostgresMemoryStore>();
  /** The last search. The next one waits for it: they share what is known of the index. */
  #searching: Promise<unknown> = Promise.resolve();
  #ready: Promise<void> | undefined;
  #redact: typeof redactEntries | undefined;

  /** Closing the store closes the database. */
  constructor(
    db: PostgresDatabase,
    options: PostgresMemoryStoreOptions = {},
    shared: Shared = { merger: new BackgroundMerger(), indexes: new OpenIndexes() },
  ) {
    this.#db = db;
    this.#options = options;
    this.#namespace = options.namespace ?? "default";
    this.#partition = new MemoryPartition(db, this.#namespace);
    this.#store = new PostgresIndexStore(db, this.#namespace, this.#partition);
    this.#merging = { store: this.#store, lease: new PostgresLease(db, this.#namespace, "merge") };
    this.#shared = shared;
    const { embedder } = options;
    this.#vectors = embedder?.trained
      ? new EmbeddedMemory(this.#vectorWork(embedder.id), embedder)
      : undefined;
  }

  /** The memory of another namespace of the same tables, with the same options. It ends with this one. */
  inNamespace(namespace: string): PostgresMemoryStore {
    const known = this.#others.get(namespace);
    if (known) return known;
    const other = new PostgresMemoryStore(this.#db, { ...this.#options, namespace }, this.#shared);
    this.#others.set(namespace, other);
    return other;
  }

  async add(added: readonly MemoryEntry[]): Promise<number> {
    this.#redact ??= (await import("../../secrets/redact-secrets.ts")).redactEntries;
    await this.#prepare();
    const { added: count, mergeDue } = await this.#run(addEntries(this.#redact(added)));
    if (mergeDue) this.#shared.merger.wake(this.#merging);
    if (count > 0) this.#vectors?.wake();
    return count;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryHit[]> {
    await this.#prepare();
    const texts = [query.query].flat().filter((text) => text.trim() !== "");
    const embedded =
      texts.length > 0 && query.limit > 0 ? await this.#vectors?.embed(texts) : undefined;
    const search = () => this.#search(query, embedded);
    const hits = this.#searching.then(search, search);
    this.#searching = hits;
    return hits;
  }

  #search(query: MemoryQuery, embedded: EmbeddedSearch | undefined): Promise<readonly MemoryHit[]> {
    const index = this.#shared.indexes.of(this.#namespace, this.#options.cacheBytes);
    return this.#run(searchEntries(index, query, embedded));
  }

  async read(ids: readonly string[]): Promise<readonly MemoryEntry[]> {
    await this.#prepare();
    return this.#run(readEntries(ids));
  }

  async list(page: MemoryPage): Promise<readonly MemoryEntry[]> {
    await this.#prepare();
    return this.#run(listEntries(page));
  }

  async stats(of?: { readonly sessionId: string }): Promise<MemoryStats> {
    await this.#prepare();
    const stats = await this.#run(memoryStats(of?.sessionId ?? null));
    if (!this.#vectors || of) return stats;
    return { ...stats, vectors: await this.#vectors.stats() };
  }

  async delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number> {
    await this.#prepare();
    const count = await ("sessionId" in which
      ? this.#deleteAll(() => deleteSession(which.sessionId))
      : this.#deleteEntries([...new Set(which.ids)]));
    if (count > 0) {
      const tables = await this.#partition.ofTables(DELETED_FROM);
      await this.#db.vacuum(tables.join(", "));
    }
    return count;
  }

  async #deleteEntries(ids: readonly string[]): Promise<number> {
    let count = 0;
    for (let start = 0; start < ids.length; start += STEP) {
      const some = ids.slice(start, start + STEP);
      count += await this.#deleteAll(() => deleteEntries(some));
    }
    return count;
  }

  async #deleteAll(step: () => Asking<Deleted>): Promise<number> {
    for (let count = 0; ; ) {
      const { deleted, more } = await this.#run(step());
      count += deleted;
      if (!more) return count;
    }
  }

  /** Sees one state of the memory, whatever is written meanwhile. */
  async verify({ signal, onProgress }: Watch = {}): Promise<MemoryCheck> {
    await this.#prepare();
    const check = await this.#run(verifyIndex(), (progress) => {
      signal?.throwIfAborted();
      onProgress?.(progress);
    });
    onProgress?.({ done: check.entries, total: check.entries });
    return check;
  }

  /** Works in short steps. When it is stopped, the next one goes on there. */
  async reindex(watch: Watch = {}): Promise<void> {
    await this.#prepare();
    await this.#rebuild(reindex, watch);
    await this.#run(mendVectors());
    await this.#shared.merger.finish(this.#merging);
    this.#vectors?.wake();
  }

  /** Resolves when nothing waits to be merged in the background. A search is a little faster then. */
  async finishMerging(): Promise<void> {
    await this.#prepare();
    await this.#shared.merger.finish(this.#merging);
  }

  /**
   * Resolves when every passage has its vector, or those that are left keep failing; at once
   * without a trained embedder.
   */
  async finishEmbedding(): Promise<VectorQueueStatus | undefined> {
    await this.#prepare();
    return this.#vectors?.done();
  }

  async close(): Promise<void> {
    const memories = [this, ...this.#others.values()];
    await Promise.all(memories.map((memory) => memory.#vectors?.close()));
    await this.#shared.merger.close();
    await this.#db.close();
  }

  /** Once: what another version of rkat left is made into what this one searches. */
  #prepare(): Promise<void> {
    this.#ready ??= this.#rebuild(prepareIndex).catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #rebuild(step: () => Asking<RebuildStep>, watch: Watch = {}): Promise<void> {
    for (;;) {
      watch.signal?.throwIfAborted();
      const { more, ...progress } = await this.#run(step());
      watch.onProgress?.(progress);
      if (!more) return;
    }
  }

  #run<Result>(asking: Asking<Result>, onProgress?: (progress: Progress) => void): Promise<Result> {
    return runAsync(asking, this.#store, onProgress).catch((error) => {
      throw this.#db.failure(error);
    });
  }

  /** One process at a time makes the vectors of an embedder. */
  #vectorWork(embedderId: string): VectorWork {
    const lease = new PostgresLease(this.#db, this.#namespace, `vectors:${embedderId}`);
    const db = this.#db;
    return {
      get closed() {
        return db.closed;
      },
      openSpace: (...values) => this.#run(openSpace(...values)),
      pendingPassages: (...values) => this.#run(pendingPassages(...values)),
      storeVectors: (...values) => this.#run(storeVectors(...values)),
      saveCalibration: (...values) => this.#run(saveCalibration(...values)),
      deleteOtherSpaces: (...values) => this.#run(deleteOtherSpaces(...values)),
      vectorStats: (...values) => this.#run(vectorStats(...values)),
      lease: (ttlMs) => lease.take(ttlMs),
      release: () => lease.release(),
    };
  }
}
