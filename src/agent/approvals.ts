import type {
  AllowedCalls,
  AllowedFor,
  Answerer,
  ApprovalAnswer,
  PendingApproval,
  ToolPolicy,
} from "../core/approval.ts";
import type { DurableEvent, ToolApprovalRequested, ToolApprovalResolved } from "../core/event.ts";
import { newId } from "../core/ids.ts";
import { contentText, type ToolUse } from "../core/message.ts";
import type { SessionState } from "../core/session-state.ts";
import { headWithin } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";
import type { WaitingCall } from "../core/waiting-calls.ts";
import { completed } from "./run-events.ts";
import { toolFailure } from "./tool-set.ts";

/** An answer, with the calls that it allows from now on. */
export interface GivenAnswer extends ApprovalAnswer {
  readonly allows?: AllowedCalls & { readonly for: AllowedFor };
}

/** Whether a call runs, waits for approval, or is denied. */
export interface Verdict {
  readonly policy: ToolPolicy;
  /** Why it is denied, if the settings alone do not say so. */
  readonly reason?: string;
}

/** Decides whether a tool call runs, and asks for approval. */
export interface Approvals {
  /** The clients that may answer. Each request names them. */
  readonly mayAnswer: readonly Answerer[];
  judge(call: Pick<ToolUse, "name" | "args">): Verdict;
  /** Resolves with the answer, or with `undefined` when none came in time. Rejects when `signal` aborts. */
  ask(approval: PendingApproval, signal: AbortSignal): Promise<GivenAnswer | undefined>;
  /** The log has the answers now, so the store may drop them. */
  settled(approvalIds: readonly string[]): Promise<void>;
}

/** UTF-8 bytes of the goal in a request. */
const GOAL_BYTES_MAX = 500;

/** Asks whether a call may run. */
export function approvalRequested(
  { id, name, args }: ToolUse,
  state: SessionState,
  may_answer: readonly Answerer[],
): ToolApprovalRequested {
  const goal = goalOf(state);
  return {
    type: "tool_approval_requested",
    approval_id: newId(),
    id,
    name,
    args,
    goal,
    may_answer,
  };
}

export function approvalResolved(
  { id, name }: Pick<ToolUse, "id" | "name">,
  { approvalId, request }: Pick<WaitingCall, "approvalId" | "request">,
  { decision, reason, by: whose = "user", allows }: GivenAnswer,
  by: ToolApprovalResolved["by"] = whose,
): DurableEvent {
  return {
    type: "tool_approval_resolved",
    approval_id: approvalId,
    id,
    name,
    decision,
    ...(reason === undefined || reason.trim() === "" ? {} : { reason: reason.trim() }),
    by,
    request,
    ...(allows === undefined ? {} : { allows }),
  };
}

/** The settings deny the call. No approval is requested. */
export function refusedBySettings({ id, name }: ToolUse, reason?: string): DurableEvent {
  return {
    type: "tool_approval_resolved",
    approval_id: newId(),
    id,
    name,
    decision: "deny",
    ...(reason === undefined ? {} : { reason }),
    by: "settings",
  };
}

/** Denies all waiting calls of a session, because a new prompt or an archive came first. */
export function supersededEvents({ openCalls, waiting }: SessionState): DurableEvent[] {
  return openCalls.flatMap((call) => {
    const asked = waiting.get(call.id);
    if (!asked) return [];
    const answer = { decision: "deny", reason: SUPERSEDED } as const;
    const resolved = asked.answer ? [] : [approvalResolved(call, asked, answer, "superseded")];
    return [...resolved, completed(call, denied(SUPERSEDED), true, 0)];
  });
}

const SUPERSEDED = "There was no answer before the next prompt (superseded).";

/** Why a call did not run, as the model reads it. */
export const DENIALS = {
  user: ({ reason }: ApprovalAnswer): string =>
    reason === undefined
      ? "The user denied this call and gave no reason. Do not try it again; ask, or find another way."
      : `The user denied this call: ${reason}`,
  model: ({ reason }: ApprovalAnswer): string =>
    `This call was denied${reason === undefined ? "." : `: ${reason}`}`,
  settings: (name: string, reason?: string): string =>
    `The settings do not allow ${name}${reason === undefined ? "." : `: ${reason}`}`,
  superseded: (): string => SUPERSEDED,
} as const;

export function denied(message: string): string {
  return toolFailure("denied", message).content;
}

/** The goal of the task record, or else the last user message. */
function goalOf(state: SessionState): string {
  const { goal } = state.working.task;
  if (goal !== "") return headWithin(goal, GOAL_BYTES_MAX);
  const last = state.messages.findLast(startsTurn);
  return last?.role === "user" ? headWithin(contentText(last.content), GOAL_BYTES_MAX) : "";
}
