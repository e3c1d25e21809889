import type { Embedder } from "../../core/embedder.ts";
import type {
  MemoryEntry,
  MemoryHit,
  MemoryQuery,
  MemoryStats,
  MemoryStore,
} from "../../core/memory-store.ts";
import { blendSimilarity } from "../../search/blend-similarity.ts";
import type { Database } from "./database.ts";

export interface SqliteMemoryStoreOptions {
  /** What it adds and finds is in this namespace only. */
  readonly namespace?: string;
  /** Compares the query with the results that words have found; see `embedderWeight`. */
  readonly embedder?: Embedder;
  /**
   * The embedder's part in a score, from 0 to 1. Default 0: words alone decide.
   * The local embedder hardly helps and doubles the time of a search. Of the answers of
   * LoCoMo, REALTALK and BEAM 78.5, 66.6 and 77.7 % are among the first ten
   * without it, 78.4, 67.5 and 78.0 % with 0.1, 77.9, 66.1 and 77.1 % with 0.3.
   */
  readonly embedderWeight?: number;
}

/** Results that an embedder compares: it embeds each of them at every search. */
const COMPARED = 50;

/**
 * Keeps memory in a SQLite file that several processes may have open at once, and
 * finds it by its words; `memory-search.ts` says how.
 */
export class SqliteMemoryStore implements MemoryStore {
  readonly #database: Database;
  readonly #namespace: string;
  readonly #embedder: Embedder | undefined;
  readonly #embedderWeight: number;

  /** Closing the store closes the database. */
  constructor(database: Database, options: SqliteMemoryStoreOptions = {}) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
    this.#embedder = options.embedder;
    this.#embedderWeight = options.embedderWeight ?? 0;
  }

  add(entries: readonly MemoryEntry[]): Promise<number> {
    return this.#database.run("addMemories", this.#namespace, entries);
  }

  async search(query: MemoryQuery): Promise<readonly MemoryHit[]> {
    const embedder = this.#embedderWeight > 0 ? this.#embedder : undefined;
    const limit = embedder && query.limit > 0 ? Math.max(query.limit, COMPARED) : query.limit;
    const hits = await this.#database.run("searchMemories", this.#namespace, { ...query, limit });
    if (!embedder) return hits;
    const blended = await blendSimilarity(hits, query.query, embedder, this.#embedderWeight);
    return blended.slice(0, Math.max(0, query.limit));
  }

  async stats(of?: { readonly sessionId: string }): Promise<MemoryStats> {
    const counts = await this.#database.run("memoryStats", this.#namespace, of?.sessionId ?? null);
    return { ...counts, index: "words in SQLite FTS5" };
  }

  async delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number> {
    if ("ids" in which) return this.#database.run("deleteMemories", this.#namespace, which.ids);
    for (let count = 0; ; ) {
      const { deleted, more } = await this.#database.run(
        "deleteSessionMemories",
        this.#namespace,
        which.sessionId,
      );
      count += deleted;
      if (!more) return count;
    }
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
