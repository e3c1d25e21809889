import { SessionError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { SessionState } from "../core/session-state.ts";
import type { Stores } from "../core/stores.ts";
import { changedTask, taskDifference } from "../core/task.ts";

/** Events that are read: those that a session began with, and the last ones. */
const EVENTS = { first: 10, last: 1000 } as const;

/**
 * A session as it is now, with only the beginning and the end of its history. So the cost does not
 * depend on the session's length. Take no snapshot of it.
 */
export function latestState(
  snapshot: SessionSnapshot,
  read: Parameters<typeof SessionState.restore>[1],
): Promise<SessionState> {
  const after = snapshot.seq - EVENTS.last;
  if (after <= EVENTS.first) return SessionState.restore(snapshot, read);
  const history = snapshot.history.flatMap((run) =>
    [
      { ...run, to: Math.min(run.to, EVENTS.first) },
      { ...run, from: Math.max(run.from, after + 1) },
    ].filter(({ from, to }) => from <= to),
  );
  return SessionState.restore({ ...snapshot, history, summary: null }, read);
}

/**
 * Adds notes to the task record of a session that is not in use here. The cost does not depend on the session's length.
 * Returns false, and changes nothing, when that is not possible: the session runs, or its snapshot is behind its log.
 */
export async function noteTask(
  { events, sessions, imports }: Pick<Stores, "events" | "sessions" | "imports">,
  sessionId: string,
  notes: Readonly<Record<string, string>>,
): Promise<boolean> {
  const before = await sessions.load(sessionId);
  if (!before || before.running) return false;
  const state = await latestState(before, (after, to) => events.read(sessionId, after, to));
  if (state.seq !== before.seq) return false;
  const { task } = state.working;
  const changed = taskDifference(task, changedTask(task, { notes }));
  if (Object.keys(changed).length === 0) return true;
  const event = { type: "task_updated" as const, changed, by: "user" as const };
  const noted = { event_id: newId(), timestamp_ms: Date.now(), event };
  state.apply({ ...noted, seq: before.seq + 1, schema_version: 1 });
  const snapshot = {
    ...before,
    ...state.working.snapshot(),
    seq: state.seq,
    updated_at_ms: state.updatedAtMs,
  };
  try {
    const batch = { sessionId, lastSeq: before.seq, events: [noted], snapshot, ids: [] };
    await imports.commit([batch]);
    return true;
  } catch (error) {
    if (error instanceof SessionError && error.code === "SESSION_CONFLICT") return false;
    throw error;
  }
}
