import type { ApprovalAnswer, PendingApproval } from "../../core/approval.ts";
import type { ApprovalStore } from "../../core/approval-store.ts";

/** Keeps what waits for approval in this process only. */
export class EphemeralApprovalStore implements ApprovalStore {
  readonly #approvals = new Map<string, { approval: PendingApproval; answer?: ApprovalAnswer }>();

  async add(approvals: readonly PendingApproval[]): Promise<void> {
    for (const approval of approvals) {
      if (!this.#approvals.has(approval.approvalId)) {
        this.#approvals.set(approval.approvalId, { approval });
      }
    }
  }

  async replace(approvals: readonly PendingApproval[]): Promise<void> {
    for (const approval of approvals) {
      const before = this.#approvals.get(approval.approvalId);
      if (before) this.#approvals.set(approval.approvalId, { ...before, approval });
    }
  }

  async list({ sessionId }: { readonly sessionId?: string }): Promise<readonly PendingApproval[]> {
    return [...this.#approvals.values()]
      .filter(({ answer }) => answer === undefined)
      .map(({ approval }) => approval)
      .filter((approval) => sessionId === undefined || approval.sessionId === sessionId);
  }

  async answer(approvalId: string, sessionId: string, answer: ApprovalAnswer): Promise<boolean> {
    const found = this.#approvals.get(approvalId);
    if (!found || found.answer || found.approval.sessionId !== sessionId) return false;
    found.answer = answer;
    return true;
  }

  async answers(approvalIds: readonly string[]): Promise<ReadonlyMap<string, ApprovalAnswer>> {
    return new Map(
      approvalIds.flatMap((id) => {
        const answer = this.#approvals.get(id)?.answer;
        return answer ? [[id, answer]] : [];
      }),
    );
  }

  async remove(
    which: { readonly approvalIds: readonly string[] } | { readonly sessionId: string },
  ): Promise<void> {
    for (const [id, { approval }] of this.#approvals) {
      const goes =
        "sessionId" in which
          ? approval.sessionId === which.sessionId
          : which.approvalIds.includes(id);
      if (goes) this.#approvals.delete(id);
    }
  }

  async close(): Promise<void> {}
}
