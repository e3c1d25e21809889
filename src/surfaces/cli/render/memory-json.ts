import type { MemoryEntry, MemoryHit, MemoryStats } from "../../../core/memory-store.ts";

// Written out instead of using `toWire`: loading the schemas takes longer than a search.

/** A hit for scripts: the specification's four fields first, then all others. */
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

/** An entry for scripts. `rkat memory export` writes one per line, and `rkat memory add` reads them. */
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
