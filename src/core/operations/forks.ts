import { z } from "zod";
import type { Operation } from "./operation.ts";
import { count, positive, sessionId, shape } from "./request-fields.ts";

export const forkSession = z.strictObject({
  sessionId,
  /**
   * `seq` of the last event that the fork knows of, such as the id of a message. To edit a prompt, the one before its
   * id. Default: the last event of the log.
   */
  event: positive.optional(),
});

export type ForkSession = z.infer<typeof forkSession>;

/** A session that began with the history of another one. */
export interface ForkedSession {
  readonly sessionId: string;
  /** `seq` of the last event of the other session that it knows of. */
  readonly event: number;
  /** Messages of its history. */
  readonly messages: number;
  /** Estimated tokens of its history. */
  readonly historyTokens: number;
}

export const forkedSession = shape<ForkedSession>()({
  sessionId: z.string(),
  event: count,
  messages: count,
  historyTokens: count,
});

/** New sessions that go on from a message of another one. */
export interface ForkOperations {
  /**
   * Creates a session that begins with the history of another one, as it was after one of its events: its next
   * request is the one that the other would have made there. Both say so in `read` and `list`. The other session is
   * not changed, and the fork stays whole when it is deleted. What is forgotten there is forgotten in the fork too.
   * `NOT_POSSIBLE` where calls have no results yet.
   */
  forkSession(request: ForkSession): Promise<ForkedSession>;
}

export const FORK_OPERATIONS = {
  forkSession: {
    description: "Create a session that goes on from a message of another one.",
    request: forkSession,
    result: forkedSession,
    rpc: "session/fork",
    http: { method: "POST", path: "/sessions/{session_id}/fork" },
    tool: "session_fork",
    toolText:
      "Create a session that goes on from a message of another one, which is not changed: it begins with the same history. `event` is the id of the last message that it knows of.",
    command: "sessions fork",
    effect: "adds",
    needs: "session-store",
  },
} as const satisfies Record<keyof ForkOperations, Operation>;
