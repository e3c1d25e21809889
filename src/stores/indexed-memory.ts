import type { Embedder } from "../core/embedder.ts";
import type { EventStore } from "../core/event-store.ts";
import type {
  EntryMarks,
  MemoryCheck,
  MemoryEntry,
  MemoryHit,
  MemoryPage,
  MemoryQuery,
  MemoryStats,
  MemoryStore,
  Watch,
} from "../core/memory-store.ts";
import { checkMethods } from "../core/store-arguments.ts";
import { addEntries } from "../indexing/add.ts";
import { type Deleted, deleteEntries, deleteSession } from "../indexing/delete.ts";
import { listEntries, markEntry, memoryStats, readEntries } from "../indexing/list.ts";
import type { Asking } from "../indexing/port/asking.ts";
import { keepUp, type RebuildStep, reindex, renewIndex } from "../indexing/upkeep/reindex.ts";
import { mendVectors } from "../indexing/upkeep/verify-vectors.ts";
import {
  EmbeddedMemory,
  type VectorQueueStatus,
  type VectorWork,
} from "../indexing/vectors/embedded-memory.ts";
import type { EmbeddedSearch } from "../indexing/vectors/search-vectors.ts";
import {
  deleteOtherSpaces,
  openSpace,
  pendingPassages,
  saveCalibration,
  storeVectors,
  vectorStats,
} from "../indexing/vectors/store-vectors.ts";
import type { redactEntries } from "../secrets/redact-secrets.ts";

/** Passages with and without a vector. */
export interface EmbeddingProgress {
  readonly embedded: number;
  readonly pending: number;
  /** The last failure, unless a later attempt succeeded. */
  readonly failure?: string;
}

/** A memory that merges its index and makes vectors in the background. You can wait for both. */
export interface IndexedMemory extends MemoryStore {
  /** Resolves when nothing waits to be merged. A search is a little faster then. */
  finishMerging(): Promise<void>;
  /**
   * Resolves when every passage has its vector, or when the rest keep failing. It resolves at once
   * without an embedder.
   */
  finishEmbedding(): Promise<EmbeddingProgress | undefined>;
}

export interface IndexedMemoryOptions {
  /** Entries are added and found in this namespace only. Default `"default"`. */
  readonly namespace?: string;
  /**
   * Makes vectors of all that is added, in the background. With a trained one, entries are found by what they mean as well
   * as by their words. The vectors of one that counts words decide between entries whose words say the same.
   */
  readonly embedder?: Embedder;
  /**
   * Maximum bytes of index blocks kept in memory. Passages add 20 to 27 bytes each; vector rows may take as
   * much again, up to 12 MB. Default 16 MB, or 64 bytes for each passage when that is more.
   */
  readonly cacheBytes?: number;
}

/** The memory of one namespace in a database. */
export interface MemoryDatabase {
  readonly closed: boolean;
  /** The memory of another namespace in the same database. */
  inNamespace(namespace: string): MemoryDatabase;
  run: RunTask;
  /** Stores a few entries for every search from then on, and returns how many were new; `undefined` when they are not few, or not for this. */
  addFew?(entries: readonly MemoryEntry[]): Promise<number | undefined>;
  search(query: MemoryQuery, embedded?: EmbeddedSearch): Promise<readonly MemoryHit[]>;
  /** Checks one state of the memory, whatever is written meanwhile. */
  verify(watch: Watch): Promise<MemoryCheck>;
  /** Runs long work where it does not hold up others. */
  aside<Result>(work: (run: RunTask) => Promise<Result>): Promise<Result>;
  /** Whether a power failure loses no entry that the log does not give again. */
  restoresFrom(log: EventStore): boolean;
  /** Takes deleted text out of the files. */
  wipe(): Promise<void>;
  /** Says that there may be something to merge. */
  wakeMerging(): void;
  finishMerging(): Promise<void>;
  /** The lease on some work in the background, which one process does at a time. */
  lease(work: string): Pick<VectorWork, "lease" | "release">;
  /** Closes the whole database. */
  close(): Promise<void>;
}

export type RunTask = <Name extends MemoryTask>(
  name: Name,
  ...values: TaskValues<Name>
) => Promise<TaskResult<Name>>;

