import type { MemoryEntry, MemoryHit, MemoryStats } from "../../../core/memory-store.ts";

/**
 * What scripts read of memory. Written out here, and not by `toWire`, because a
 * search that takes a millisecond shall not wait for a schema library to load.
 */

/** A hit: the specification's four fields, and all that there is besides. */
export function memoryHitJson({ score, neighbours, explanation, ...entry }: MemoryHit) {
  const { content, session_id, turn, ...rest } = memoryEntryJson(entry);
  return {
    content,
    score: Math.round(score * 1000) / 1000,
    session_id,
    turn,
    ...rest,
    ...(neighbours
      ? {
          neighbours: {
            before: neighbours.before.map(memoryEntryJson),
            after: neighbours.after.map(memoryEntryJson),
          },
        }
      : {}),
    ...(explanation ? { explanation } : {}),
  };
}

/** An entry: also a line of `rkat memory export`, which `rkat memory add` reads. */
export function memoryEntryJson(entry: MemoryEntry) {
  const { content, sessionId, turn, id, kind, time, role, speaker, source } = entry;
  return {
    content,
    session_id: sessionId,
    turn,
    id,
    kind,
    ...(time === undefined ? {} : { time }),
    ...(role === undefined ? {} : { role }),
    ...(speaker === undefined ? {} : { speaker }),
    ...(source === undefined ? {} : { source }),
  };
}

export function memoryStatsJson({ textBytes, diskBytes, ...stats }: MemoryStats) {
  const { entries, sessions, index, vectors } = stats;
  return {
    entries,
    sessions,
    text_bytes: textBytes,
    index,
    ...(diskBytes === undefined ? {} : { disk_bytes: diskBytes }),
    ...(vectors === undefined ? {} : { vectors }),
  };
}
