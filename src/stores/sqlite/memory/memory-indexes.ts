import type { Connection } from "../connection.ts";
import type { MemoryNamespace } from "./memory-namespace.ts";
import { MemoryPassageIndex } from "./memory-passage-index.ts";
import { PostingsCache } from "./memory-postings-cache.ts";

/** What a connection keeps of postings, unless it is told another size: so much, … */
const CACHE_BYTES = 16_000_000;
/** … or so much for each passage, when that is more: a question's words are in more of a large index. */
const PASSAGE_BYTES = 64;

interface Indexes {
  readonly postings: PostingsCache;
  /** By namespace, the one that was searched last at the end. */
  readonly open: Map<number, MemoryPassageIndex>;
}

const INDEXES = new WeakMap<Connection, Indexes>();

/** The index of a namespace as it is now; in a transaction. It is kept for the next search. */
export function passageIndex(
  db: Connection,
  namespace: MemoryNamespace,
  cacheBytes: number = Math.max(CACHE_BYTES, PASSAGE_BYTES * namespace.passages),
): MemoryPassageIndex {
  const indexes = INDEXES.get(db) ?? { postings: new PostingsCache(cacheBytes), open: new Map() };
  indexes.postings.limitTo(cacheBytes);
  INDEXES.set(db, indexes);
  const index =
    indexes.open.get(namespace.number) ?? new MemoryPassageIndex(db, namespace, indexes.postings);
  index.refresh(namespace);
  indexes.open.delete(namespace.number);
  indexes.open.set(namespace.number, index);
  closeOthers(indexes, namespace.number, cacheBytes);
  return index;
}

/** Of many namespaces, only those that were searched last stay in memory. */
function closeOthers({ open, postings }: Indexes, current: number, bytesMax: number): void {
  if (open.size === 1) return;
  let bytes = [...open.values()].reduce((sum, index) => sum + index.bytes, 0);
  for (const [number, index] of open) {
    if (bytes <= bytesMax || number === current) return;
    bytes -= index.bytes;
    open.delete(number);
    postings.forget(number);
  }
}
