import { approvalResolved } from "../agent/approvals.ts";
import type { PendingApproval } from "../core/approval.ts";
import type { ApprovalStore } from "../core/approval-store.ts";
import { SessionError } from "../core/errors.ts";
import * as requests from "../core/requests.ts";
import type { ApprovalAnswered } from "../core/session-service.ts";
import type { SessionState } from "../core/session-state.ts";
import type { ApprovalDesk } from "./approval-desk.ts";
import type { LiveSession } from "./live-session.ts";

interface Sessions {
  /** @throws SessionError `SESSION_NOT_FOUND` */
  open(sessionId: string): Promise<LiveSession>;
  /** Takes up what waits in a session; `SESSION_BUSY` when a turn runs in it, wherever. */
  takeUp(sessionId: string): Promise<SessionState>;
  /** Resolves when the stores know all that the log says. */
  projected(): Promise<void>;
}

/** What a service does with the calls that wait for approval. */
export class ApprovalOperations {
  readonly #store: ApprovalStore;
  readonly #desk: ApprovalDesk;
  readonly #sessions: Sessions;

  constructor(store: ApprovalStore, desk: ApprovalDesk, sessions: Sessions) {
    this.#store = store;
    this.#desk = desk;
    this.#sessions = sessions;
  }

  async list(request: requests.ListApprovals): Promise<readonly PendingApproval[]> {
    const of = requests.parseRequest(requests.listApprovals, request);
    await this.#sessions.projected();
    return await this.#store.list(of);
  }

  async answer(request: requests.AnswerApproval): Promise<ApprovalAnswered> {
    const checked = requests.parseRequest(requests.answerApproval, request);
    const { sessionId, approvalId, ...answer } = checked;
    await this.#sessions.open(sessionId);
    await this.#sessions.projected();
    if (!(await this.#store.answer(approvalId, sessionId, answer))) {
      throw new SessionError("APPROVAL_NOT_FOUND", {
        message: `No pending approval has the id "${approvalId}".`,
      });
    }
    this.#desk.answered(approvalId);
    const continues = await this.#isTaken(sessionId);
    const waiting = (await this.#store.list({ sessionId })).length;
    return { sessionId, continues, waiting };
  }

  /** Puts answers into the log that came while no turn ran. */
  async takeAnswers(session: LiveSession): Promise<void> {
    const open = session.state.waiting.all.filter(({ answer }) => answer === undefined);
    if (open.length === 0) return;
    const answers = await this.#store.answers(open.map(({ approvalId }) => approvalId));
    if (answers.size === 0) return;
    await session.commit(
      open.flatMap((waiting) => {
        const answer = answers.get(waiting.approvalId);
        const call = { id: waiting.toolUseId, name: waiting.tool };
        return answer ? [approvalResolved(call, waiting, answer)] : [];
      }),
    );
    await this.#store.remove({ approvalIds: [...answers.keys()] });
  }

  /** Whether a turn that runs takes the answer; where none does, it goes into the log now. */
  async #isTaken(sessionId: string): Promise<boolean> {
    try {
      await this.#sessions.takeUp(sessionId);
      return false;
    } catch (error) {
      if (SessionError.is(error) && error.code === "SESSION_BUSY") return true;
      throw error;
    }
  }
}
