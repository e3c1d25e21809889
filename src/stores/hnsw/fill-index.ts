import { hash } from "node:crypto";
import { setImmediate as rest } from "node:timers/promises";
import type { MemoryEntry, MemoryStore, Watch } from "../../core/memory-store.ts";
import type { HnswIndex } from "./hnsw-index.ts";

/** Entries that are read, embedded and added at a time. */
const PAGE = 64;

/** Vectors of texts. Undefined when none can be made now. */
export type Embed = (
  texts: readonly string[],
  signal?: AbortSignal,
) => Promise<readonly Float32Array[] | undefined>;

export interface FillOptions extends Watch {
  /** The most entries to look at. */
  readonly entriesMax?: number;
}

/**
 * Makes an index agree with its store. Returns whether it does now.
 *
 * Usually only entries after the last one seen are new. If that entry is gone or has changed, or
 * the store has fewer entries than the index, some were deleted: then all are listed once.
 */
export async function fillIndex(
  index: HnswIndex,
  store: MemoryStore,
  embed: Embed,
  options: FillOptions = {},
): Promise<boolean> {
  if (!(await isThere(index.lastId, index, store))) index.lastId = undefined;
  if (!(await addNew(index, store, embed, options))) return false;
  if (index.size === (await store.stats()).entries) return true;
  index.lastId = undefined;
  return addNew(index, store, embed, options);
}

/** The same for two texts only if they are the same. */
export function textHash({ content }: Pick<MemoryEntry, "content">): string {
  return hash("sha256", content, "base64url").slice(0, 22);
}

async function isThere(
  id: string | undefined,
  index: HnswIndex,
  store: MemoryStore,
): Promise<boolean> {
  const [entry] = id === undefined ? [] : await store.read([id]);
  return entry !== undefined && index.has(entry.id, textHash(entry));
}

/** Adds the entries after the last one. A list from the start also removes entries that are not in it. */
async function addNew(
  index: HnswIndex,
  store: MemoryStore,
  embed: Embed,
  { entriesMax = Infinity, signal, onProgress }: FillOptions,
): Promise<boolean> {
  const listed = index.lastId === undefined ? new Set<string>() : undefined;
  const total = onProgress ? (await store.stats()).entries : 0;
  for (let done = 0; done < entriesMax; ) {
    signal?.throwIfAborted();
    const entries = await store.list({
      limit: PAGE,
      ...(index.lastId === undefined ? {} : { after: index.lastId }),
    });
    if (entries.length === 0) {
      if (listed) index.keepOnly(listed);
      return true;
    }
    if (!(await addEntries(index, entries, embed, signal))) return false;
    for (const { id } of entries) listed?.add(id);
    index.lastId = entries.at(-1)?.id;
    done += entries.length;
    onProgress?.({ done: Math.min(done, total), total });
    // The library works on this thread. This lets other work run in between.
    await rest();
  }
  return false;
}

async function addEntries(
  index: HnswIndex,
  entries: readonly MemoryEntry[],
  embed: Embed,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const fresh = entries
    .map((entry) => ({ ...entry, hash: textHash(entry) }))
    .filter(({ id, hash }) => !index.has(id, hash));
  // First, because a text is forgotten with its last entry.
  for (const { id } of fresh) index.remove(id);
  const unknown = new Map(
    fresh.filter(({ hash }) => !index.knows(hash)).map(({ hash, content }) => [hash, content]),
  );
  const vectors = unknown.size === 0 ? [] : await embed([...unknown.values()], signal);
  if (!vectors) return false;
  const vectorOf = new Map([...unknown.keys()].map((hash, at) => [hash, vectors[at]]));
  for (const { id, hash } of fresh) index.add(id, hash, vectorOf.get(hash));
  return true;
}
