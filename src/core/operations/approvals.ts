import { z } from "zod";
import { type AllowedCalls, ANSWERERS, type PendingApproval } from "../approval.ts";
import type { Operation } from "./operation.ts";
import {
  count,
  origin,
  type SessionRequest,
  sessionId,
  sessionRequest,
  shape,
} from "./request-fields.ts";

export const listApprovals = z.strictObject({ sessionId: sessionId.optional() });

export const answerApproval = z.strictObject({
  sessionId,
  approvalId: z.string().min(1).max(200),
  decision: z.enum(["allow", "deny"]),
  /** The model reads it. The project learns the reason of a denial, if a user gave it. */
  reason: z.string().max(2000).optional(),
  /** The author of the answer. Default: the user. */
  origin: origin.optional(),
});

export const revokeAllowed = z.strictObject({
  sessionId,
  tool: z.string().min(1).max(200),
  /** Only the calls with this command. Default: every call of the tool. */
  command: z.string().min(1).max(10_000).optional(),
});

export type ListApprovals = z.infer<typeof listApprovals>;

export type AnswerApproval = z.infer<typeof answerApproval>;

export type RevokeAllowed = z.infer<typeof revokeAllowed>;

export interface ApprovalAnswered {
  readonly sessionId: string;
  /** Whether a running turn takes the answer. Otherwise call `resume`. */
  readonly continues: boolean;
  /** Calls of the session that still wait. */
  readonly waiting: number;
}

export const pendingApproval = shape<PendingApproval>()({
  approvalId: z.string(),
  sessionId: z.string(),
  toolUseId: z.string(),
  tool: z.string(),
  args: z.unknown(),
  goal: z.string(),
  requestedAt: z.string(),
  mayAnswer: z.array(z.enum(ANSWERERS)).optional(),
});

export const approvalAnswered = shape<ApprovalAnswered>()({
  sessionId: z.string(),
  continues: z.boolean(),
  waiting: count,
});

const allowedCalls = shape<AllowedCalls>()({ tool: z.string(), command: z.string().optional() });

/** Calls that the user allowed for the rest of a session. */
export interface Allowed {
  readonly allowed: readonly AllowedCalls[];
}

const allowed = shape<Allowed>()({ allowed: z.array(allowedCalls) });

/** Tool calls that wait for approval, and what was allowed. */
export interface ApprovalOperations {
  /** The tool calls that wait for approval, in all processes. */
  listApprovals(request: ListApprovals): Promise<readonly PendingApproval[]>;
  /**
   * Allows or denies a tool call. A running turn continues at once. When its process is gone,
   * `resume` continues it. The first answer counts.
   *
   * @throws SessionError `NOT_POSSIBLE` when a model answers (`origin.author`), and may not
   */
  answerApproval(request: AnswerApproval): Promise<ApprovalAnswered>;
  /** The calls that the user allowed for the rest of a session. */
  allowedCalls(request: SessionRequest): Promise<Allowed>;
  /** Takes back what an answer allowed for the rest of a session. Returns what is left. */
  revokeAllowed(request: RevokeAllowed): Promise<Allowed>;
}

export const APPROVAL_OPERATIONS = {
  listApprovals: {
    description: "List the tool calls that wait for approval, oldest first.",
    request: listApprovals,
    result: z.array(pendingApproval),
    resultKey: "approvals",
    rpc: "approval/list",
    http: { method: "GET", path: "/approvals" },
    tool: "approval_list",
    toolText:
      "List the tool calls that wait for approval. Show them to the user. Do not decide for the user.",
    command: "approvals list",
    effect: "reads",
  },
  answerApproval: {
    description:
      "Allow or deny a tool call that waits for approval. A running turn continues at once; continue one whose process has ended with resume.",
    request: answerApproval,
    result: approvalAnswered,
    rpc: "approval/answer",
    http: { method: "POST", path: "/sessions/{session_id}/approvals/{approval_id}" },
    tool: "approval_answer",
    toolText:
      "Allow or deny a waiting tool call, as the user decided. Give the reason for a denial: the session's model reads it. The project learns nothing from it, because it cannot know that the user said it. A running turn continues at once. Otherwise call session_resume without a prompt.",
    command: "approvals allow|deny",
    effect: "adds",
  },
  allowedCalls: {
    description: "List the tool calls that the user allowed for the rest of a session.",
    request: sessionRequest,
    result: allowed,
    rpc: "approval/allowed",
    http: { method: "GET", path: "/sessions/{session_id}/allowed" },
    tool: "approval_allowed",
    toolText:
      "List the tool calls that the user allowed for the rest of a session. They run without approval.",
    command: "approvals rules",
    effect: "reads",
  },
  revokeAllowed: {
    description: "Take back what the user allowed for the rest of a session.",
    request: revokeAllowed,
    result: allowed,
    rpc: "approval/revoke",
    http: { method: "DELETE", path: "/sessions/{session_id}/allowed" },
    tool: "approval_revoke",
    toolText:
      "Take back what the user allowed for the rest of a session. Those calls need approval again.",
    command: "approvals revoke",
    effect: "adds",
  },
} as const satisfies Record<keyof ApprovalOperations, Operation>;
