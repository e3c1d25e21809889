import type { ElicitRequestFormParams, ElicitResult } from "@modelcontextprotocol/server";
import type { ApprovalAnswer } from "../../core/approval.ts";
import type { EventEnvelope, ToolApprovalRequested } from "../../core/event.ts";
import type { SessionService } from "../../core/session-service.ts";
import { visibleText } from "../../text/visible-text.ts";

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
    message: visibleText(`May ${name} run?\n\n${shown}${reason}`),
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
export function answerOf(response: unknown): ApprovalAnswer | undefined {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: unknown };
  if (action === "decline") return { decision: "deny" };
  const { decision, reason } = (content ?? {}) as { decision?: unknown; reason?: unknown };
  if (action !== "accept" || (decision !== "allow" && decision !== "deny")) return undefined;
  const given = typeof reason === "string" ? reason.trim().slice(0, REASON_MAX) : "";
  return { decision, ...(given === "" ? {} : { reason: given }) };
}
