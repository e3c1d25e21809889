import type { ApprovalAnswer, PendingApproval } from "../../core/approval.ts";
import type { ApprovalStore } from "../../core/approval-store.ts";
import { storedAnswer, storedApproval } from "../stored-json.ts";
import {
  type Asking,
  change,
  changed,
  clean,
  insertAll,
  isIn,
  rows,
  type Sql,
  sql,
  table,
} from "./sql.ts";

/** Keeps what waits for approval, where every process may answer. */
export class SqlApprovalStore implements Asking<ApprovalStore> {
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  *add(approvals: readonly PendingApproval[]): Sql<void> {
    if (approvals.length === 0) return;
    const isKnown = sql`order by place on conflict (namespace, id) do nothing`;
    yield* change(insertAll("rkat.approval", this.#namespace, columnsOf(approvals), isKnown));
  }

  *replace(approvals: readonly PendingApproval[]): Sql<void> {
    if (approvals.length === 0) return;
    yield* change(sql`update rkat.approval as old set approval = replaced.approval
      from ${table("replaced", columnsOf(approvals))}
      where old.namespace = ${this.#namespace} and old.id = replaced.id`);
    yield* clean("rkat.approval");
  }

  *list({ sessionId }: { readonly sessionId?: string }): Sql<readonly PendingApproval[]> {
    const ofSession = sessionId === undefined ? sql`` : sql`and session_id = ${sessionId}`;
    const found = yield* rows<{ approval: string }>(sql`select approval from rkat.approval
      where namespace = ${this.#namespace} ${ofSession} and answer is null order by key`);
    return found.map(({ approval }) => storedApproval(approval));
  }

  *answer(approvalId: string, sessionId: string, answer: ApprovalAnswer): Sql<boolean> {
    const { count, isAgain } = yield* changed([
      sql`update rkat.approval set answer = ${JSON.stringify(answer)}
        where namespace = ${this.#namespace} and id = ${approvalId} and session_id = ${sessionId}
          and answer is null`,
    ]);
    // The answer that was lost may have been that it is stored.
    return count > 0 || (isAgain && (yield* this.answers([approvalId])).size > 0);
  }

  *answers(approvalIds: readonly string[]): Sql<ReadonlyMap<string, ApprovalAnswer>> {
    const found = yield* rows<{ id: string; answer: string }>(sql`select id, answer
      from rkat.approval
      where namespace = ${this.#namespace} and id ${isIn(approvalIds)} and answer is not null`);
    return new Map(found.map(({ id, answer }) => [id, storedAnswer(answer)]));
  }

  *remove(
    which: { readonly approvalIds: readonly string[] } | { readonly sessionId: string },
  ): Sql<void> {
    const going =
      "sessionId" in which
        ? sql`session_id = ${which.sessionId}`
        : sql`id ${isIn(which.approvalIds)}`;
    yield* change(sql`delete from rkat.approval where namespace = ${this.#namespace} and ${going}`);
  }
}

function columnsOf(approvals: readonly PendingApproval[]) {
  return {
    id: ["text", approvals.map(({ approvalId }) => approvalId)],
    session_id: ["text", approvals.map(({ sessionId }) => sessionId)],
    approval: ["text", approvals.map((approval) => JSON.stringify(approval))],
  } as const;
}
