import type { EventEnvelope } from "./event.ts";
import type { ApprovalOperations } from "./operations/approvals.ts";
import type { BringBackOperations } from "./operations/bring-back.ts";
import type { CostOperations } from "./operations/cost.ts";
import type { ForkOperations } from "./operations/forks.ts";
import type { HistoryOperations } from "./operations/history.ts";
import type { ImportOperations } from "./operations/imports.ts";
import type { KnowledgeOperations } from "./operations/knowledge.ts";
import type { MemoryOperations } from "./operations/memory.ts";
import type { Capability } from "./operations/operation.ts";
import type { SessionOperations, Subscribe, SubscribeOptions } from "./operations/sessions.ts";
import type { SourceOperations } from "./operations/sources.ts";
import type { TurnOperations } from "./operations/turns.ts";
import type { WorkingMemoryOperations } from "./operations/working-memory.ts";

/**
 * Everything that can be done with sessions. The SDK, the CLI, JSON-RPC, REST and MCP all call this
 * interface.
 *
 * Contract:
 * - Creating a session and running a turn work with every set of capabilities.
 * - What needs a capability that is not there fails with that capability's code.
 * - A session runs one turn at a time, over all processes; a second one is `SESSION_BUSY`.
 * - An event is in the log before a listener sees it.
 * - A listener that throws or rejects does not end the turn.
 * - A turn that fails or is interrupted leaves a session that the next turn can go on with.
 * - The task record, pins and what they keep survive compaction and everything being closed.
 * - No message is outside all tiers: it is in the history, or it left and a search finds it.
 * - A compaction can be undone, with what was said since, and the undo too.
 * - A fork's next request is the one that the other session would have made at that event, and stays so when the other is deleted.
 * - What is brought back is in the next request, whole, and leaves with the next compaction unless it is pinned.
 * - A record that was refused does not come back by itself in that session, until the refusal is taken back.
 * - What was made of messages leads to them, and they lead to what was made of them.
 * - Every request is checked here; a bad one is `INVALID_PARAMS`.
 * - A transcript is imported once, for one user, and what was forgotten of it stays forgotten.
 * - What belongs to one user is not found, listed, searched, told or changed for another, nor without a user.
 */
export interface SessionService
  extends SessionOperations,
    TurnOperations,
    ImportOperations,
    HistoryOperations,
    ForkOperations,
    BringBackOperations,
    WorkingMemoryOperations,
    CostOperations,
    MemoryOperations,
    SourceOperations,
    ApprovalOperations,
    KnowledgeOperations {
  /**
   * Events as they happen, after the earlier ones if `afterSeq` asks for them. Ends when `signal` aborts, or the service
   * is closed.
   */
  subscribe(request: Subscribe, options?: SubscribeOptions): AsyncIterable<EventEnvelope>;
  capabilities(): Promise<readonly Capability[]>;
  /**
   * The same service for one user: their sessions, memory, knowledge, logs and approvals, and
   * nothing else. A session of another user is `SESSION_NOT_FOUND`. It ends with this service.
   *
   * @throws SessionError `INVALID_PARAMS`; `USER_NOT_ALLOWED` when this service acts for another
   *   user; `SESSION_USERS_DISABLED` when its stores cannot keep users apart. A client of a surface
   *   throws the last two with its first request.
   */
  forUser(user: string): SessionService;
  /**
   * Interrupts running turns, ends subscriptions and finishes the projections. The stores stay open. The service changes
   * nothing more: `AGENT_ERROR`.
   */
  close(): Promise<void>;
}
