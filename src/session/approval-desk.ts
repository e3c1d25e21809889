import type { Approvals } from "../agent/approvals.ts";
import { policyOf, stricter, type ToolPolicies } from "../agent/tool-policy.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import type { ApprovalAnswer, Approve, PendingApproval } from "../core/approval.ts";
import type { ApprovalStore } from "../core/approval-store.ts";
import type { SessionSettings } from "../core/event.ts";

export interface ApprovalOptions {
  /**
   * What happens to calls of a tool, by its name or a pattern such as `"shell_*"`. `"*"` is for
   * all tools but those that rkat brings itself. Without any, every call runs.
   */
  readonly policies?: ToolPolicies;
  /** Asks somebody here. Others may answer meanwhile, in any process (`answerApproval`). */
  readonly approve?: Approve;
  /** How long a turn waits for an answer before it ends with `approval_required`. Default 600 000. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 600_000;

/** How often the answers are looked at that other processes may have given. */
const POLL_MS = 250;

/**
 * Where calls wait for approval: whoever answers first, here or in another
 * process, has answered.
 */
export class ApprovalDesk {
  readonly #store: ApprovalStore;
  readonly #options: ApprovalOptions;
  readonly #onError: (error: unknown) => void;
  /** Who waits here, by what they wait for. */
  readonly #waiting = new Map<string, () => void>();
  /** One call is asked for at a time. */
  #lastAsked: Promise<unknown> = Promise.resolve();

  constructor(store: ApprovalStore, options: ApprovalOptions, onError: (error: unknown) => void) {
    this.#store = store;
    this.#options = options;
    this.#onError = onError;
  }

  /** For the turns of a session. Its own policies make what the service says stricter, never looser. */
  of(settings: SessionSettings, tools: ToolSet): Approvals {
    const { policies = {} } = this.#options;
    return {
      policyOf: (name) => {
        const tool = { name, policy: tools.get(name)?.policy, builtin: tools.isBuiltin(name) };
        const own = policyOf({ name, builtin: tool.builtin }, settings.approvals ?? {});
        return stricter(policyOf(tool, policies), own);
      },
      ask: (approval, signal) => this.#ask(approval, signal),
      settled: (approvalIds) => this.#store.remove({ approvalIds }),
    };
  }

  /** An answer came in: whoever waits for it here need not look for it. */
  answered(approvalId: string): void {
    this.#waiting.get(approvalId)?.();
  }

  async #ask(approval: PendingApproval, stopped: AbortSignal): Promise<ApprovalAnswer | undefined> {
    const { approvalId } = approval;
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    await this.#store.add([approval]);
    const over = new AbortController();
    const signal = AbortSignal.any([stopped, over.signal]);
    const timer = setTimeout(() => over.abort(), timeoutMs);
    try {
      const asked = this.#askHere(approval, signal);
      return await Promise.race([asked, this.#lookOut(approvalId, signal)]);
    } finally {
      clearTimeout(timer);
      over.abort();
      this.#waiting.delete(approvalId);
      stopped.throwIfAborted();
    }
  }

  /** Looks for an answer until there is one, or `signal` aborts. */
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

  /** Asks through the callback. Resolves when it has answered, and never if it leaves the call to others. */
  async #askHere(
    approval: PendingApproval,
    signal: AbortSignal,
  ): Promise<ApprovalAnswer | undefined> {
    const { approve } = this.#options;
    const nobody = new Promise<never>(() => {});
    if (!approve) return await nobody;
    const { approvalId, sessionId } = approval;
    const before = this.#lastAsked;
    const asked = before.then(() => (signal.aborted ? undefined : approve(approval, { signal })));
    this.#lastAsked = asked.catch(() => {});
    const answer = await asked.catch((error: unknown) => {
      if (!signal.aborted) this.#onError(error);
      return undefined;
    });
    if (answer === "later") return undefined;
    if (!answer || signal.aborted) return await nobody;
    if (await this.#store.answer(approvalId, sessionId, answer)) return answer;
    return (await this.#store.answers([approvalId])).get(approvalId) ?? answer;
  }
}
