import type { MemoryHit, MemoryStats } from "../../core/memory-store.ts";

/**
 * What scripts read of memory. Written out here, and not by `toWire`, because a
 * search that takes a millisecond shall not wait for a schema library to load.
 */

/** A hit as the specification's `memory_search` shows it. */
export function memoryHitJson({ content, score, sessionId, turn }: MemoryHit) {
  return { content, score: Math.round(score * 1000) / 1000, session_id: sessionId, turn };
}

export function memoryStatsJson({ entries, sessions, textBytes, index }: MemoryStats) {
  return { entries, sessions, text_bytes: textBytes, index };
}
