import type { PendingApproval } from "../core/approval.ts";
import type { ApprovalStore } from "../core/approval-store.ts";
import type { ToolApprovalRequested } from "../core/event.ts";
import type { EventStore, PositionedEvent } from "../core/event-store.ts";
import type { Projection } from "../core/projection.ts";

/**
 * Keeps the list of the calls that wait in step with the log: for a process that
 * was killed between asking and telling.
 */
export class ApprovalIndex implements Projection {
  readonly name = "approvals";
  readonly #events: EventStore;
  readonly #approvals: ApprovalStore;

  constructor(events: EventStore, approvals: ApprovalStore) {
    this.#events = events;
    this.#approvals = approvals;
  }

  position(): Promise<number> {
    return this.#events.checkpoint(this.name);
  }

  async apply(events: readonly PositionedEvent[]): Promise<void> {
    const waiting = new Map<string, PendingApproval>();
    const resolved: string[] = [];
    for (const { sessionId, stored } of events) {
      const { event, timestamp_ms } = stored;
      if (event.type === "text_forgotten") await this.#replace(sessionId, event.events);
      if (event.type === "tool_approval_requested") {
        waiting.set(event.approval_id, pendingApproval(sessionId, event, timestamp_ms));
      } else if (event.type === "tool_approval_resolved") {
        waiting.delete(event.approval_id);
        resolved.push(event.approval_id);
      }
    }
    if (waiting.size > 0) await this.#approvals.add([...waiting.values()]);
    if (resolved.length > 0) await this.#approvals.remove({ approvalIds: resolved });
    const last = events.at(-1);
    if (last) await this.#events.saveCheckpoint(this.name, last.position);
  }

  /** What waits says what the log says of it now. */
  async #replace(sessionId: string, seqs: readonly number[]): Promise<void> {
    const asked: PendingApproval[] = [];
    for (const seq of seqs) {
      for await (const { event, timestamp_ms } of this.#events.read(sessionId, seq - 1, seq)) {
        if (event.type !== "tool_approval_requested") continue;
        asked.push(pendingApproval(sessionId, event, timestamp_ms));
      }
    }
    if (asked.length > 0) await this.#approvals.replace(asked);
  }
}

function pendingApproval(
  sessionId: string,
  { approval_id, id, name, args, goal }: ToolApprovalRequested,
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
  };
}
