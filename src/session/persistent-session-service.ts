import { supersededEvents } from "../agent/approvals.ts";
import { runCompaction } from "../agent/run-compaction.ts";
import { runTurn } from "../agent/run-turn.ts";
import type { PendingApproval } from "../core/approval.ts";
import type { ApprovalStore } from "../core/approval-store.ts";
import type { Capability } from "../core/capabilities.ts";
import type { ContextView } from "../core/context-view.ts";
import { SessionError } from "../core/errors.ts";
import type { EventEnvelope } from "../core/event.ts";
import type { HistoryHit } from "../core/event-store.ts";
import { newId } from "../core/ids.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { MemoryEntry, MemoryHit, MemoryStats } from "../core/memory-store.ts";
import type { Pins } from "../core/pins.ts";
import * as requests from "../core/requests.ts";
import type {
  ApprovalAnswered,
  CompactionOutcome,
  Distillation,
  MemoryForgotten,
  MemoryOperations,
  SessionCreated,
  SessionService,
  SessionSummary,
  SessionView,
  SubscribeOptions,
  TurnOptions,
  TurnResult,
} from "../core/session-service.ts";
import { SessionState } from "../core/session-state.ts";
import type { TaskView } from "../core/task.ts";
import { warn } from "../core/warn.ts";
import { type ForgettingDeps, forgetMemory } from "../forgetting/forget-memory.ts";
import { ApprovalIndex } from "../projections/approval-index.ts";
import { KnowledgeRecorder } from "../projections/knowledge-recorder.ts";
import { MemoryIndex } from "../projections/memory-index.ts";
import { ProjectionRunner } from "../projections/projection-runner.ts";
import { SessionFiles } from "../projections/session-files.ts";
import { ApprovalDesk } from "./approval-desk.ts";
import { ApprovalOperations } from "./approval-operations.ts";
import { KnowledgeOperations } from "./knowledge-operations.ts";
import { LiveSession } from "./live-session.ts";
import { LiveSessions } from "./live-sessions.ts";
import { memoryOperations } from "./memory-operations.ts";
import { openingEvents } from "./opening-events.ts";
import { learningOf, memoryOf, type ServiceOptions } from "./service-options.ts";
import { compactionOutcome, sessionSummary, sessionView } from "./session-view.ts";
import { SessionWork } from "./session-work.ts";
import { subscription } from "./subscription.ts";
import { TurnParts } from "./turn-parts.ts";
import { WorkingMemoryOperations } from "./working-memory-operations.ts";

const LIST_LIMIT_DEFAULT = 20;
const SEARCH_LIMIT_DEFAULT = 10;

export type PersistentOptions = ServiceOptions & {
  readonly stores: NonNullable<ServiceOptions["stores"]> & { readonly approvals: ApprovalStore };
};

/** Sessions that outlive the process, in stores that several processes may share. */
export class PersistentSessionService implements SessionService {
  readonly #options: PersistentOptions;
  readonly #live: LiveSessions;
  readonly #parts: TurnParts;
  readonly #working: WorkingMemoryOperations;
  readonly #projections: ProjectionRunner;
  readonly #files: SessionFiles | undefined;
  readonly #knowledge: KnowledgeOperations;
  readonly #capabilities: readonly Capability[];
  readonly #memory: MemoryOperations;
  readonly #forgetting: ForgettingDeps;
  readonly #desk: ApprovalDesk;
  readonly #approvals: ApprovalOperations;
  readonly #work: SessionWork;

