import type {
  MemoryEntry,
  MemoryHit,
  MemoryQuery,
  MemoryStats,
  MemoryStore,
} from "../../core/memory-store.ts";
import { utf8Bytes } from "../../core/tokens.ts";
import { memoryFilter } from "../memory-filter.ts";

/**
 * Keeps memory in this process only, and finds it by counting: the score of an
 * entry is the share of the query's words that occur anywhere in it. The first
 * memory store to read.
 */
export class SimpleMemoryStore implements MemoryStore {
  readonly #entries = new Map<string, MemoryEntry>();

  async add(entries: readonly MemoryEntry[]): Promise<number> {
    const fresh = entries.filter(
      ({ id, content }) => content.trim() !== "" && !this.#entries.has(id),
    );
    const before = this.#entries.size;
    for (const entry of fresh) {
      if (!this.#entries.has(entry.id)) this.#entries.set(entry.id, { ...entry });
    }
    return this.#entries.size - before;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryHit[]> {
    const words = query.query.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = memoryFilter(query);
    return [...this.#entries.values()]
      .filter(wanted)
      .map((entry) => ({ ...entry, score: shareFound(words, entry.content.toLowerCase()) }))
      .filter(({ score }) => score > 0 && score >= (query.minScore ?? 0))
      .sort((one, other) => other.score - one.score)
      .slice(0, query.limit);
  }

  async stats(of?: { readonly sessionId: string }): Promise<MemoryStats> {
    const entries = [...this.#entries.values()].filter(
      ({ sessionId }) => of === undefined || sessionId === of.sessionId,
    );
    return {
      entries: entries.length,
      sessions: new Set(entries.map(({ sessionId }) => sessionId)).size,
      textBytes: entries.reduce((sum, { content }) => sum + utf8Bytes(content), 0),
      index: "none: every entry is read, and the query's words in it are counted",
    };
  }

  async delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number> {
    const ids =
      "ids" in which
        ? which.ids
        : [...this.#entries.values()]
            .filter(({ sessionId }) => sessionId === which.sessionId)
            .map(({ id }) => id);
    return ids.filter((id) => this.#entries.delete(id)).length;
  }

  async close(): Promise<void> {
    this.#entries.clear();
  }
}

function shareFound(words: readonly string[], text: string): number {
  return words.filter((word) => text.includes(word)).length / Math.max(1, words.length);
}
