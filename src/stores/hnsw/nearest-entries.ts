import type { Embedder } from "../../core/embedder.ts";
import {
  type MemoryEntry,
  type MemoryHit,
  type MemoryQuery,
  type MemoryStore,
  matchOfHit,
  memoryFilter,
} from "../../core/memory-store.ts";
import { readQuestion } from "../../indexing/score/question.ts";
import { type Asked, ODDS, reportedMatch, scoresOf } from "../../indexing/score/score.ts";
import { textKey } from "../../indexing/words/words.ts";
import type { HnswIndex, Neighbour } from "./hnsw-index.ts";

/** The floor of queries that set none. Results below it are noise. */
const FLOOR = { counted: 0.1, trained: 0.2 };

/** The largest error of a distance in half precision. */
const IMPRECISION = 0.002;

/** The entries whose texts are nearest to any of the query's, whose vectors are given in their order, best first. */
export async function nearestEntries(
  index: HnswIndex,
  store: MemoryStore,
  vectors: readonly Float32Array[],
  query: MemoryQuery & { readonly query: readonly string[] },
  embedder: Embedder,
): Promise<readonly MemoryHit[]> {
  const found: (readonly MemoryHit[])[] = [];
  for (const [at, text] of query.query.entries()) {
    const vector = vectors[at];
    if (vector)
      found.push(await nearestTo(vector, index, store, { ...query, query: text }, embedder));
  }
  return mergedHits(found, query.limit);
}

/** Each entry of several results once, with its best score, best first. */
export function mergedHits(
  results: readonly (readonly MemoryHit[])[],
  limit: number,
): readonly MemoryHit[] {
  const best = new Map<string, MemoryHit>();
  for (const hit of results.flat()) {
    if (hit.score > (best.get(hit.id)?.score ?? 0)) best.set(hit.id, hit);
  }
  return [...best.values()].sort(byScore).slice(0, limit);
}

/** Best first. Equal scores are ordered by id, because the order in the graph may vary. */
export function byScore(one: MemoryHit, other: MemoryHit): number {
  return other.score - one.score || (one.id < other.id ? -1 : 1);
}

/**
 * The graph has no filters. So it is asked for more and more neighbours, until enough of them pass
 * or the rest is unrelated.
 */
async function nearestTo(
  vector: Float32Array,
  index: HnswIndex,
  store: MemoryStore,
  query: MemoryQuery & { readonly query: string },
  { id: of, trained }: Embedder,
): Promise<readonly MemoryHit[]> {
  // A vector of zeros is near nothing.
  if (vector.every((number) => number === 0)) return [];
  const usualFloor = trained ? FLOOR.trained : FLOOR.counted;
  // How sure a result is, is known at the end.
  const floor = query.minScore === undefined ? usualFloor : IMPRECISION;
  const key = sameTextKey(query.query);
  const asked = {
    words: readQuestion(query.query).words.length,
    passages: index.size,
    floor: usualFloor,
  };
  // The lead of the best one needs the next one.
  const limit = Math.max(2, query.limit);
  const wanted = memoryFilter(query);
  const hits: MemoryHit[] = [];
  let looked = 0;
  for (let count = 2 * limit; ; count *= 4) {
    const all = index.nearest(vector, count);
    const near = all.filter(({ distance }) => 1 - distance >= floor);
    for (const entry of await entriesOf(near.slice(looked), store, { limit, wanted })) {
      const { distance, ...rest } = entry;
      const match = sameTextKey(entry.content) === key ? 1 : reportedMatch(1 - distance);
      const explanation = { parts: [{ name: "vector", of, adds: 1 - distance }] };
      hits.push({ ...rest, score: match, match, ...(query.explain ? { explanation } : {}) });
    }
    looked = near.length;
    const isAll = near.length < all.length || all.length < count;
    if (hits.length >= limit || isAll) {
      const scored = withScores(hits.sort(byScore), asked);
      return scored.filter(({ score }) => score >= (query.minScore ?? 0)).slice(0, query.limit);
    }
  }
}

