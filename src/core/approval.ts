/** What happens to a call of a tool before it runs. */
export const TOOL_POLICIES = ["allow", "ask", "deny"] as const;

export type ToolPolicy = (typeof TOOL_POLICIES)[number];

/** A tool call that waits for somebody's word. */
export interface PendingApproval {
  readonly approvalId: string;
  readonly sessionId: string;
  /** The call's own id. */
  readonly toolUseId: string;
  readonly tool: string;
  /** As the model sent them. */
  readonly args: unknown;
  /** What the user wants done, shortened. */
  readonly goal: string;
  /** ISO 8601. */
  readonly requestedAt: string;
}

/** Somebody's word on a call. */
export interface ApprovalAnswer {
  readonly decision: "allow" | "deny";
  /** The model reads it; of a denial it is what the project learns. */
  readonly reason?: string;
  /** `settings`: a program has decided, and nothing is learned from it. Default `user`. */
  readonly by?: "user" | "settings";
}

/**
 * Asks somebody whether a call may run. `undefined` leaves the call to whoever
 * else answers it in time; `"later"` ends the turn and lets the call wait.
 *
 * Contract:
 * - One call is asked for at a time.
 * - `signal` aborts when the call was answered elsewhere, or its turn has ended.
 */
export type Approve = (
  call: PendingApproval,
  options: { readonly signal: AbortSignal },
) => Promise<ApprovalAnswer | "later" | undefined> | ApprovalAnswer | "later" | undefined;
