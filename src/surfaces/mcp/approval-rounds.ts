import {
  type ElicitRequestFormParams,
  type ElicitResult,
  type InputRequiredResult,
  inputRequired,
} from "@modelcontextprotocol/server";
import type { ApprovalAnswer } from "../../core/approval.ts";
import { SessionError } from "../../core/errors.ts";
import type { EventEnvelope, ToolApprovalRequested } from "../../core/event.ts";
import type { OperationName } from "../../core/operations.ts";
import type { SessionService } from "../../core/session-service.ts";
import { visibleCall } from "../../text/visible-text.ts";
import { callOperation } from "../call-operation.ts";
import { streamTurn } from "../turn-events.ts";

type Wire = Record<string, unknown>;

/** A request that starts a turn, or returns to one with answers. */
export interface Round {
  readonly operation: OperationName;
  readonly args: Readonly<Wire>;
  /** The forms that the host's user filled in, by approval id. */
  readonly responses: Readonly<Wire> | undefined;
  readonly signal: AbortSignal;
  send(event: EventEnvelope): Promise<void>;
}

/** Calls that come within this time are asked about together. */
const TOGETHER_MS = 20;
/** How long a turn's result is kept for a host that is still asking its user. */
const KEPT_MS = 60_000;

/**
 * Turns that ask the host's user between two requests, as MCP does from
 * 2026-07-28 on:
 *
 *     turn_start ──► a call waits ──► "input required", with forms
 *     turn_start again, with the filled forms ──► answers ──► … ──► the result
 *
 * The turn keeps running between the requests. When its process has ended, the
 * answers resume it.
 */
export class ApprovalRounds {
  readonly #service: SessionService;
  readonly #turns = new Map<string, RunningTurn>();

  constructor(service: SessionService) {
    this.#service = service;
  }

  async run(round: Round): Promise<Wire | InputRequiredResult> {
    const sessionId = String(round.args.session_id);
    const { operation, args, responses } = round;
    const running = this.#turns.get(sessionId);
    if (!responses) {
      const turn = this.#begin(operation, args);
      // When a turn already runs, the service refuses this one, and the other must stay known.
      if (!running || running.hasEnded) this.#keep(sessionId, turn);
      return await this.#follow(sessionId, turn, round);
    }
    await this.#answer(sessionId, responses);
    const turn = running ?? this.#begin("resume", { session_id: sessionId });
    if (!running) this.#keep(sessionId, turn);
    return await this.#follow(sessionId, turn, round);
  }

  #begin(operation: OperationName, args: Readonly<Wire>): RunningTurn {
    return new RunningTurn((signal, onEvent) =>
      callOperation(this.#service, operation, args, { signal, onEvent }),
    );
  }

  #keep(sessionId: string, turn: RunningTurn): void {
    this.#turns.set(sessionId, turn);
    const forget = () =>
      void (this.#turns.get(sessionId) === turn && this.#turns.delete(sessionId));
    const forgetLater = () => setTimeout(forget, KEPT_MS).unref();
    turn.done.then(forgetLater, forgetLater);
  }

  /** Follows a turn until it ends or asks. */
  async #follow(
    sessionId: string,
    turn: RunningTurn,
    { signal, send }: Round,
  ): Promise<Wire | InputRequiredResult> {
    const interrupt = () => turn.interrupt(signal.reason);
    signal.addEventListener("abort", interrupt);
    if (signal.aborted) interrupt();
    try {
      const next = await streamTurn(this.#service, sessionId, send, (onEvent) =>
        turn.next(onEvent),
      );
      if ("asked" in next) return formsFor(next.asked);
      if (this.#turns.get(sessionId) === turn) this.#turns.delete(sessionId);
      return next.result;
    } finally {
      signal.removeEventListener("abort", interrupt);
    }
  }

  async #answer(sessionId: string, responses: Readonly<Wire>): Promise<void> {
    for (const [approvalId, response] of Object.entries(responses)) {
      const answer = answerOf(response);
      if (!answer) continue;
      try {
        await this.#service.answerApproval({ sessionId, approvalId, ...answer });
      } catch (error) {
        // It was already answered elsewhere.
        if (!SessionError.is(error) || error.code !== "APPROVAL_NOT_FOUND") throw error;
      }
    }
  }
}

type Run = (signal: AbortSignal, onEvent: (event: EventEnvelope) => void) => Promise<Wire>;

/** A turn that outlives the request that started it. */
class RunningTurn {
  readonly done: Promise<Wire>;
  hasEnded = false;
  readonly #controller = new AbortController();
  /** Waiting calls that the user was not asked about yet. */
  readonly #unasked = new Map<string, ToolApprovalRequested>();
  #onEvent: (event: EventEnvelope) => void = () => {};
  #wake = () => {};

