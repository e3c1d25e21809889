import type { ApprovalAnswer, PendingApproval } from "../../core/approval.ts";
import type { ApprovalStore } from "../../core/approval-store.ts";
import { storedAnswer, storedApproval } from "../stored-json.ts";
import type { PostgresDatabase } from "./postgres-database.ts";

/** Keeps what waits for approval in PostgreSQL, where a process of any machine may answer. */
export class PostgresApprovalStore implements ApprovalStore {
  readonly #database: PostgresDatabase;
  readonly #namespace: string;

  /** Closing the store closes the database. */
  constructor(database: PostgresDatabase, options: { readonly namespace?: string } = {}) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
  }

  async add(approvals: readonly PendingApproval[]): Promise<void> {
    if (approvals.length === 0) return;
    await this.#database.change(
      `insert into rkat.approval (namespace, id, session_id, approval)
       select $1, id, session_id, approval
       from unnest($2::text[], $3::text[], $4::text[])
         with ordinality as added (id, session_id, approval, place) order by place
       on conflict (namespace, id) do nothing`,
      this.#namespace,
      ...columnsOf(approvals),
    );
  }

  async replace(approvals: readonly PendingApproval[]): Promise<void> {
    if (approvals.length === 0) return;
    await this.#database.change(
      `update rkat.approval set approval = changed.approval
       from unnest($2::text[], $3::text[], $4::text[]) as changed (id, session_id, approval)
       where approval.namespace = $1 and approval.id = changed.id`,
      this.#namespace,
      ...columnsOf(approvals),
    );
    await this.#database.vacuum("rkat.approval");
  }

  async list({ sessionId }: { readonly sessionId?: string }): Promise<readonly PendingApproval[]> {
    const rows = await this.#database.rows<{ approval: string }>(
      `select approval from rkat.approval
       where namespace = $1 and ($2::text is null or session_id = $2) and answer is null order by key`,
      this.#namespace,
      sessionId ?? null,
    );
    return rows.map(({ approval }) => storedApproval(approval));
  }

  async answer(approvalId: string, sessionId: string, answer: ApprovalAnswer): Promise<boolean> {
    const text = JSON.stringify(answer);
    return await this.#database.repeat(async (statements, isAgain) => {
      const answered = await statements.change(
        `update rkat.approval set answer = $4
         where namespace = $1 and id = $2 and session_id = $3 and answer is null`,
        this.#namespace,
        approvalId,
        sessionId,
        text,
      );
      // The connection was lost before the answer came, which may have been that it is stored.
      return answered > 0 || (isAgain && (await this.answers([approvalId])).size > 0);
    });
  }

  async answers(approvalIds: readonly string[]): Promise<ReadonlyMap<string, ApprovalAnswer>> {
    const rows = await this.#database.rows<{ id: string; answer: string }>(
      `select id, answer from rkat.approval
       where namespace = $1 and id = any($2::text[]) and answer is not null`,
      this.#namespace,
      approvalIds,
    );
    return new Map(rows.map(({ id, answer }) => [id, storedAnswer(answer)]));
  }

  async remove(
    which: { readonly approvalIds: readonly string[] } | { readonly sessionId: string },
  ): Promise<void> {
    const isSession = "sessionId" in which;
    await this.#database.change(
      `delete from rkat.approval where namespace = $1 and ${isSession ? "session_id = $2" : "id = any($2::text[])"}`,
      this.#namespace,
      isSession ? which.sessionId : which.approvalIds,
    );
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

function columnsOf(approvals: readonly PendingApproval[]) {
  return [
    approvals.map(({ approvalId }) => approvalId),
    approvals.map(({ sessionId }) => sessionId),
    approvals.map((approval) => JSON.stringify(approval)),
  ] as const;
}
