import type { PendingApproval } from "../core/approval.ts";
import type { Capability } from "../core/capabilities.ts";
import type { ContextView } from "../core/context-view.ts";
import { SessionError } from "../core/errors.ts";
import type { EventEnvelope } from "../core/event.ts";
import type { HistoryHit } from "../core/event-store.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { MemoryEntry, MemoryHit, MemoryStats } from "../core/memory-store.ts";
import type { Pins } from "../core/pins.ts";
import type * as requests from "../core/requests.ts";
import type {
  ApprovalAnswered,
  CompactionOutcome,
  Distillation,
  MemoryForgotten,
  SessionCreated,
  SessionService,
  SessionSummary,
  SessionView,
  SubscribeOptions,
  TurnOptions,
  TurnResult,
} from "../core/session-service.ts";
import type { TaskView } from "../core/task.ts";

/**
 * Sessions that live as long as the process: turns work, lookups do not.
 *
 * It is a persistent service over stores that persist nothing, less the
 * operations that would pretend otherwise.
 */
export class EphemeralSessionService implements SessionService {
  readonly #sessions: SessionService;

  constructor(sessions: SessionService) {
    this.#sessions = sessions;
  }

  createSession(request: requests.CreateSession): Promise<SessionCreated> {
    return this.#sessions.createSession(request);
  }

  startTurn(request: requests.StartTurn, options?: TurnOptions): Promise<TurnResult> {
    return this.#sessions.startTurn(request, options);
  }

  interrupt(request: requests.SessionRequest): Promise<void> {
    return this.#sessions.interrupt(request);
  }

  compact(request: requests.CompactSession, options?: TurnOptions): Promise<CompactionOutcome> {
    return this.#sessions.compact(request, options);
  }

  updateTask(request: requests.UpdateTask): Promise<TaskView> {
    return this.#sessions.updateTask(request);
  }

  pin(request: requests.MessageRequest): Promise<Pins> {
    return this.#sessions.pin(request);
  }

  unpin(request: requests.MessageRequest): Promise<Pins> {
    return this.#sessions.unpin(request);
  }

  pins(request: requests.SessionRequest): Promise<Pins> {
    return this.#sessions.pins(request);
  }

  context(request: requests.SessionRequest): Promise<ContextView> {
    return this.#sessions.context(request);
  }

  subscribe(request: requests.Subscribe, options?: SubscribeOptions): AsyncIterable<EventEnvelope> {
    return this.#sessions.subscribe(request, options);
  }

  searchMemory(request: requests.SearchMemory): Promise<readonly MemoryHit[]> {
    return this.#sessions.searchMemory(request);
  }

  listMemory(request: requests.ListMemory): Promise<readonly MemoryEntry[]> {
    return this.#sessions.listMemory(request);
  }

  memoryStats(request: requests.MemoryStatsRequest): Promise<MemoryStats> {
    return this.#sessions.memoryStats(request);
  }

  forgetMemory(request: requests.ForgetMemory): Promise<MemoryForgotten> {
    return this.#sessions.forgetMemory(request);
  }

  listApprovals(request: requests.ListApprovals): Promise<readonly PendingApproval[]> {
    return this.#sessions.listApprovals(request);
  }

  answerApproval(request: requests.AnswerApproval): Promise<ApprovalAnswered> {
    return this.#sessions.answerApproval(request);
  }

  listKnowledge(request: requests.ListKnowledge): Promise<readonly KnowledgeEntry[]> {
    return this.#sessions.listKnowledge(request);
  }

  readKnowledge(request: requests.KnowledgeRequest): Promise<KnowledgeEntry> {
    return this.#sessions.readKnowledge(request);
  }

  addKnowledge(request: requests.AddKnowledge): Promise<KnowledgeEntry> {
    return this.#sessions.addKnowledge(request);
  }

  editKnowledge(request: requests.EditKnowledge): Promise<KnowledgeEntry> {
    return this.#sessions.editKnowledge(request);
  }

  forgetKnowledge(request: requests.KnowledgeRequest): Promise<void> {
    return this.#sessions.forgetKnowledge(request);
  }

  distillKnowledge(request: requests.DistillKnowledge): Promise<Distillation> {
    return this.#sessions.distillKnowledge(request);
  }

  async capabilities(): Promise<readonly Capability[]> {
    const all = await this.#sessions.capabilities();
    return all.filter((capability) => capability !== "session-store");
  }

  close(): Promise<void> {
    return this.#sessions.close();
  }

  resume(): Promise<TurnResult> {
    return disabled();
  }

  read(): Promise<SessionView> {
    return disabled();
  }

  list(): Promise<readonly SessionSummary[]> {
    return disabled();
  }

  archive(): Promise<void> {
    return disabled();
  }

  delete(): Promise<void> {
    return disabled();
  }

  searchHistory(): Promise<readonly HistoryHit[]> {
    return disabled();
  }
}

async function disabled(): Promise<never> {
  throw new SessionError("SESSION_PERSISTENCE_DISABLED");
}
