import {
  type Approvals,
  approvalResolved,
  type GivenAnswer,
  type Verdict,
} from "../agent/approvals.ts";
import { policyOf, stricter, type ToolPolicies } from "../agent/tool-policy.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import {
  type AllowedCalls,
  type AllowedFor,
  ANSWERERS,
  type Answerer,
  type ApprovalStore,
  type Approve,
  covers,
  type PendingApproval,
  type ProjectApprovals,
  TOOL_POLICIES,
  type ToolPolicy,
} from "../core/approval.ts";
import { errorText } from "../core/errors.ts";
import { joinSignals } from "../core/join-signals.ts";
import type { ToolUse } from "../core/message.ts";
import { exactAnswer, exactlyAllowed } from "../core/options.ts";
import type { SessionState } from "../core/session-state.ts";
import type { Outages } from "../core/warn.ts";
import type { LiveSession } from "./live-sessions.ts";

export interface ApprovalOptions {
  /**
   * Policies by tool name or by a pattern such as `"shell_*"`. `"*"` means every tool except
   * rkat's own. Without a policy a call runs.
   */
  readonly policies?: ToolPolicies;
  /** Policies that make those stricter, and never looser: a call meets the stricter of both. */
  readonly atLeast?: ToolPolicies;
  /** The calls that the user has allowed for good. They are not asked about; a denial by a policy stays. */
  readonly allowed?: ProjectApprovals;
  /** Callback that asks the user. Any process may answer first, through `answerApproval`. */
  readonly approve?: Approve;
  /**
   * Who may answer a waiting call through `answerApproval`. A user always may. `["user", "model"]`: so may a client
   * that is a model, such as a coding agent over MCP. Default `["user"]`.
   */
  readonly answerers?: readonly Answerer[];
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
  readonly #outages: Outages;
  /** Wakes the waiting calls of this process, by approval id. */
  readonly #waiting = new Map<string, () => void>();
  /** The callback is asked about one call at a time. */
  #lastAsked: Promise<unknown> = Promise.resolve();

  constructor(store: ApprovalStore, options: ApprovalOptions, outages: Outages) {
    this.#store = store;
    this.#options = options;
    this.#outages = outages;
  }

