import { type Approvals, approvalResolved } from "../agent/approvals.ts";
import { policyOf, stricter, type ToolPolicies } from "../agent/tool-policy.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import type { ApprovalAnswer, Approve, PendingApproval } from "../core/approval.ts";
import type { ApprovalStore } from "../core/approval-store.ts";
import type { SessionSettings } from "../core/event.ts";
import { joinSignals } from "../core/join-signals.ts";
import type { LiveSession } from "./live-session.ts";

export interface ApprovalOptions {
  /**
   * Policies by tool name or by a pattern such as `"shell_*"`. `"*"` means every tool except
   * rkat's own. Without a policy a call runs.
   */
  readonly policies?: ToolPolicies;
  /** Policies that make those stricter, and never looser: a call meets the stricter of both. */
  readonly atLeast?: ToolPolicies;
  /** Callback that asks the user. Any process may answer first, through `answerApproval`. */
  readonly approve?: Approve;
  /** How long a turn waits for an answer before it ends with `approval_required`. Default 600 000. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 600_000;

/** How often to look for answers from other processes. */
const POLL_MS = 250;

/** Where tool calls wait for approval. The first answer counts, from this process or another. */
export class ApprovalDesk {
  readonly #store: ApprovalStore;
  readonly #options: ApprovalOptions;
  readonly #onError: (error: unknown) => void;
  /** Wakes the waiting calls of this process, by approval id. */
  readonly #waiting = new Map<string, () => void>();
  /** The callback is asked about one call at a time. */
  #lastAsked: Promise<unknown> = Promise.resolve();

  constructor(store: ApprovalStore, options: ApprovalOptions, onError: (error: unknown) => void) {
    this.#store = store;
    this.#options = options;
    this.#onError = onError;
  }

  /** The approvals of a session. Its own policies can only be stricter than the service's. */
  of(settings: SessionSettings, tools: ToolSet): Approvals {
    const { policies = {}, atLeast = {} } = this.#options;
    return {
      policyOf: (name) => {
        const tool = { name, policy: tools.get(name)?.policy, builtin: tools.isBuiltin(name) };
        const { builtin } = tool;
        const own = policyOf({ name, builtin }, settings.approvals ?? {});
        return [own, policyOf({ name, builtin }, atLeast)].reduce(
          stricter,
          policyOf(tool, policies),
        );
      },
      ask: (approval, signal) => this.#ask(approval, signal),
      settled: (approvalIds) => this.#store.remove({ approvalIds }),
    };
  }

  /** Wakes the call that waits for this answer, if it waits here. */
  answered(approvalId: string): void {
    this.#waiting.get(approvalId)?.();
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

  async #ask(approval: PendingApproval, stopped: AbortSignal): Promise<ApprovalAnswer | undefined> {
    const { approvalId } = approval;
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    await this.#store.add([approval]);
    const over = new AbortController();
    const { signal, release } = joinSignals([stopped, over.signal], timeoutMs);
    try {
      const asked = this.#askHere(approval, signal);
      return await Promise.race([asked, this.#lookOut(approvalId, signal)]);
    } finally {
      over.abort();
      release();
      this.#waiting.delete(approvalId);
      stopped.throwIfAborted();
    }
  }

  /** Polls for an answer until there is one or `signal` aborts. */
  async #lookOut(approvalId: string, signal: AbortSignal): Promise<ApprovalAnswer | undefined> {
    for (;;) {
      const answer = (await this.#store.answers([approvalId])).get(approvalId);
      if (answer || signal.aborted) return answer;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, POLL_MS);
        function done() {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          resolve();
        }
        this.#waiting.set(approvalId, done);
        signal.addEventListener("abort", done);
      });
    }
  }

  /** Asks through the callback. Never resolves when the callback leaves the call to others. */
  async #askHere(
    approval: PendingApproval,
    signal: AbortSignal,
  ): Promise<ApprovalAnswer | undefined> {
    const { approve } = this.#options;
    const forever = new Promise<never>(() => {});
    if (!approve) return await forever;
    const { approvalId, sessionId } = approval;
    const before = this.#lastAsked;
    const asked = before.then(() => (signal.aborted ? undefined : approve(approval, { signal })));
    this.#lastAsked = asked.catch(() => {});
    const answer = await asked.catch((error: unknown) => {
      if (!signal.aborted) this.#onError(error);
      return undefined;
    });
    if (answer === "later") return undefined;
    if (!answer || signal.aborted) return await forever;
    if (await this.#store.answer(approvalId, sessionId, answer)) return answer;
    return (await this.#store.answers([approvalId])).get(approvalId) ?? answer;
  }
}
