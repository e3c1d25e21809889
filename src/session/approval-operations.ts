import { covers, type PendingApproval } from "../core/approval.ts";
import type { ApprovalStore } from "../core/approval-store.ts";
import { SessionError } from "../core/errors.ts";
import { isUsersWord } from "../core/event.ts";
import * as requests from "../core/requests.ts";
import type { Allowed, ApprovalAnswered } from "../core/session-service.ts";
import type { ApprovalDesk } from "./approval-desk.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { SessionWork } from "./session-work.ts";

interface Deps {
  readonly desk: ApprovalDesk;
  readonly live: LiveSessions;
  readonly work: SessionWork;
  /** Resolves when the store lists every call that waits according to the log. */
  projected(): Promise<void>;
  onError(error: unknown): void;
}

/** Lists the tool calls that wait for approval, takes answers, and takes back what an answer allowed. */
export class ApprovalOperations {
  readonly #store: ApprovalStore;
  readonly #deps: Deps;

  constructor(store: ApprovalStore, deps: Deps) {
    this.#store = store;
    this.#deps = deps;
  }

  async list(request: requests.ListApprovals): Promise<readonly PendingApproval[]> {
    const of = requests.parseRequest(requests.listApprovals, request);
    // On a full disk, for example, the list is what the store has.
    await this.#deps.projected().catch(this.#deps.onError);
    return await this.#store.list(of);
  }

  async answer(request: requests.AnswerApproval): Promise<ApprovalAnswered> {
    const checked = requests.parseRequest(requests.answerApproval, request);
    const { sessionId, approvalId, origin, ...given } = checked;
    const answer = isUsersWord(origin) ? given : { ...given, by: "model" as const };
    await this.#deps.live.open(sessionId);
    await this.#deps.projected();
    if (!(await this.#store.answer(approvalId, sessionId, answer))) {
      throw new SessionError("APPROVAL_NOT_FOUND", {
        message: `No pending approval has the id "${approvalId}".`,
      });
    }
    this.#deps.desk.answered(approvalId);
    const continues = await this.#isTaken(sessionId);
    const waiting = (await this.#store.list({ sessionId })).length;
    return { sessionId, continues, waiting };
  }

  async allowed(request: requests.SessionRequest): Promise<Allowed> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const { allowed } = (await this.#deps.live.open(sessionId)).state;
    return { allowed };
  }

  async revoke(request: requests.RevokeAllowed): Promise<Allowed> {
    const checked = requests.parseRequest(requests.revokeAllowed, request);
    const { sessionId, tool, command } = checked;
    const calls = command === undefined ? { tool } : { tool, command };
    const { allowed } = await this.#deps.work.change(sessionId, (state) =>
      state.allowed.some((known) => covers(calls, known))
        ? [{ type: "approval_revoked", ...calls }]
        : [],
    );
    return { allowed };
  }

  /** Whether a running turn takes the answer. When no turn runs, the answer goes into the log now. */
  async #isTaken(sessionId: string): Promise<boolean> {
    try {
      await this.#deps.work.run(sessionId, {}, async () => {});
      return false;
    } catch (error) {
      if (SessionError.is(error) && error.code === "SESSION_BUSY") return true;
      throw error;
    }
  }
}
