import type { MemoryEntry, MemoryHit, MemoryStore } from "../../core/memory-store.ts";

/** The hits with so many entries before and after each, of the same session. */
export async function withNeighbours(
  hits: readonly MemoryHit[],
  store: MemoryStore,
  count: number,
): Promise<readonly MemoryHit[]> {
  if (count <= 0) return hits;
  const found: MemoryHit[] = [];
  for (const hit of hits) {
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
