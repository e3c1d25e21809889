import { SessionError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import type { Stores } from "../core/stores.ts";
import { changedTask, taskDifference } from "../core/task.ts";
import { latestState } from "./latest-state.ts";

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
