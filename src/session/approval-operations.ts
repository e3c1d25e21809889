import { covers, type PendingApproval } from "../core/approval.ts";
import { SessionError } from "../core/errors.ts";
import { isUsersWord, type Origin } from "../core/event.ts";
import type { ApprovalOperations } from "../core/operations/approvals.ts";
import { answerersOf } from "./approval-desk.ts";
import type { Part, ServiceCore } from "./service-core.ts";
import type { SessionOptions } from "./service-options.ts";
import type { SessionWork } from "./session-work.ts";

/** Lists the tool calls that wait for approval, takes answers, and takes back what an answer allowed. */
export function approvalOperations({
  options,
  desk,
  live,
  work,
  projected,
  wait,
}: ServiceCore): Part<keyof ApprovalOperations> {
  const store = options.stores.approvals;
  return {
    async listApprovals(request) {
      // The list is what the store has, on a full disk for example, or when there is much to do.
      await wait.isDone();
      return await store.list(request);
    },
    async answerApproval({ sessionId, approvalId, origin, ...given }) {
      await live.open(sessionId);
      await projected();
      const by = answererOf(origin);
      if (by === "model") requireModel(approvalId, await store.list({ sessionId }), options);
      const answer = by === "user" ? given : { ...given, by };
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

/** The author of an answer. The word of a program or a file is no user's. */
function answererOf(origin: Origin | undefined): "user" | "model" | "settings" {
  if (isUsersWord(origin)) return "user";
  return origin?.author === undefined || origin.author === "model" ? "model" : "settings";
}

/**
 * A model may not answer what waits for a person, unless the request or this service says so.
 *
 * @throws SessionError `NOT_POSSIBLE`
 */
function requireModel(
  approvalId: string,
  waiting: readonly PendingApproval[],
  { approvals = {} }: Pick<SessionOptions, "approvals">,
): void {
  const pending = waiting.find((one) => one.approvalId === approvalId);
  if (!pending || pending.mayAnswer?.includes("model")) return;
  if (answerersOf(approvals).includes("model")) return;
  throw new SessionError("NOT_POSSIBLE", {
    message: `The call of ${pending.tool} waits for a person's approval. A model may not answer it.`,
    hint: 'Answer it yourself: `rkat approvals list`. To let this client answer, start it with `rkat mcp --may-approve`, or pass `approvals: { answerers: ["user", "model"] }`.',
  });
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
