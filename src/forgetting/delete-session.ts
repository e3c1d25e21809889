import type { ApprovalStore } from "../core/approval-store.ts";
import type { SessionStore } from "../core/session-store.ts";
import type { ForgettingDeps } from "./forget-memory.ts";

export interface DeletionDeps
  extends Pick<ForgettingDeps, "memory" | "knowledge" | "events" | "projected"> {
  readonly sessions: Pick<SessionStore, "delete">;
  readonly approvals: Pick<ApprovalStore, "remove">;
  /** The session's files, where there are any. */
  readonly files: { remove(sessionId: string): Promise<void> } | undefined;
}

/**
 * Deletes a session from every store. What the user taught in it stays; facts go with it.
 *
 * The log goes last: until then, deleting the session again does the rest.
 */
export async function deleteSession(sessionId: string, deps: DeletionDeps): Promise<void> {
  const { memory, knowledge, approvals, files, sessions, events } = deps;
  // A projection that is behind would bring back what is deleted here.
  await deps.projected();
  await memory?.delete({ sessionId });
  await knowledge?.deleteSession(sessionId);
  await approvals.remove({ sessionId });
  await files?.remove(sessionId);
  await sessions.delete(sessionId);
  await events.delete(sessionId);
}
