import type { ApprovalAnswer, PendingApproval } from "./approval.ts";

/**
 * Tool calls that wait for approval. Every process can list and answer them.
 *
 * The log has the requests and the answers. This store is an index of the open ones, and keeps an
 * answer until the process that runs the turn takes it.
 *
 * Contract:
 * - What is added is listed until it is answered or removed, oldest first.
 * - An approval is there once, however often it is added.
 * - Of several answers the first one counts.
 * - An answer is kept until the approval is removed.
 * - A replaced approval keeps its place and its answer. Replacing an unknown one adds nothing.
 */
export interface ApprovalStore {
  add(approvals: readonly PendingApproval[]): Promise<void>;
  /** Replaces approvals whose texts were forgotten. */
  replace(approvals: readonly PendingApproval[]): Promise<void>;
  /** The unanswered ones, of one session or of all. */
  list(of: { readonly sessionId?: string }): Promise<readonly PendingApproval[]>;
  /** Returns false when there is no such approval, or another answer came first. */
  answer(approvalId: string, sessionId: string, answer: ApprovalAnswer): Promise<boolean>;
  /** The answers so far, by approval id. */
  answers(approvalIds: readonly string[]): Promise<ReadonlyMap<string, ApprovalAnswer>>;
  remove(
    which: { readonly approvalIds: readonly string[] } | { readonly sessionId: string },
  ): Promise<void>;
  close(): Promise<void>;
}
