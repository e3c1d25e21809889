import type { ApprovalStore, PendingApproval } from "../core/approval.ts";
import type { ToolApprovalRequested } from "../core/event.ts";
import { type EventStore, isDeleted, type PositionedEvent } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import { LogProjection } from "./log-projection.ts";

/**
 * Keeps the list of waiting tool calls up to date with the log. It repairs the list after a
 * process was killed between the event and the list.
 */
export class ApprovalIndex extends LogProjection {
  readonly name = "approvals";
  readonly #approvals: ApprovalStore;

  constructor(events: EventStore, approvals: ApprovalStore) {
    super(events);
    this.#approvals = approvals;
  }

  protected async project(events: readonly PositionedEvent[]): Promise<void> {
    const waiting = new Map<string, PendingApproval>();
    const resolved: string[] = [];
    const deleted = new Set<string>();
    for (const { sessionId, stored } of events) {
      const { event, timestamp_ms } = stored;
      if (event.type === "text_forgotten") await this.#replace(sessionId, event.events);
      if (event.type === "tool_approval_requested") {
        waiting.set(event.approval_id, pendingApproval(sessionId, event, timestamp_ms));
      } else if (event.type === "tool_approval_resolved") {
        waiting.delete(event.approval_id);
        resolved.push(event.approval_id);
      } else if (event.type === "session_deleted") deleted.add(sessionId);
    }
    if (waiting.size > 0) await this.#approvals.add([...waiting.values()]);
    if (resolved.length > 0) await this.#approvals.remove({ approvalIds: resolved });
    for (const sessionId of deleted) {
      if (await isDeleted(sessionId, this.events)) await this.#approvals.remove({ sessionId });
    }
  }

  /** Updates the listed calls whose texts were forgotten. */
  async #replace(sessionId: string, seqs: readonly number[]): Promise<void> {
    const asked: PendingApproval[] = [];
    for (const seq of seqs) {
      for await (const { event, timestamp_ms } of this.events.read(sessionId, seq - 1, seq)) {
        if (event.type !== "tool_approval_requested") continue;
        asked.push(pendingApproval(sessionId, event, timestamp_ms));
      }
    }
    if (asked.length > 0) await this.#approvals.replace(asked);
  }
}

/** The call as the list shows it. */
export function pendingApproval(
  sessionId: string,
  { approval_id, id, name, args, goal, may_answer }: ToolApprovalRequested,
  timestampMs: number,
): PendingApproval {
  return {
    approvalId: approval_id,
    sessionId,
    toolUseId: id,
    tool: name,
    args,
    goal,
    requestedAt: new Date(timestampMs).toISOString(),
    ...given({ mayAnswer: may_answer }),
  };
}
