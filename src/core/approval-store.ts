import type { ApprovalAnswer, PendingApproval } from "./approval.ts";

/**
 * Calls that wait for approval, where every process sees them and may answer.
 * The log has what was asked and answered; this is its index, and the letter
 * box for answers on their way to the process that runs the turn.
 *
 * Contract:
 * - What is added is listed until it is answered or removed, oldest first.
 * - An approval is there once, however often it is added.
 * - Of several answers the first one counts.
 * - An answer is kept until the approval is removed.
 * - What is replaced says something else, in its place and with its answer; what is not there is not added.
 */
export interface ApprovalStore {
  add(approvals: readonly PendingApproval[]): Promise<void>;
  /** Lets approvals say something else: texts of them were forgotten. */
  replace(approvals: readonly PendingApproval[]): Promise<void>;
  /** Those that nobody has answered, of one session or of all. */
  list(of: { readonly sessionId?: string }): Promise<readonly PendingApproval[]>;
  /** Returns false when there is none such, or another answer came first. */
  answer(approvalId: string, sessionId: string, answer: ApprovalAnswer): Promise<boolean>;
  /** The answers that were given, by the ids of the approvals. */
  answers(approvalIds: readonly string[]): Promise<ReadonlyMap<string, ApprovalAnswer>>;
  remove(
    which: { readonly approvalIds: readonly string[] } | { readonly sessionId: string },
  ): Promise<void>;
  close(): Promise<void>;
}
