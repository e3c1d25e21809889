import type { MemoryStore } from "../core/memory-store.ts";

/** The same memory; results of queries that name no floor score at least `minScore`. */
export function flooredMemory(memory: MemoryStore, minScore: number): MemoryStore {
  return {
    add: (entries) => memory.add(entries),
    search: (query) => memory.search({ minScore, ...query }),
    read: (ids) => memory.read(ids),
    list: (page) => memory.list(page),
    stats: (of) => memory.stats(of),
    delete: (which) => memory.delete(which),
    verify: (watch) => memory.verify(watch),
    reindex: (watch) => memory.reindex(watch),
    close: () => memory.close(),
  };
}