/** Ids that one step deletes. */
const STEP = 1000;
/** Steps that the first use takes. So processes that end soon make a large index again too, one after the other. */
const RENEWED_AT_ONCE = 3;

/** A memory found by its words, with an index of rkat's own in the database (`src/indexing`). */
export class IndexedMemoryStore implements IndexedMemory {
  static {
    checkMethods("memory", IndexedMemoryStore);
  }
  readonly #database: MemoryDatabase;
  readonly #embedder: Embedder | undefined;
  readonly #vectors: EmbeddedMemory | undefined;
  /** By namespace. */
  readonly #others = new Map<string, IndexedMemoryStore>();
  #renewal: Promise<void> | undefined;
  #redact: typeof redactEntries | undefined;

  /** Closing the store closes the database. */
  constructor(database: MemoryDatabase, embedder?: Embedder) {
    this.#database = database;
    this.#embedder = embedder;
    this.#vectors = embedder
      ? new EmbeddedMemory(vectorWork(database, embedder.id), embedder)
      : undefined;
  }

  /** The memory of another namespace of the same database, with the same embedder. It ends with this one. */
  inNamespace(namespace: string): IndexedMemoryStore {
    const known = this.#others.get(namespace);
    if (known) return known;
    const database = this.#database.inNamespace(namespace);
    const other = new IndexedMemoryStore(database, this.#embedder);
    this.#others.set(namespace, other);
    return other;
  }

  async add(added: readonly MemoryEntry[], log?: EventStore): Promise<number> {
    // A search does not need it, and starts sooner without. A second `import` would take longer than the work.
    this.#redact ??= (await import("../secrets/redact-secrets.ts")).redactEntries;
    await this.#beginRenewal();
    const entries = this.#redact(added);
    // Entries from the log come in larger numbers, and nobody waits for them.
    const few = log ? undefined : await this.#database.addFew?.(entries);
    if (few !== undefined) {
      if (few > 0) this.#vectors?.wake();
      return few;
    }
    const { added: count, mergeDue } = await this.#database.run(
      "addMemories",
      entries,
      log && this.#database.restoresFrom(log) ? "write unsynced" : "write",
    );
    if (mergeDue) this.#database.wakeMerging();
    if (count > 0) this.#vectors?.wake();
    return count;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryHit[]> {
    await this.#beginRenewal();
    const texts = [query.query].flat().filter((text) => text.trim() !== "");
    const embedded =
      texts.length > 0 && query.limit > 0 ? await this.#vectors?.embed(texts) : undefined;
    return this.#database.search(query, embedded);
  }

  async read(ids: readonly string[]): Promise<readonly MemoryEntry[]> {
    return this.#database.run("readMemories", ids);
  }

  async list(page: MemoryPage): Promise<readonly MemoryEntry[]> {
    return this.#database.run("listMemories", page);
  }

  async mark(id: string, marks: EntryMarks): Promise<boolean> {
    this.#redact ??= (await import("../secrets/redact-secrets.ts")).redactEntries;
    const [redacted = marks] = this.#redact([{ content: "", ...marks }]);
    const isThere = await this.#database.run("markMemory", id, redacted);
    // An earlier text may be gone.
    await this.#database.wipe();
    return isThere;
  }

  async stats(of?: { readonly sessionId: string }): Promise<MemoryStats> {
    const stats = await this.#database.run("memoryStats", of?.sessionId ?? null);
    if (!this.#vectors || of) return stats;
    return { ...stats, vectors: await this.#vectors.stats() };
  }

  async delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number> {
    const count = await ("sessionId" in which
      ? deleteAll(() => this.#database.run("deleteSessionMemories", which.sessionId))
      : this.#deleteEntries([...new Set(which.ids)]));
    if (count > 0) await this.#database.wipe();
    return count;
  }

  async #deleteEntries(ids: readonly string[]): Promise<number> {
    let count = 0;
    for (let start = 0; start < ids.length; start += STEP) {
      const some = ids.slice(start, start + STEP);
      count += await deleteAll(() => this.#database.run("deleteMemories", some));
    }
    return count;
  }

  /** Sees one state of the memory, whatever is written meanwhile. */
  async verify(watch: Watch = {}): Promise<MemoryCheck> {
    // The words of the entries are compared, and those of an earlier rkat are others.
    const { signal } = watch;
    await rebuild(() => this.#database.run("renewMemories"), signal ? { signal } : {});
    return this.#database.verify(watch);
  }

  /** Works in short steps. When it is stopped, the next one goes on there. */
  async reindex(watch: Watch = {}): Promise<void> {
    await this.#database.aside(async (run) => {
      await rebuild(() => run("reindexMemories"), watch);
      await run("mendVectors");
    });
    await this.#database.finishMerging();
    this.#vectors?.wake();
  }

  async finishMerging(): Promise<void> {
    await this.#database.finishMerging();
  }

  async finishEmbedding(): Promise<VectorQueueStatus | undefined> {
    return this.#vectors?.done();
  }

  async close(): Promise<void> {
    const memories = [this, ...this.#others.values()];
    await Promise.all(memories.map((memory) => memory.#vectors?.close()));
    await this.#database.close();
  }

  /**
   * Begins to make the index of an earlier rkat again, once: a small one at once, and the rest of a larger one in the background. An
   * index that cannot be made again is searched as it is.
   */
  #beginRenewal(): Promise<void> {
    this.#renewal ??= this.#renew().catch(() => {});
    return this.#renewal;
  }

  async #renew(): Promise<void> {
    for (let step = 0; step < RENEWED_AT_ONCE; step += 1) {
      if (!(await this.#database.run("renewMemories")).more) return;
    }
    this.#database.wakeMerging();
  }
}

async function deleteAll(step: () => Promise<Deleted>): Promise<number> {
  for (let count = 0; ; ) {
    const { deleted, more } = await step();
    count += deleted;
    if (!more) return count;
  }
}

async function rebuild(step: () => Promise<RebuildStep>, watch: Watch = {}): Promise<void> {
  for (;;) {
    watch.signal?.throwIfAborted();
    const { more, ...progress } = await step();
    watch.onProgress?.(progress);
    if (!more) return;
  }
}

/** The vectors of a memory. One process at a time makes those of an embedder. */
export function vectorWork(database: MemoryDatabase, embedderId: string): VectorWork {
  return {
    get closed() {
      return database.closed;
    },
    openSpace: (...values) => database.run("openVectorSpace", ...values),
    pendingPassages: (...values) => database.run("pendingPassages", ...values),
    storeVectors: (...values) => database.run("storeVectors", ...values),
    saveCalibration: (...values) => database.run("saveCalibration", ...values),
    deleteOtherSpaces: (...values) => database.run("deleteOtherSpaces", ...values),
    vectorStats: (...values) => database.run("vectorStats", ...values),
    ...database.lease(`vectors:${embedderId}`),
  };
}

/** The tasks of a memory by name, so that a store can send them to the thread of its database. */
export const MEMORY_TASKS = {
  addMemories: addEntries,
  readMemories: readEntries,
  listMemories: listEntries,
  memoryStats,
  markMemory: markEntry,
  deleteMemories: deleteEntries,
  deleteSessionMemories: deleteSession,
  mergeMemories: keepUp,
  renewMemories: renewIndex,
  reindexMemories: reindex,
  mendVectors,
  openVectorSpace: openSpace,
  pendingPassages,
  storeVectors,
  saveCalibration,
  deleteOtherSpaces,
  vectorStats,
};

type MemoryTasks = typeof MEMORY_TASKS;
export type MemoryTask = keyof MemoryTasks;
export type TaskValues<Name extends MemoryTask> = Parameters<MemoryTasks[Name]>;
export type TaskResult<Name extends MemoryTask> =
  ReturnType<MemoryTasks[Name]> extends Asking<infer Result> ? Result : never;

/** The code of a task. */
export function askTask<Name extends MemoryTask>(
  name: Name,
  values: TaskValues<Name>,
): Asking<TaskResult<Name>> {
  const task = MEMORY_TASKS[name] as (...values: TaskValues<Name>) => Asking<TaskResult<Name>>;
  return task(...values);
}
