import type { MemoryStats } from "../../../core/memory-store.ts";
import type { Connection } from "../connection.ts";
import { keysOf, openNamespace } from "./memory-namespace.ts";

/** Of one session, or of all with `null`. */
export function memoryStats(
  db: Connection,
  name: string,
  sessionId: string | null,
): Omit<MemoryStats, "vectors"> {
  return db.read(() => {
    const namespace = openNamespace(db, name);
    const counts = db.get<Pick<MemoryStats, "entries" | "sessions" | "textBytes">>(
      `SELECT coalesce(sum(entries), 0) AS entries, count(*) AS sessions,
              coalesce(sum(text_bytes), 0) AS textBytes
       FROM memory_session WHERE namespace = ?1 AND (?2 IS NULL OR id = ?2)`,
      namespace?.number ?? -1,
      sessionId,
    );
    const stats = { entries: 0, sessions: 0, textBytes: 0, ...counts };
    if (!namespace || sessionId !== null) return { ...stats, index: "words" };
    const { first, last } = keysOf(namespace);
    const segments = db.get<{ count: number; postings: number; bytes: number }>(
      `SELECT count(*) AS count, coalesce(sum(postings), 0) AS postings,
              coalesce(sum(bytes), 0) AS bytes
       FROM memory_segment WHERE namespace = ? AND generation = ? AND state = 'whole'`,
      namespace.number,
      namespace.generation,
    );
    const columns = db.get<{ bytes: number }>(
      "SELECT coalesce(sum(length(data)), 0) AS bytes FROM memory_column_block WHERE key BETWEEN ? AND ?",
      first,
      last,
    );
    const { count, postings, bytes } = { count: 0, postings: 0, bytes: 0, ...segments };
    return {
      ...stats,
      index: `${postings} places of words of ${namespace.passages} passages, in ${count} segments`,
      diskBytes: stats.textBytes + bytes + (columns?.bytes ?? 0) + ENTRY_BYTES * stats.entries,
    };
  });
}

/** What the row of an entry and its place in three indexes take besides the text, about. */
const ENTRY_BYTES = 120;
