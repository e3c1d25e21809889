import type { Embedder } from "../../core/embedder.ts";
import type { MemoryEntry, MemoryHit, MemoryQuery, MemoryStore } from "../../core/memory-store.ts";
import { memoryFilter } from "../../search/memory-filter.ts";
import type { HnswIndex, Neighbour } from "./hnsw-index.ts";

/** Below it, hits of a query that names no floor are noise: chance buckets, a model's small talk. */
const FLOOR = { counted: 0.55, trained: 0.6 };

/** A distance in half precision is off by so much at the most. */
const IMPRECISION = 0.001;

/** The entries whose texts are nearest to any of the vectors, best first. */
export async function nearestEntries(
  index: HnswIndex,
  store: MemoryStore,
  vectors: readonly Float32Array[],
  query: MemoryQuery,
  embedder: Embedder,
): Promise<readonly MemoryHit[]> {
  const best = new Map<string, MemoryHit>();
  for (const vector of vectors) {
    for (const hit of await nearestTo(vector, index, store, query, embedder)) {
      if (hit.score > (best.get(hit.id)?.score ?? 0)) best.set(hit.id, hit);
    }
  }
  return [...best.values()].sort(byScore).slice(0, query.limit);
}

/** Best first; those that score the same in an order that does not depend on the graph. */
export function byScore(one: MemoryHit, other: MemoryHit): number {
  return other.score - one.score || (one.id < other.id ? -1 : 1);
}

/**
 * The graph knows nothing of filters, so it is asked for more and more
 * neighbours until enough of them pass, or the rest is unrelated.
 */
async function nearestTo(
  vector: Float32Array,
  index: HnswIndex,
  store: MemoryStore,
  query: MemoryQuery,
  { id: of, trained }: Embedder,
): Promise<readonly MemoryHit[]> {
  // A text in which the embedder sees nothing is near to nothing.
  if (vector.every((number) => number === 0)) return [];
  const floor = Math.max(
    query.minScore ?? (trained ? FLOOR.trained : FLOOR.counted),
    UNRELATED + IMPRECISION,
  );
  const wanted = memoryFilter(query);
  const hits: MemoryHit[] = [];
  let looked = 0;
  for (let count = 2 * query.limit; ; count *= 4) {
    const all = index.nearest(vector, count);
    const near = all.filter(({ distance }) => specifiedScore(distance) >= floor);
    for (const entry of await entriesOf(near.slice(looked), store)) {
      if (!wanted(entry)) continue;
      const { distance, ...rest } = entry;
      const score = Math.min(1, specifiedScore(distance));
      const explanation = { parts: [{ name: "vector", of, adds: 1 - distance }] };
      hits.push({ ...rest, score, ...(query.explain ? { explanation } : {}) });
    }
    looked = near.length;
    const isAll = near.length < all.length || all.length < count;
    if (hits.length >= query.limit || isAll) return hits.slice(0, query.limit);
  }
}

/** The entries at these places, best first. */
async function entriesOf(
  neighbours: readonly Neighbour[],
  store: MemoryStore,
): Promise<readonly (MemoryEntry & { readonly distance: number })[]> {
  const found = neighbours.flatMap(({ ids, distance }) => ids.map((id) => ({ id, distance })));
  const entries = await store.read(found.map(({ id }) => id));
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  return found.flatMap(({ id, distance }) => {
    const entry = byId.get(id);
    // It may have gone since the index was filled.
    return entry ? [{ ...entry, distance }] : [];
  });
}

/**
 * The specification's score of a cosine distance from 0 (same direction) to 2
 * (opposite): `1 - distance / 2`. Texts that have nothing to do with each other
 * are 1 apart, so their score is 0.5; what scores no better is no result.
 */
export function specifiedScore(distance: number): number {
  return 1 - distance / 2;
}

const UNRELATED = specifiedScore(1);
