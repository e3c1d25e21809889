import type { ApprovalAnswer, PendingApproval } from "../../core/approval.ts";
import type { ApprovalStore } from "../../core/approval-store.ts";
import { storedAnswer, storedApproval } from "../stored-json.ts";
import type { Database } from "./database.ts";

/** Keeps what waits for approval in a SQLite file, where every process may answer. */
export class SqliteApprovalStore implements ApprovalStore {
  readonly #database: Database;
  readonly #namespace: string;

  /** Closing the store closes the database. */
  constructor(database: Database, options: { readonly namespace?: string } = {}) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
  }

  add(approvals: readonly PendingApproval[]): Promise<void> {
    return this.#database.run("addApprovals", this.#namespace, approvals);
  }

  replace(approvals: readonly PendingApproval[]): Promise<void> {
    return this.#database.run("replaceApprovals", this.#namespace, approvals);
  }

  async list({ sessionId }: { readonly sessionId?: string }): Promise<readonly PendingApproval[]> {
    const found = await this.#database.run("listApprovals", this.#namespace, sessionId ?? null);
    return found.map(storedApproval);
  }

  answer(approvalId: string, sessionId: string, answer: ApprovalAnswer): Promise<boolean> {
    return this.#database.run("answerApproval", this.#namespace, approvalId, sessionId, answer);
  }

  async answers(approvalIds: readonly string[]): Promise<ReadonlyMap<string, ApprovalAnswer>> {
    const found = await this.#database.run("approvalAnswers", this.#namespace, approvalIds);
    return new Map(found.map(({ id, answer }) => [id, storedAnswer(answer)]));
  }

  remove(
    which: { readonly approvalIds: readonly string[] } | { readonly sessionId: string },
  ): Promise<void> {
    return "sessionId" in which
      ? this.#database.run("removeSessionApprovals", this.#namespace, which.sessionId)
      : this.#database.run("removeApprovals", this.#namespace, which.approvalIds);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
