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
   * With the local embedder any part makes results worse: with 0.1 the share of
   * LoCoMo's answers among the first ten falls from WORDS to TENTH %, with 0.3 to THIRD %.
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

  delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number> {
    return "ids" in which
      ? this.#database.run("deleteMemories", this.#namespace, which.ids)
      : this.#database.run("deleteSessionMemories", this.#namespace, which.sessionId);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
