import type { Embedder } from "../../core/embedder.ts";
import type { EventStore } from "../../core/event-store.ts";
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
import type { RebuildStep } from "../../indexing/upkeep/reindex.ts";
import { EmbeddedMemory } from "../../indexing/vectors/embedded-memory.ts";
import type { VectorQueueStatus } from "../../indexing/vectors/vector-queue.ts";
import type { redactEntries } from "../../secrets/redact-secrets.ts";
import { BackgroundMerger } from "./background-merger.ts";
import { type Database, openDatabase, wipe } from "./database.ts";
import { IN_MEMORY } from "./open-connection.ts";
import { SqliteEventStore } from "./sqlite-event-store.ts";
import { sqliteVectorWork } from "./sqlite-vector-work.ts";

export interface SqliteMemoryStoreOptions {
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

/** Ids that one command deletes. */
const STEP = 1000;

/**
 * Keeps memory in a SQLite file that several processes may have open at once, and finds it by
 * its words, with an index of its own in that file (`src/indexing`).
 */
export class SqliteMemoryStore implements MemoryStore {
  readonly #database: Database;
  readonly #options: SqliteMemoryStoreOptions;
  readonly #namespace: string;
  readonly #merger: BackgroundMerger;
  readonly #vectors: EmbeddedMemory | undefined;
  /** By namespace. */
  readonly #others = new Map<string, SqliteMemoryStore>();
  #ready: Promise<void> | undefined;
  #redact: typeof redactEntries | undefined;

  /** Closing the store closes the database and `merger`. */
  constructor(
    database: Database,
    options: SqliteMemoryStoreOptions = {},
    merger = new BackgroundMerger(database),
  ) {
    this.#database = database;
    this.#options = options;
    this.#namespace = options.namespace ?? "default";
    this.#merger = merger;
    const { embedder } = options;
    this.#vectors = embedder?.trained
      ? new EmbeddedMemory(sqliteVectorWork(database, this.#namespace, embedder.id), embedder)
      : undefined;
  }

  /** The memory of another namespace of the same file, with the same options. It ends with this one. */
  inNamespace(namespace: string): SqliteMemoryStore {
    const known = this.#others.get(namespace);
    if (known) return known;
    const options = { ...this.#options, namespace };
    const other = new SqliteMemoryStore(this.#database, options, this.#merger);
    this.#others.set(namespace, other);
    return other;
  }

  async add(added: readonly MemoryEntry[], log?: EventStore): Promise<number> {
    // A search does not need it, and starts sooner without. A second `import` would take longer than the work.
    this.#redact ??= (await import("../../secrets/redact-secrets.ts")).redactEntries;
    await this.#prepare();
    const { added: count, mergeDue } = await this.#database.run(
      "addMemories",
      this.#namespace,
      this.#redact(added),
      log instanceof SqliteEventStore && log.isIn(this.#database) ? "write unsynced" : "write",
    );
    if (mergeDue) this.#merger.wake(this.#namespace);
    if (count > 0) this.#vectors?.wake();
    return count;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryHit[]> {
    await this.#prepare();
    const { cacheBytes } = this.#options;
    const texts = [query.query].flat().filter((text) => text.trim() !== "");
    const embedded =
      texts.length > 0 && query.limit > 0 ? await this.#vectors?.embed(texts) : undefined;
    return this.#database.run("searchMemories", this.#namespace, query, cacheBytes, embedded);
  }

  async read(ids: readonly string[]): Promise<readonly MemoryEntry[]> {
    await this.#prepare();
    return this.#database.run("readMemories", this.#namespace, ids);
  }

  async list(page: MemoryPage): Promise<readonly MemoryEntry[]> {
    await this.#prepare();
    return this.#database.run("listMemories", this.#namespace, page);
  }

  async stats(of?: { readonly sessionId: string }): Promise<MemoryStats> {
    await this.#prepare();
    const stats = await this.#database.run("memoryStats", this.#namespace, of?.sessionId ?? null);
    if (!this.#vectors || of) return stats;
    return { ...stats, vectors: await this.#vectors.stats() };
  }

  async delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number> {
    await this.#prepare();
    const count = await ("sessionId" in which
      ? this.#deleteSession(which.sessionId)
      : this.#deleteEntries([...new Set(which.ids)]));
    if (count > 0) await wipe(this.#database);
    return count;
  }

  #deleteSession(sessionId: string): Promise<number> {
    return this.#deleteAll(() =>
      this.#database.run("deleteSessionMemories", this.#namespace, sessionId),
    );
  }

  async #deleteEntries(ids: readonly string[]): Promise<number> {
    let count = 0;
    for (let start = 0; start < ids.length; start += STEP) {
      const some = ids.slice(start, start + STEP);
      count += await this.#deleteAll(() =>
        this.#database.run("deleteMemories", this.#namespace, some),
      );
    }
    return count;
  }

  async #deleteAll(step: () => Promise<{ deleted: number; more: boolean }>): Promise<number> {
    for (let count = 0; ; ) {
      const { deleted, more } = await step();
      count += deleted;
      if (!more) return count;
    }
  }

  /** Runs in a thread of its own, and sees one state of the memory, whatever is written meanwhile. */
  async verify(watch: Watch = {}): Promise<MemoryCheck> {
    await this.#prepare();
    return this.#aside(async (database) => {
      // Steps keep a transaction open, in which other commands must not run.
      const isShared = database === this.#database;
      for (;;) {
        watch.signal?.throwIfAborted();
        const { check, ...progress } = await database.run(
          "verifyMemories",
          this.#namespace,
          isShared,
        );
        watch.onProgress?.(progress);
        if (check) return check;
      }
    });
  }

  /** Runs in a thread of its own, in short steps. When it is stopped, the next one goes on there. */
  async reindex(watch: Watch = {}): Promise<void> {
    await this.#prepare();
    await this.#aside(async (database) => {
      await this.#rebuild(() => database.run("reindexMemories", this.#namespace), watch);
      await database.run("mendVectors", this.#namespace);
    });
    await this.#merger.finish(this.#namespace);
    this.#vectors?.wake();
  }

  /** Works in a thread of its own, unless no other thread can see the database. */
  async #aside<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    const { path } = this.#database;
    if (path === IN_MEMORY) return work(this.#database);
    // Otherwise the thread would make an empty store where this one was removed.
    await this.#database.run("requireInPlace");
    const database = openDatabase({ path, thread: "worker" });
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  /** Resolves when nothing waits to be merged in the background. A search is a little faster then. */
  async finishMerging(): Promise<void> {
    await this.#prepare();
    await this.#merger.finish(this.#namespace);
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
    await this.#merger.close();
    await this.#database.close();
  }

  /** Once: what another version of rkat left is made into what this one searches. */
  #prepare(): Promise<void> {
    this.#ready ??= this.#rebuild(() =>
      this.#database.run("prepareMemories", this.#namespace),
    ).catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #rebuild(step: () => Promise<RebuildStep>, watch: Watch = {}): Promise<void> {
    for (;;) {
      watch.signal?.throwIfAborted();
      const { more, ...progress } = await step();
      watch.onProgress?.(progress);
      if (!more) return;
    }
  }
}