  constructor(run: Run) {
    this.done = run(this.#controller.signal, (event) => this.#receive(event));
    const end = () => {
      this.hasEnded = true;
    };
    // A failure before anything awaits `done` must not be an unhandled rejection.
    this.done.then(end, end);
  }

  interrupt(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Resolves when the turn ends or asks. */
  async next(
    onEvent: (event: EventEnvelope) => void,
  ): Promise<{ readonly result: Wire } | { readonly asked: readonly ToolApprovalRequested[] }> {
    this.#onEvent = onEvent;
    try {
      const ended = this.done.then((result) => ({ result }));
      return await Promise.race([ended, this.#asks()]);
    } finally {
      this.#onEvent = () => {};
    }
  }

  async #asks(): Promise<{ readonly asked: readonly ToolApprovalRequested[] }> {
    while (this.#unasked.size === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await new Promise((resolve) => setTimeout(resolve, TOGETHER_MS));
    }
    const asked = [...this.#unasked.values()];
    this.#unasked.clear();
    return { asked };
  }

  #receive(event: EventEnvelope): void {
    const { payload } = event;
    this.#onEvent(event);
    if (payload.type === "tool_approval_resolved") this.#unasked.delete(payload.approval_id);
    if (payload.type !== "tool_approval_requested") return;
    this.#unasked.set(payload.approval_id, payload);
    this.#wake();
  }
}

function formsFor(asked: readonly ToolApprovalRequested[]): InputRequiredResult {
  return inputRequired({
    inputRequests: Object.fromEntries(
      asked.map((call) => [call.approval_id, inputRequired.elicit(formFor(call))]),
    ),
  });
}

/** Shows the host's user a form and returns the filled form. */
export type Elicit = (
  form: ElicitRequestFormParams,
  options: { readonly signal: AbortSignal },
) => Promise<ElicitResult>;

/**
 * Asks the host's user about the waiting calls of a running turn, one after the
 * other, as MCP does up to 2025-11-25. A form that is closed answers nothing: the
 * call can still be answered elsewhere.
 */
export class ApprovalForms {
  readonly #service: Pick<SessionService, "answerApproval">;
  readonly #sessionId: string;
  readonly #elicit: Elicit;
  /** Forms that are open or queued, by approval id. */
  readonly #open = new Map<string, AbortController>();
  #lastAsked: Promise<unknown> = Promise.resolve();

  constructor(service: Pick<SessionService, "answerApproval">, sessionId: string, elicit: Elicit) {
    this.#service = service;
    this.#sessionId = sessionId;
    this.#elicit = elicit;
  }

  readonly onEvent = ({ payload }: EventEnvelope): void => {
    if (payload.type === "tool_approval_requested") this.#ask(payload);
    if (payload.type === "tool_approval_resolved") this.#close(payload.approval_id);
  };

  /** The turn has ended, so all forms are closed. */
  end(): void {
    for (const approvalId of [...this.#open.keys()]) this.#close(approvalId);
  }

  #ask(requested: ToolApprovalRequested): void {
    const controller = new AbortController();
    this.#open.set(requested.approval_id, controller);
    this.#lastAsked = this.#lastAsked
      .then(() => this.#askNow(requested, controller.signal))
      // The host could not show the form, or the call was answered elsewhere.
      .catch(() => {});
  }

  async #askNow(requested: ToolApprovalRequested, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const answer = answerOf(await this.#elicit(formFor(requested), { signal }));
    if (!answer || signal.aborted) return;
    const { approval_id: approvalId } = requested;
    await this.#service.answerApproval({ sessionId: this.#sessionId, approvalId, ...answer });
  }

  #close(approvalId: string): void {
    this.#open.get(approvalId)?.abort();
    this.#open.delete(approvalId);
  }
}

const ARGUMENTS_SHOWN = 2000;
const REASON_MAX = 2000;

/** The form that asks whether a call may run. */
export function formFor({ name, args, goal }: ToolApprovalRequested): ElicitRequestFormParams {
  const all = JSON.stringify(args, null, 2) ?? "";
  const left = all.length - ARGUMENTS_SHOWN;
  const note = `\n… ${left} more characters are not shown here. \`rkat approvals\` shows all of it.`;
  const shown = left > 0 ? `${all.slice(0, ARGUMENTS_SHOWN)}${note}` : all;
  const reason = goal === "" ? "" : `\n\nFor: ${goal}`;
  return {
    mode: "form",
    message: visibleCall(`May ${name} run?\n\n${shown}${reason}`),
    requestedSchema: {
      type: "object",
      properties: {
        decision: { type: "string", title: "Decision", enum: ["allow", "deny"] },
        reason: {
          type: "string",
          title: "Reason",
          description: "Why you deny it. The agent reads this, and the project learns from it.",
        },
      },
      required: ["decision"],
    },
  };
}

/** The answer in a host's response. Undefined when the form was closed, or the response is not valid. */
function answerOf(response: unknown): ApprovalAnswer | undefined {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: unknown };
  if (action === "decline") return { decision: "deny" };
  const { decision, reason } = (content ?? {}) as { decision?: unknown; reason?: unknown };
  if (action !== "accept" || (decision !== "allow" && decision !== "deny")) return undefined;
  const given = typeof reason === "string" ? reason.trim().slice(0, REASON_MAX) : "";
  return { decision, ...(given === "" ? {} : { reason: given }) };
}
