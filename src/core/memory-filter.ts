import type { SessionChoice } from "./event-store.ts";
import { instant, timeSpan } from "./instant.ts";
import type { MemoryEntry, MemoryFilter } from "./memory-store.ts";

/** Tells whether an entry passes the filters of a query. */
export function memoryFilter(
  query: MemoryFilter,
): (entry: Pick<MemoryEntry, "sessionId" | "role" | "kind" | "time">) => boolean {
  const { since, until } = timeSpan(query);
  const isOfSession = sessionTest(query.sessions);
  const anyTime = query.since === undefined && query.until === undefined;
  return ({ sessionId, role, kind, time }) => {
    if (query.sessionId !== undefined && sessionId !== query.sessionId) return false;
    if (!isOfSession(sessionId)) return false;
    if (query.role !== undefined && role !== query.role) return false;
    if (query.kind !== undefined && kind !== query.kind) return false;
    if (anyTime) return true;
    const at = instant(time);
    return since <= at && at <= until;
  };
}

/** Tells whether a session is one of the choice. */
export function sessionTest(sessions: SessionChoice | undefined): (sessionId: string) => boolean {
  if (sessions === undefined) return () => true;
  if ("only" in sessions) {
    const only = new Set(sessions.only);
    return (sessionId) => only.has(sessionId);
  }
  const except = new Set(sessions.except);
  return (sessionId) => !except.has(sessionId);
}
