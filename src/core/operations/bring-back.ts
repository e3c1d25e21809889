import { z } from "zod";
import type { Operation } from "./operation.ts";
import { count, eitherOf, positive, sessionId } from "./request-fields.ts";

/** A message, or all of a turn that the window does not have whole. */
export const bringBack = eitherOf(
  ["message", "turn"],
  z.strictObject({
    sessionId,
    /** Its id. */
    message: positive.optional(),
    /** Counted from 0. */
    turn: z.int().min(0).optional(),
    /** Whether compactions keep it. Default: the next one takes it away. */
    pin: z.boolean().optional(),
  }),
);

export const refuseRecall = z.strictObject({
  sessionId,
  /** Ids of the records in memory, as `memory_recalled` has them. */
  ids: z.array(z.string().min(1).max(400)).min(1).max(100),
});

export const allowRecall = z.strictObject({
  sessionId,
  /** Ids of records that were refused. */
  ids: z.array(z.string().min(1).max(400)).min(1).max(100),
});

export type BringBack = z.infer<typeof bringBack>;

export type RefuseRecall = z.infer<typeof refuseRecall>;

export type AllowRecall = z.infer<typeof allowRecall>;

export type BroughtBackOutcome =
  | {
      readonly broughtBack: true;
      /** `seq` of the event that says so. */
      readonly event: number;
      /** Ids of the messages. */
      readonly messages: readonly number[];
      /** Estimated tokens of what is shown. */
      readonly tokens: number;
      /** Estimated tokens of the next request. */
      readonly usedTokens: number;
      /** Tokens that trigger a compaction, or the context window; null when neither is known. */
      readonly tokensMax: number | null;
    }
  | {
      readonly broughtBack: false;
      /** Why there is no room. */
      readonly reason: string;
      /** Ids of the messages. */
      readonly messages: readonly number[];
      readonly tokens: number;
      /** Estimated tokens that the next request would have. */
      readonly usedTokens: number;
      readonly tokensMax: number;
      /** Tokens that are too many. */
      readonly tokensOver: number;
    };

/** With `broughtBack` false there is a reason. */
export const broughtBackOutcome = z.object({
  broughtBack: z.boolean(),
  event: count.optional(),
  messages: z.array(count),
  tokens: count,
  reason: z.string().optional(),
  usedTokens: count,
  tokensMax: count.nullable(),
  tokensOver: count.optional(),
}) as unknown as z.ZodType<BroughtBackOutcome>;

/** The records that come back by themselves no more. */
export interface RecallRefusals {
  /** Ids in memory, the last refused at the end. */
  readonly refused: readonly string[];
}

export const recallRefusals = z.object({ refused: z.array(z.string()) });

/** Operations by which a person takes messages into a session's window, or keeps records out of it. */
export interface BringBackOperations {
  /**
   * Shows the model a message again that left the window, or a tool output that was shortened: whole, as a quote with its
   * time, from the next call to the next compaction, or through all of them. The message stays where it is in the log, and
   * memory has it once. Where there is no room, nothing changes, and the outcome says by how much. `NOT_POSSIBLE` when the
   * window has it.
   */
  bringBack(request: BringBack): Promise<BroughtBackOutcome>;
  /** Never recalls these records of memory by itself in this session again. Those that its model sees now leave. */
  refuseRecall(request: RefuseRecall): Promise<RecallRefusals>;
  /** Takes refusals back: these records of memory may come back by themselves again. Ids that were not refused change nothing. */
  allowRecall(request: AllowRecall): Promise<RecallRefusals>;
}

export const BRING_BACK_OPERATIONS = {
  bringBack: {
    description: "Show the model a message again that left the window, whole.",
    request: bringBack,
    result: broughtBackOutcome,
    rpc: "session/bring-back",
    http: { method: "POST", path: "/sessions/{session_id}/bring-back" },
    tool: "session_bring_back",
    toolText:
      "Show the model of a session a message again that left its window, or a tool output that was shortened, by `message`, or a whole `turn`: as a quote, until the next compaction, or with `pin` through all of them. Where there is no room, nothing changes, and the result says by how much.",
    command: "sessions bring-back",
    effect: "adds",
    needs: "session-store",
  },
  refuseRecall: {
    description: "Never recall records of memory by itself in this session again.",
    request: refuseRecall,
    result: recallRefusals,
    rpc: "session/refuse-recall",
    http: { method: "POST", path: "/sessions/{session_id}/refuse-recall" },
    tool: "session_refuse_recall",
    toolText:
      "Keep records of memory, by their ids, from coming back by themselves in a session. A search still finds them.",
    command: "sessions not-this",
    effect: "adds",
    needs: "session-store",
  },
  allowRecall: {
    description: "Let records of memory that were refused come back by themselves again.",
    request: allowRecall,
    result: recallRefusals,
    rpc: "session/allow-recall",
    http: { method: "POST", path: "/sessions/{session_id}/allow-recall" },
    tool: "session_allow_recall",
    toolText:
      "Take back what session_refuse_recall did to records of memory, by their ids: they may come back by themselves again. Returns those that are still refused.",
    command: "sessions allow-recall",
    effect: "adds",
    needs: "session-store",
  },
} as const satisfies Record<keyof BringBackOperations, Operation>;
