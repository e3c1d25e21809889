import { covers } from "../core/approval.ts";
import { SessionError } from "../core/errors.ts";
import { isUsersWord } from "../core/event.ts";
import type { ApprovalOperations } from "../core/operations/approvals.ts";
import type { Part } from "./checked-operations.ts";
import type { ServiceCore } from "./service-core.ts";
import type { SessionWork } from "./session-work.ts";

/** Lists the tool calls that wait for approval, takes answers, and takes back what an answer allowed. */
export function approvalOperations({
  options,
  desk,
  live,
  work,
  outages,
  projected,
}: ServiceCore): Part<keyof ApprovalOperations> {
  const store = options.stores.approvals;
  const listing = {};
  return {
    async listApprovals(request) {
      // On a full disk, for example, the list is what the store has.
      await outages.attempt(listing, projected);
      return await store.list(request);
    },
    async answerApproval({ sessionId, approvalId, origin, ...given }) {
      const answer = isUsersWord(origin) ? given : { ...given, by: "model" as const };
      await live.open(sessionId);
      await projected();
      if (!(await store.answer(approvalId, sessionId, answer))) {
        throw new SessionError("APPROVAL_NOT_FOUND", {
          message: `No pending approval has the id "${approvalId}".`,
        });
      }
      desk.answered(approvalId);
      const continues = await isTaken(sessionId, work);
      const waiting = (await store.list({ sessionId })).length;
      return { sessionId, continues, waiting };
    },
    async allowedCalls({ sessionId }) {
      const { allowed } = (await live.open(sessionId)).state;
      return { allowed };
    },
    async revokeAllowed({ sessionId, ...calls }) {
      const { allowed } = await work.change(sessionId, (state) =>
        state.allowed.some((known) => covers(calls, known))
          ? [{ type: "approval_revoked", ...calls }]
          : [],
      );
      return { allowed };
    },
  };
}

/** Whether a running turn takes the answer. When no turn runs, the answer goes into the log now. */
async function isTaken(sessionId: string, work: SessionWork): Promise<boolean> {
  try {
    await work.run(sessionId, {}, async () => {});
    return false;
  } catch (error) {
    if (SessionError.is(error) && error.code === "SESSION_BUSY") return true;
    throw error;
  }
}
