/** Whether a tool call runs, needs approval, or is denied. */
export const TOOL_POLICIES = ["allow", "ask", "deny"] as const;

export type ToolPolicy = (typeof TOOL_POLICIES)[number];

/** A tool call that waits for approval. */
export interface PendingApproval {
  readonly approvalId: string;
  readonly sessionId: string;
  /** Id of the tool call. */
  readonly toolUseId: string;
  readonly tool: string;
  /** As the model sent them. */
  readonly args: unknown;
  /** The user's goal, shortened. */
  readonly goal: string;
  /** ISO 8601. */
  readonly requestedAt: string;
}

/** An answer to a request for approval. */
export interface ApprovalAnswer {
  readonly decision: "allow" | "deny";
  /** The model reads it. The project learns the reason of a denial. */
  readonly reason?: string;
  /** `settings`: a program decided. `model`: a model did. The project learns from a user only. Default `user`. */
  readonly by?: "user" | "model" | "settings";
}

/**
 * Callback that asks whether a call may run. `undefined` leaves the answer to others, such as another
 * process. `"later"` ends the turn, and the call waits.
 *
 * Contract:
 * - It is asked about one call at a time.
 * - `signal` aborts when another process has answered, or the turn has ended.
 */
export type Approve = (
  call: PendingApproval,
  options: { readonly signal: AbortSignal },
) => Promise<ApprovalAnswer | "later" | undefined> | ApprovalAnswer | "later" | undefined;
