import type {
  MemoryEntry,
  MemoryHit,
  MemoryQuery,
  MemoryStats,
  MemoryStore,
} from "../../core/memory-store.ts";
import { blendSimilarity } from "../../search/blend-similarity.ts";
import type { Database } from "./database.ts";

/** Keeps memory in a SQLite file that several processes may have open at once. */
export class SqliteMemoryStore implements MemoryStore {
  readonly #database: Database;
  readonly #namespace: string;

  /** Closing the store closes the database. */
  constructor(database: Database, options: { readonly namespace?: string } = {}) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
  }

  add(entries: readonly MemoryEntry[]): Promise<number> {
    return this.#database.run("addMemories", this.#namespace, entries);
  }

  search(query: MemoryQuery): Promise<readonly MemoryHit[]> {
    return this.#database.run("searchMemories", this.#namespace, query);
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
