import { z } from "zod";
import type { Operation } from "./operation.ts";
import { positive, sessionId } from "./request-fields.ts";
import { count } from "./result-schema.ts";

export const undoCompaction = z.strictObject({
  sessionId,
  /** `seq` of the compaction: it and all later ones are undone. Default: the last one. */
  event: positive.optional(),
  /** Undoes the last undo instead. */
  redo: z.boolean().optional(),
  /** Ids of messages that stay out, as an undo that has no room names them. */
  leaveOut: z.array(positive).max(10_000).optional(),
});

export type UndoCompaction = z.infer<typeof undoCompaction>;

export type UndoOutcome =
  | {
      readonly undone: true;
      /** `seq` of the event that undoes it. It can be undone like a compaction. */
      readonly event: number;
      /** `seq` of what was undone. */
      readonly compaction: number;
      /** Ids of the messages that are in the history again. */
      readonly returned: readonly number[];
      /** Ids of the messages that stay out. */
      readonly leftOut: readonly number[];
      /** Messages of the history now. */
      readonly messages: number;
      /** Estimated tokens of the next request. */
      readonly usedTokens: number;
      /** Tokens that trigger a compaction, or the context window; null when neither is known. */
      readonly tokensMax: number | null;
    }
  | {
      readonly undone: false;
      /** Why there is no room. */
      readonly reason: string;
      /** Estimated tokens that the next request would have. */
      readonly usedTokens: number;
      readonly tokensMax: number;
      /** Tokens that have to go; 0 when only the number of messages is too large. */
      readonly tokensOver: number;
      /** Ids of messages to leave out, so that the rest has room: tool output first, people's words last. */
      readonly leaveOut: readonly number[];
    };

/** With `undone` false there is a reason. */
export const undoOutcome = z.object({
  undone: z.boolean(),
  event: count.optional(),
  compaction: count.optional(),
  returned: z.array(count).optional(),
  leftOut: z.array(count).optional(),
  messages: count.optional(),
  reason: z.string().optional(),
  usedTokens: count,
  tokensMax: count.nullable(),
  tokensOver: count.optional(),
  leaveOut: z.array(count).optional(),
}) as unknown as z.ZodType<UndoOutcome>;

/** What compactions did to a history, and how to take it back. */
export interface HistoryOperations {
  /**
   * Puts back what a compaction took out of the history. What was said since stays, and so do pins. The log keeps the
   * compaction, so undoing the undo gives its history again. Where the next call would compact at once, nothing
   * changes, and the outcome says which messages to leave out. `NOT_POSSIBLE` when there is nothing to undo.
   */
  undoCompaction(request: UndoCompaction): Promise<UndoOutcome>;
}

export const HISTORY_OPERATIONS = {
  undoCompaction: {
    description: "Undo a compaction: what it took out of the history is there again.",
    request: undoCompaction,
    result: undoOutcome,
    rpc: "session/undo",
    http: { method: "POST", path: "/sessions/{session_id}/undo" },
    tool: "session_undo",
    command: "sessions undo",
    effect: "adds",
    needs: "session-store",
  },
} as const satisfies Record<keyof HistoryOperations, Operation>;