  constructor(options: PersistentOptions) {
    const { events } = options.stores;
    this.#options = options;
    const memory = memoryOf(options);
    this.#capabilities = [
      "session-store",
      ...(memory ? (["memory-store"] as const) : []),
      ...(options.compaction ? (["session-compaction"] as const) : []),
    ];
    this.#live = new LiveSessions(options.stores);
    this.#files = options.sessionFiles ? new SessionFiles(events, options.sessionFiles) : undefined;
    const onError = options.onBackgroundError ?? warn;
    this.#knowledge = new KnowledgeOperations(learningOf(options), {
      memory,
      kept: options.stores.knowledge,
      findModel: (name) => this.#parts.model(name),
      recorded: () => this.#projections.flush(),
      onError,
    });
    const { project } = this.#knowledge;
    const projections = [
      ...(memory ? [new MemoryIndex(events, memory)] : []),
      ...(project ? [new KnowledgeRecorder(events, project)] : []),
      new ApprovalIndex(events, options.stores.approvals),
      ...(this.#files ? [this.#files] : []),
    ];
    this.#projections = new ProjectionRunner(events, projections, onError);
    this.#work = new SessionWork({
      ...options.stores,
      live: this.#live,
      takeAnswers: (session) => this.#approvals.takeAnswers(session),
      worked: () => this.#projections.wake(),
    });
    this.#desk = new ApprovalDesk(options.stores.approvals, options.approvals ?? {}, onError);
    this.#approvals = new ApprovalOperations(options.stores.approvals, this.#desk, {
      open: (sessionId) => this.#live.open(sessionId),
      takeUp: (sessionId) => this.#work.run(sessionId, {}, async ({ state }) => state),
      projected: () => this.#projections.flush(),
    });
    this.#parts = new TurnParts(options, {
      searchMemory: (request) => this.searchMemory(request),
      searchHistory: (request) => this.searchHistory(request),
      updateTask: (sessionId, change) => this.#working.changeTask(sessionId, change, "agent"),
    });
    this.#working = new WorkingMemoryOperations(
      {
        open: (sessionId) => this.#live.open(sessionId),
        change: (sessionId, decide) => this.#work.change(sessionId, decide),
      },
      this.#parts,
    );
    this.#memory = memoryOperations(options, () => this.#projections.flush());
    this.#forgetting = {
      ...options.stores,
      memory,
      knowledge: this.#knowledge.forgetful,
      withSession: (id, work) =>
        this.#work.run(id, { archivedToo: true }, ({ state }) => work(state)),
      projected: () => this.#projections.flush(),
    };
    // What an earlier process left undone is done now, beside the first request.
    this.#projections.wake();
  }

  async createSession(request: requests.CreateSession): Promise<SessionCreated> {
    const checked = requests.parseRequest(requests.createSession, request);
    const { model, systemPrompt, maxTokens, compaction, messages = [], labels = {} } = checked;
    this.#requireCapabilities(checked);
    if (model !== undefined) await this.#parts.model(model);
    const id = newId();
    const memory = this.#has("memory-store") && checked.memory !== false;
    const limit = maxTokens ?? this.#options.maxTokens;
    const learns =
      this.#knowledge.project !== undefined && (checked.knowledge ?? checked.memory !== false);
    const knowledge = learns ? await this.#knowledge.addendum() : undefined;
    const events = openingEvents({
      id,
      settings: {
        model: model ?? this.#parts.defaultModelName,
        memory,
        labels,
        ...(learns ? { knowledge: true } : {}),
        ...(checked.approvals ? { approvals: checked.approvals } : {}),
        ...(limit === undefined ? {} : { max_tokens: limit }),
        ...(compaction ? { compaction: this.#parts.wireCompaction(compaction) } : {}),
      },
      systemPrompt: systemPrompt ?? this.#options.systemPrompt,
      searchesMemory: memory && this.#searchesMemory && this.#options.builtinTools !== false,
      knowledge,
      messages,
    });
    const session = new LiveSession(new SessionState(id), this.#options.stores.events);
    await session.commit(events);
    await this.#options.stores.sessions.save(session.state.snapshot());
    this.#live.add(session);
    if (knowledge) await this.#knowledge.used((project) => project.markRulesUsed(knowledge.rules));
    this.#projections.wake();
    return { sessionId: id };
  }

  async startTurn(request: requests.StartTurn, options: TurnOptions = {}): Promise<TurnResult> {
    return await this.#turn(requests.parseRequest(requests.startTurn, request), options);
  }

  async resume(request: requests.ResumeTurn, options: TurnOptions = {}): Promise<TurnResult> {
    return await this.#turn(requests.parseRequest(requests.resumeTurn, request), options);
  }

  async #turn(request: requests.CheckedTurn, options: TurnOptions): Promise<TurnResult> {
    this.#requireCapabilities(request);
    const { prompt: content, origin, context = [] } = request;
    return await this.#work.run(request.sessionId, options, async (session, signal) => {
      const { state } = session;
      if (content === undefined && state.openCalls.length === 0) throw nothingToGoOnWith();
      const parts = await this.#parts.forTurn(state, request);
      const approvals = this.#desk.of(state.settings, parts.tools);
      const prompt =
        content === undefined ? undefined : { content, context, ...(origin ? { origin } : {}) };
      const result = await runTurn(prompt, { ...parts, approvals, log: session, signal });
      return { sessionId: state.id, ...result };
    });
  }

  async compact(
    request: requests.CompactSession,
    options: TurnOptions = {},
  ): Promise<CompactionOutcome> {
    const { sessionId, instructions } = requests.parseRequest(requests.compactSession, request);
    if (!this.#options.compaction) throw new SessionError("SESSION_COMPACTION_DISABLED");
    return await this.#work.run(sessionId, options, async (session, signal) => {
      if (session.state.openCalls.length > 0) throw new SessionError("APPROVAL_REQUIRED");
      const { compaction, ...parts } = await this.#parts.forTurn(session.state, {});
      if (!compaction) throw new SessionError("SESSION_COMPACTION_DISABLED");
      const trigger = { why: "request", ...(instructions ? { instructions } : {}) } as const;
      const run = await runCompaction(session, { ...parts, compaction }, trigger, signal);
      return compactionOutcome(run, session.state.history.length);
    });
  }

  async interrupt(request: requests.SessionRequest): Promise<void> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const session = this.#live.running(sessionId);
    if (session) return session.running?.abort(new SessionError("TURN_INTERRUPTED"));
    await this.#live.open(sessionId);
    throw new SessionError("SESSION_NOT_RUNNING");
  }

  updateTask(request: requests.UpdateTask): Promise<TaskView> {
    return this.#working.updateTask(request);
  }

  pin(request: requests.MessageRequest): Promise<Pins> {
    return this.#working.pin(request);
  }

  unpin(request: requests.MessageRequest): Promise<Pins> {
    return this.#working.unpin(request);
  }

  pins(request: requests.SessionRequest): Promise<Pins> {
    return this.#working.pins(request);
  }

  context(request: requests.SessionRequest): Promise<ContextView> {
    return this.#working.context(request);
  }

  async read(request: requests.SessionRequest): Promise<SessionView> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const session = await this.#live.open(sessionId);
    const active = session.running !== undefined || (await this.#work.runsElsewhere(session));
    return sessionView(session.state, active);
  }

  async list(request: requests.ListSessions): Promise<readonly SessionSummary[]> {
    const { limit = LIST_LIMIT_DEFAULT, ...query } = requests.parseRequest(
      requests.listSessions,
      request,
    );
    const snapshots = await this.#options.stores.sessions.list({ limit, ...query });
    return snapshots.map(sessionSummary);
  }

  async archive(request: requests.SessionRequest): Promise<void> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    await this.#work.run(sessionId, {}, (session) =>
      session.commit([
        ...supersededEvents(session.state),
        { type: "session_archived", session_id: sessionId },
      ]),
    );
    this.#live.forget(sessionId);
  }

  async delete(request: requests.SessionRequest): Promise<void> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const { events, sessions } = this.#options.stores;
    await this.#live.open(sessionId);
    await this.#work.alone(sessionId, async () => {
      // Projections first: what is left to project of this session must not come after its end.
      await this.#projections.flush();
      await this.#forgetting.memory?.delete({ sessionId });
      await this.#knowledge.project?.deleteSession(sessionId);
      await this.#options.stores.approvals.remove({ sessionId });
      await this.#files?.remove(sessionId);
      await sessions.delete(sessionId);
      await events.delete(sessionId);
    });
    this.#live.forget(sessionId);
  }

  async *subscribe(
    request: requests.Subscribe,
    options: SubscribeOptions = {},
  ): AsyncIterable<EventEnvelope> {
    const { sessionId, afterSeq } = requests.parseRequest(requests.subscribe, request);
    const session = await this.#live.open(sessionId);
    const signal = options.signal ?? new AbortController().signal;
    const read = (after: number) => this.#options.stores.events.read(sessionId, after);
    const from = afterSeq ?? session.state.seq;
    options.onOpen?.(from);
    yield* subscription(session, from, read, signal);
  }

  async searchMemory(request: requests.SearchMemory): Promise<readonly MemoryHit[]> {
    return await this.#memory.search(requests.parseRequest(requests.searchMemory, request));
  }

  async listMemory(request: requests.ListMemory): Promise<readonly MemoryEntry[]> {
    return await this.#memory.list(requests.parseRequest(requests.listMemory, request));
  }

  async memoryStats(request: requests.MemoryStatsRequest): Promise<MemoryStats> {
    return await this.#memory.stats(requests.parseRequest(requests.memoryStats, request));
  }

  async forgetMemory(request: requests.ForgetMemory): Promise<MemoryForgotten> {
    const { ids, sessionId = "" } = requests.parseRequest(requests.forgetMemory, request);
    if (!this.#has("memory-store")) throw new SessionError("SESSION_MEMORY_DISABLED");
    return await forgetMemory(ids ? { ids } : { sessionId }, this.#forgetting);
  }

  async searchHistory(request: requests.SearchHistory): Promise<readonly HistoryHit[]> {
    const checked = requests.parseRequest(requests.searchHistory, request);
    return await this.#options.stores.events.search({ limit: SEARCH_LIMIT_DEFAULT, ...checked });
  }

  listApprovals(request: requests.ListApprovals): Promise<readonly PendingApproval[]> {
    return this.#approvals.list(request);
  }

  answerApproval(request: requests.AnswerApproval): Promise<ApprovalAnswered> {
    return this.#approvals.answer(request);
  }

  listKnowledge(request: requests.ListKnowledge): Promise<readonly KnowledgeEntry[]> {
    return this.#knowledge.list(request);
  }

  readKnowledge(request: requests.KnowledgeRequest): Promise<KnowledgeEntry> {
    return this.#knowledge.read(request);
  }

  addKnowledge(request: requests.AddKnowledge): Promise<KnowledgeEntry> {
    return this.#knowledge.add(request);
  }

  editKnowledge(request: requests.EditKnowledge): Promise<KnowledgeEntry> {
    return this.#knowledge.edit(request);
  }

  async forgetKnowledge(request: requests.KnowledgeRequest): Promise<void> {
    const { id } = await this.#knowledge.read(request);
    await forgetMemory({ ids: [id] }, this.#forgetting);
  }

  distillKnowledge(request: requests.DistillKnowledge): Promise<Distillation> {
    return this.#knowledge.distill(request);
  }

  async capabilities(): Promise<readonly Capability[]> {
    return this.#capabilities;
  }

  #has(capability: Capability): boolean {
    return this.#capabilities.includes(capability);
  }

  /** Stops what runs and finishes what is to be projected. The stores belong to whoever opened them. */
  async close(): Promise<void> {
    await this.#work.close();
    await this.#projections.close();
  }

  get #searchesMemory(): boolean {
    return this.#options.searchableMemory !== false;
  }

  #requireCapabilities(request: {
    readonly memory?: boolean | undefined;
    readonly knowledge?: boolean | undefined;
    readonly compaction?: unknown;
  }) {
    if (request.knowledge === true && !this.#knowledge.project) {
      throw new SessionError("SESSION_KNOWLEDGE_DISABLED");
    }
    if (request.memory === true && !this.#has("memory-store")) {
      throw new SessionError("SESSION_MEMORY_DISABLED");
    }
    if (request.compaction !== undefined && !this.#options.compaction) {
      throw new SessionError("SESSION_COMPACTION_DISABLED");
    }
  }
}

function nothingToGoOnWith(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    detail: "There is no prompt, and no call waits that a turn could go on with.",
    hint: "Give a prompt.",
  });
}
