import type { MemoryEntry, MemoryQuery } from "../core/memory-store.ts";

/** Whether an entry is one of those that a query is about, whatever it says. */
export function memoryFilter(
  query: Omit<MemoryQuery, "query" | "limit">,
): (entry: Pick<MemoryEntry, "sessionId" | "role" | "kind" | "time">) => boolean {
  const since = query.since === undefined ? -Infinity : instant(query.since);
  const until = query.until === undefined ? Infinity : endOf(query.until);
  const anyTime = query.since === undefined && query.until === undefined;
  return ({ sessionId, role, kind, time }) => {
    if (query.sessionId !== undefined && sessionId !== query.sessionId) return false;
    if (query.role !== undefined && role !== query.role) return false;
    if (query.kind !== undefined && kind !== query.kind) return false;
    if (anyTime) return true;
    const at = time === undefined ? Number.NaN : instant(time);
    return since <= at && at <= until;
  };
}

/** A time without a zone is UTC, so that a store says the same wherever it is asked. */
function instant(time: string): number {
  return Date.parse(/T[\d:.]+$/.test(time) ? `${time}Z` : time);
}

const DAY_MS = 86_400_000;

/** A day as the upper bound is all of that day. */
function endOf(until: string): number {
  return instant(until) + (/^\d{4}-\d\d-\d\d$/.test(until) ? DAY_MS - 1 : 0);
}
