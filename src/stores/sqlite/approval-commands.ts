import type { ApprovalAnswer, PendingApproval } from "../../core/approval.ts";
import type { Connection } from "./connection.ts";

/** What the approval store asks of the database. Approvals and answers come back as JSON. */
export const approvalCommands = {
  addApprovals(db: Connection, namespace: string, approvals: readonly PendingApproval[]): void {
    db.write(() => {
      for (const approval of approvals) {
        db.run(
          `INSERT OR IGNORE INTO approval (namespace, id, session_id, approval) VALUES (?, ?, ?, ?)`,
          namespace,
          approval.approvalId,
          approval.sessionId,
          JSON.stringify(approval),
        );
      }
    });
  },

  replaceApprovals(db: Connection, namespace: string, approvals: readonly PendingApproval[]): void {
    db.write(() => {
      for (const approval of approvals) {
        db.run(
          "UPDATE approval SET approval = ? WHERE namespace = ? AND id = ?",
          JSON.stringify(approval),
          namespace,
          approval.approvalId,
        );
      }
    });
    db.emptyLog();
  },

  listApprovals(db: Connection, namespace: string, sessionId: string | null): readonly string[] {
    return db
      .all<{ approval: string }>(
        `SELECT approval FROM approval
         WHERE namespace = ?1 AND (?2 IS NULL OR session_id = ?2) AND answer IS NULL ORDER BY key`,
        namespace,
        sessionId,
      )
      .map(({ approval }) => approval);
  },

  answerApproval(
    db: Connection,
    namespace: string,
    id: string,
    sessionId: string,
    answer: ApprovalAnswer,
  ): boolean {
    return db.write(
      () =>
        db.run(
          `UPDATE approval SET answer = ?
           WHERE namespace = ? AND id = ? AND session_id = ? AND answer IS NULL`,
          JSON.stringify(answer),
          namespace,
          id,
          sessionId,
        ) > 0,
    );
  },

  approvalAnswers(
    db: Connection,
    namespace: string,
    ids: readonly string[],
  ): readonly { readonly id: string; readonly answer: string }[] {
    return db.all(
      `SELECT id, answer FROM approval
       WHERE namespace = ? AND id IN (SELECT value FROM json_each(?)) AND answer IS NOT NULL`,
      namespace,
      JSON.stringify(ids),
    );
  },

  removeApprovals(db: Connection, namespace: string, ids: readonly string[]): void {
    db.write(() => {
      for (const id of ids) {
        db.run("DELETE FROM approval WHERE namespace = ? AND id = ?", namespace, id);
      }
    });
  },

  removeSessionApprovals(db: Connection, namespace: string, sessionId: string): void {
    db.write(() =>
      db.run("DELETE FROM approval WHERE namespace = ? AND session_id = ?", namespace, sessionId),
    );
  },
};
