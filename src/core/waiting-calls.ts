import type { Answerer, ApprovalAnswer } from "./approval.ts";
import type { StoredEvent } from "./event.ts";
import { given } from "./fields.ts";

/** A tool call that needed approval and has not begun. */
export interface WaitingCall {
  readonly approvalId: string;
  readonly toolUseId: string;
  readonly tool: string;
  /** `seq` of the request for approval. */
  readonly request: number;
  /** The user's goal, shortened. */
  readonly goal: string;
  /** ISO 8601. */
  readonly requestedAt: string;
  readonly mayAnswer?: readonly Answerer[];
  /** Set when the log has the answer. */
  readonly answer?: ApprovalAnswer;
}

/** The calls of a session that wait for approval: a fold of its log. */
export class WaitingCalls {
  readonly #byCall = new Map<string, WaitingCall>();

  get all(): readonly WaitingCall[] {
    return [...this.#byCall.values()];
  }

  get(toolUseId: string): WaitingCall | undefined {
    return this.#byCall.get(toolUseId);
  }

  push({ seq, timestamp_ms, event }: StoredEvent): void {
    switch (event.type) {
      case "tool_approval_requested":
        this.#byCall.set(event.id, {
          approvalId: event.approval_id,
          toolUseId: event.id,
          tool: event.name,
          request: seq,
          goal: event.goal,
          requestedAt: new Date(timestamp_ms).toISOString(),
          ...given({ mayAnswer: event.may_answer }),
        });
        return;
      case "tool_approval_resolved": {
        const waiting = this.#byCall.get(event.id);
        if (!waiting) return;
        const { decision, reason, by } = event;
        const answer: ApprovalAnswer = {
          decision,
          ...(reason === undefined ? {} : { reason }),
          ...(by === "settings" || by === "model" ? { by } : {}),
        };
        this.#byCall.set(event.id, { ...waiting, answer });
        return;
      }
      case "tool_execution_started":
      case "tool_execution_completed":
        this.#byCall.delete(event.id);
    }
  }
}
