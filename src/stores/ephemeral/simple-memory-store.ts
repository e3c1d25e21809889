import type {
  MemoryCheck,
  MemoryEntry,
  MemoryHit,
  MemoryPage,
  MemoryQuery,
  MemoryStats,
  MemoryStore,
} from "../../core/memory-store.ts";
import { utf8Bytes } from "../../core/tokens.ts";
import { type FoundEntry, findEntries } from "../../search/find-entries.ts";
import {
  type IndexedEntry,
  type InMemoryIndex,
  indexedEntry,
  inMemoryIndex,
} from "../../search/in-memory-index.ts";
import { textKey } from "../../search/text-key.ts";
import { memoryFilter } from "../memory-filter.ts";

/**
 * Keeps memory in this process only. The first memory store to read: entries in a map, an
 * index made of them when the first search after a change needs it, and the ranking that
 * all stores share.
 */
export class SimpleMemoryStore implements MemoryStore {
  /** In the order in which they were stored. */
  readonly #entries = new Map<string, IndexedEntry>();
  #index: InMemoryIndex | undefined;

  async add(entries: readonly MemoryEntry[]): Promise<number> {
    const fresh = entries.filter(
      ({ id, content }) => content.trim() !== "" && !this.#entries.has(id),
    );
    // All are read before any is kept, so that one that cannot be read keeps out the others.
    const indexed = fresh.map((entry) => indexedEntry({ ...entry }));
    const before = this.#entries.size;
    for (const one of indexed) {
      if (!this.#entries.has(one.entry.id)) this.#entries.set(one.entry.id, one);
    }
    this.#index = undefined;
    return this.#entries.size - before;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryHit[]> {
    const texts = [query.query].flat().filter((text) => text.trim() !== "");
    if (query.limit <= 0 || texts.length === 0) return [];
    this.#index ??= inMemoryIndex([...this.#entries.values()]);
    const index = this.#index;
    const same = this.#sameTexts(query, texts);
    const ids = new Set(same.map(({ id }) => id));
    const others = findEntries(index, { ...query, texts })
      .flatMap((found) => hitOf(index, found))
      .filter(({ id }) => !ids.has(id));
    return [...same, ...others]
      .slice(0, query.limit)
      .map((hit) => ({ ...hit, ...this.#around(hit, query.neighbours ?? 0) }));
  }

  async read(ids: readonly string[]): Promise<readonly MemoryEntry[]> {
    return ids.flatMap((id) => this.#entries.get(id)?.entry ?? []);
  }

  async list(page: MemoryPage): Promise<readonly MemoryEntry[]> {
    const all = this.#all();
    const start = page.after === undefined ? 0 : all.findIndex(({ id }) => id === page.after) + 1;
    return all.slice(start).filter(memoryFilter(page)).slice(0, page.limit);
  }

  async stats(of?: { readonly sessionId: string }): Promise<MemoryStats> {
    const entries = this.#all().filter(
      ({ sessionId }) => of === undefined || sessionId === of.sessionId,
    );
    return {
      entries: entries.length,
      sessions: new Set(entries.map(({ sessionId }) => sessionId)).size,
      textBytes: entries.reduce((sum, { content }) => sum + utf8Bytes(content), 0),
      index: "words, in memory, made anew by the first search after a change",
    };
  }

  async delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number> {
    const ids =
      "ids" in which
        ? which.ids
        : this.#all()
            .filter(({ sessionId }) => sessionId === which.sessionId)
            .map(({ id }) => id);
    this.#index = undefined;
    return ids.filter((id) => this.#entries.delete(id)).length;
  }

  /** The index is made of the entries whenever they change, so it cannot be wrong. */
  async verify(): Promise<MemoryCheck> {
    return { entries: this.#entries.size, problems: [] };
  }

  async reindex(): Promise<void> {
    this.#index = undefined;
  }

  async close(): Promise<void> {
    this.#entries.clear();
    this.#index = undefined;
  }

  #all(): MemoryEntry[] {
    return [...this.#entries.values()].map(({ entry }) => entry);
  }

  /** The entries whose text is one of the queries. */
  #sameTexts(query: MemoryQuery, texts: readonly string[]): MemoryHit[] {
    const keys = new Set(texts.map(textKey));
    const explained = query.explain
      ? { explanation: { parts: [{ name: "same text", adds: 1 }] } }
      : {};
    return this.#all()
      .filter(memoryFilter(query))
      .filter(({ content }) => keys.has(textKey(content)))
      .map((entry) => ({ ...entry, score: 1, ...explained }));
  }

  #around({ id, sessionId }: MemoryEntry, count: number): Pick<MemoryHit, "neighbours"> {
    if (count <= 0) return {};
    const session = this.#all().filter((entry) => entry.sessionId === sessionId);
    const place = session.findIndex((entry) => entry.id === id);
    const before = session.slice(Math.max(0, place - count), place);
    return { neighbours: { before, after: session.slice(place + 1, place + 1 + count) } };
  }
}

function hitOf(index: InMemoryIndex, { slot, ...found }: FoundEntry): MemoryHit[] {
  const entry = index.entryAt(slot);
  return entry ? [{ ...entry, ...found }] : [];
}