  /** The approvals of a session. Its own policies can only be stricter than the service's. */
  of(state: Pick<SessionState, "settings" | "allowed">, tools: ToolSet): Approvals {
    const { policies = {}, atLeast = {}, allowed } = this.#options;
    // By approval, until the log has the answer.
    const given = new Map<string, AllowedCalls>();
    const isAllowed = (calls: AllowedCalls | undefined) =>
      calls !== undefined &&
      [...given.values(), ...state.allowed, ...allowedForGood(allowed)].some((known) =>
        covers(known, calls),
      );
    return {
      mayAnswer: answerersOf(this.#options),
      judge: (call): Verdict => {
        const { name } = call;
        const builtin = tools.isBuiltin(name);
        const own = ownPolicy(call, tools);
        const tool = { name, policy: own.policy, builtin };
        const policy = [state.settings.approvals ?? {}, atLeast]
          .map((policies) => policyOf({ name, builtin }, policies))
          .reduce(stricter, policyOf(tool, policies));
        if (policy === "ask") return { policy: isAllowed(alwaysOf(call, tools)) ? "allow" : "ask" };
        return policy === "deny" ? { ...own, policy } : { policy };
      },
      ask: (approval, signal) => {
        const { tool: name, args } = approval;
        const always = alwaysOf({ name, args }, tools);
        const question = {
          approval,
          always,
          isAllowed: () => isAllowed(always),
          allow: (calls: AllowedCalls) => void given.set(approval.approvalId, calls),
        };
        return this.#ask(question, signal);
      },
      settled: (approvalIds) => {
        for (const approvalId of approvalIds) given.delete(approvalId);
        return this.#store.remove({ approvalIds });
      },
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
    const answers = await this.#answers(open.map(({ approvalId }) => approvalId));
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

  async #ask(question: Question, stopped: AbortSignal): Promise<GivenAnswer | undefined> {
    if (question.isAllowed()) return { decision: "allow", by: "settings" };
    const { approval } = question;
    const { approvalId } = approval;
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    await this.#store.add([approval]);
    const over = new AbortController();
    const { signal, release } = joinSignals([stopped, over.signal], timeoutMs);
    try {
      const asked = this.#askHere(question, signal);
      return await Promise.race([asked, this.#lookOut(approvalId, signal)]);
    } finally {
      over.abort();
      release();
      this.#waiting.delete(approvalId);
      stopped.throwIfAborted();
    }
  }

  /** The answers in the store, which may be another program's. */
  async #answers(approvalIds: readonly string[]): Promise<ReadonlyMap<string, GivenAnswer>> {
    const found = await this.#store.answers(approvalIds);
    return new Map([...found].map(([id, answer]) => [id, exactAnswer(answer)]));
  }

  /** Polls for an answer until there is one or `signal` aborts. */
  async #lookOut(approvalId: string, signal: AbortSignal): Promise<GivenAnswer | undefined> {
    for (;;) {
      const answer = (await this.#answers([approvalId])).get(approvalId);
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
  async #askHere(question: Question, signal: AbortSignal): Promise<GivenAnswer | undefined> {
    const forever = new Promise<never>(() => {});
    if (!this.#options.approve) return await forever;
    const asked = this.#lastAsked
      .then(() => this.#outages.watch(this, () => this.#askUser(question, signal)))
      .catch((error: unknown) => {
        if (!signal.aborted) this.#outages.failed(this, error);
        return "left to others" as const;
      });
    this.#lastAsked = endOrLeave(asked, signal);
    const answer = await asked;
    if (answer === "later") return undefined;
    return answer === "left to others" ? await forever : answer;
  }

  async #askUser(
    { approval, always, isAllowed, allow }: Question,
    signal: AbortSignal,
  ): Promise<GivenAnswer | "later" | "left to others"> {
    if (signal.aborted) return "left to others";
    // The answer to the call before may have allowed this one too.
    const answer: unknown = isAllowed()
      ? ({ decision: "allow", by: "settings" } as const)
      : await this.#options.approve?.(approval, { signal, ...(always ? { always } : {}) });
    if (answer === "later") return "later";
    if (answer === undefined || signal.aborted) return "left to others";
    const { approvalId, sessionId } = approval;
    const { always: howLong, ...plain } = exactAnswer(answer);
    if (!(await this.#store.answer(approvalId, sessionId, plain))) {
      return (await this.#answers([approvalId])).get(approvalId) ?? plain;
    }
    if (!howLong || !always || plain.decision !== "allow") return plain;
    allow(always);
    return { ...plain, allows: { ...always, for: await this.#remember(always, howLong) } };
  }

  /** Returns how long the calls stay allowed. What cannot be stored holds for the session. */
  async #remember(calls: AllowedCalls, howLong: AllowedFor): Promise<AllowedFor> {
    const { allowed } = this.#options;
    if (howLong === "session" || !allowed) return "session";
    const kept = await this.#outages.attempt(allowed, async () => {
      allowed.add(calls);
      return "project" as const;
    });
    return kept ?? "session";
  }
}

/** How long the next question waits for a callback whose signal has aborted. */
const LEAVE_MS = 250;

/** Resolves when a callback has ended, or some time after its signal has aborted: it may never end. */
function endOrLeave(asked: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const leave = () => {
      timer = setTimeout(resolve, LEAVE_MS);
    };
    signal.addEventListener("abort", leave, { once: true });
    void asked.finally(() => {
      signal.removeEventListener("abort", leave);
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The kinds of clients that may answer: a user, and those that the options name. */
export function answerersOf({ answerers = [] }: ApprovalOptions): readonly Answerer[] {
  return ANSWERERS.filter((who) => who === "user" || answerers.includes(who));
}

interface Question {
  readonly approval: PendingApproval;
  /** The calls that "always" allows; undefined when there is no "always". */
  readonly always: AllowedCalls | undefined;
  isAllowed(): boolean;
  /** Allows calls before the log has the answer. */
  allow(calls: AllowedCalls): void;
}

/** The calls that "always" allows after this one. A tool that fails to say so has no "always". */
function alwaysOf({ name, args }: Pick<ToolUse, "name" | "args">, tools: ToolSet) {
  const tool = tools.get(name);
  if (!tool) return undefined;
  if (!tool.always) return { tool: name };
  try {
    return exactlyAllowed(tool.always(args));
  } catch {
    return undefined;
  }
}

/** The policy of the tool itself for a call. What is not exactly a policy denies the call. */
function ownPolicy(
  { name, args }: Pick<ToolUse, "name" | "args">,
  tools: ToolSet,
): { readonly policy?: ToolPolicy; readonly reason?: string } {
  const own = tools.get(name)?.policy;
  if (own === undefined) return {};
  try {
    const said: unknown = typeof own === "function" ? own(args) : own;
    if (said === undefined) return {};
    const policy = TOOL_POLICIES.find((known) => known === said);
    return policy ? { policy } : { policy: "deny", reason: `Its policy is ${quoted(said)}.` };
  } catch (error) {
    return { policy: "deny", reason: `Its policy could not be decided: ${errorText(error)}` };
  }
}

function quoted(value: unknown): string {
  return typeof value === "string" ? `"${value}"` : `a value of type ${typeof value}`;
}

/** The calls that the user allowed in the project. A list that cannot be read allows nothing. */
function allowedForGood(allowed: ProjectApprovals | undefined): readonly AllowedCalls[] {
  try {
    return [...(allowed?.list() ?? [])].flatMap((calls) => exactlyAllowed(calls) ?? []);
  } catch {
    return [];
  }
}