/** Equal for texts that say the same. Some stores keep a sign in the place of half a character, others what was said. */
const sameTextKey = (text: string) => textKey(text.toWellFormed());

/** Hits, the best match first, with what their matches say. The same text has 1. */
function withScores(hits: readonly MemoryHit[], asked: Asked): readonly MemoryHit[] {
  const others = hits.filter(({ match }) => match !== 1);
  const matches = others.map(({ match = 0 }) => match);
  const scores = scoresOf(matches, asked, ODDS.cosine);
  const same = hits.filter(({ match }) => match === 1);
  return [...same, ...others.map((hit, at) => ({ ...hit, score: scores[at] ?? 0 }))];
}

interface WantedEntries {
  readonly limit: number;
  readonly wanted: (entry: MemoryEntry) => boolean;
}

/**
 * The wanted entries of these neighbours, up to `limit` of each: those that come first by their ids, as equal hits do. Of
 * a text that many entries have, no more are read.
 */
async function entriesOf(
  neighbours: readonly Neighbour[],
  store: MemoryStore,
  { limit, wanted }: WantedEntries,
): Promise<readonly (MemoryEntry & { readonly distance: number })[]> {
  const found: (MemoryEntry & { readonly distance: number })[] = [];
  let left = neighbours.map(({ ids, distance }) => ({
    ids: ids.toSorted(),
    distance,
    lacks: limit,
  }));
  for (let [from, size] = [0, limit]; left.length > 0; from += size, size *= READS_MORE) {
    const asked = left.flatMap(({ ids }) => ids.slice(from, from + size));
    const entries = new Map((await store.read(asked)).map((entry) => [entry.id, entry]));
    left = left.flatMap(({ ids, distance, lacks }) => {
      // One that is gone was deleted since the index was filled.
      const own = ids.slice(from, from + size).flatMap((id) => entries.get(id) ?? []);
      const passing = own.filter(wanted).slice(0, lacks);
      found.push(...passing.map((entry) => ({ ...entry, distance })));
      const isAll = passing.length === lacks || from + size >= ids.length;
      return isAll ? [] : [{ ids, distance, lacks: lacks - passing.length }];
    });
  }
  return found;
}

/** Few pass the filter when the first ones do not. */
const READS_MORE = 4;

/** The hits, those that match enough with the entries before and after them of the same session. */
export async function withNeighbours(
  hits: readonly MemoryHit[],
  store: MemoryStore,
  { neighbours: count = 0, neighboursMatch = 0 }: MemoryQuery,
): Promise<readonly MemoryHit[]> {
  if (count <= 0) return hits;
  const found: MemoryHit[] = [];
  for (const hit of hits) {
    if (matchOfHit(hit) < neighboursMatch) {
      found.push(hit);
      continue;
    }
    const before = await entriesBefore(hit, store, count);
    const { sessionId, id } = hit;
    const after = await store.list({ sessionId, limit: count, after: id });
    found.push({ ...hit, neighbours: { before, after } });
  }
  return found;
}

/** A store lists forwards only, so its session is walked up to the entry. */
async function entriesBefore(
  { id, sessionId }: MemoryEntry,
  store: MemoryStore,
  count: number,
): Promise<readonly MemoryEntry[]> {
  let last: readonly MemoryEntry[] = [];
  for (;;) {
    const after = last.at(-1)?.id;
    const page = await store.list({
      sessionId,
      limit: 500,
      ...(after === undefined ? {} : { after }),
    });
    const place = page.findIndex((entry) => entry.id === id);
    if (place >= 0) return [...last, ...page.slice(0, place)].slice(-count);
    // It went while it was looked for.
    if (page.length === 0) return [];
    last = page.slice(-Math.max(count, 1));
  }
}
