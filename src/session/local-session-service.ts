import assert from "node:assert/strict";
import { supersededEvents } from "../agent/approvals.ts";
import { runCompaction } from "../agent/run-compaction.ts";
import { runTurn } from "../agent/run-turn.ts";
import type { ToolSet } from "../agent/tool-set.ts";
import type { PendingApproval } from "../core/approval.ts";
import { type ErrorCode, SessionError } from "../core/errors.ts";
import type { EventEnvelope, SessionSettings } from "../core/event.ts";
import type { HistoryHit } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import type { HostRecord, ReadHostItem } from "../core/host-record.ts";
import { newId } from "../core/ids.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { MemoryEntry, MemoryHit, MemoryStats } from "../core/memory-store.ts";
import { readerQueues } from "../core/reader-queues.ts";
import * as requests from "../core/requests.ts";
import type {
  Allowed,
  ApprovalAnswered,
  Capability,
  CompactionOutcome,
  ContextView,
  Distillation,
  ImportReport,
  MemoryAdded,
  MemoryForgotten,
  MemoryOperations,
  MessagesAppended,
  Pins,
  SessionCreated,
  SessionService,
  SessionSummary,
  SessionView,
  SubscribeOptions,
  TurnOptions,
  TurnResult,
} from "../core/session-service.ts";
import { loggedSource, sourceFilter } from "../core/session-source.ts";
import { SessionState } from "../core/session-state.ts";
import type { TaskView } from "../core/task.ts";
import { warn } from "../core/warn.ts";
import { type DeletionDeps, deleteSession } from "../forgetting/delete-session.ts";
import { type ForgettingDeps, forgetMemory } from "../forgetting/forget-memory.ts";
import { Retention } from "../forgetting/retention.ts";
import { notInTrash, Trash } from "../forgetting/trash.ts";
import { givenInstructions } from "../knowledge/given-instructions.ts";
import { ProjectKnowledge } from "../knowledge/project-knowledge.ts";
import { ApprovalIndex } from "../projections/approval-index.ts";
import { KnowledgeRecorder } from "../projections/knowledge-recorder.ts";
import { MemoryIndex } from "../projections/memory-index.ts";
import { ProjectionRunner } from "../projections/projection-runner.ts";
import { SessionFiles } from "../projections/session-files.ts";
import { appendMessages } from "./append-messages.ts";
import { ApprovalDesk } from "./approval-desk.ts";
import { ApprovalOperations } from "./approval-operations.ts";
import { contextView } from "./context-view.ts";
import { askerOf, KnowledgeOperations } from "./knowledge-operations.ts";
import { LiveSession } from "./live-session.ts";
import { LiveSessions } from "./live-sessions.ts";
import { memoryOperations, searchFor } from "./memory-operations.ts";
import { ofSource, withSources } from "./of-source.ts";
import { openingEvents } from "./opening-events.ts";
import { redactingStores } from "./redacting-stores.ts";
import {
  learningOf,
  memoryOf,
  optionsForUser,
  requireSearchableMemory,
  type SessionOptions,
  switchedOffOptions,
} from "./service-options.ts";
import { SessionHostRecord } from "./session-host-record.ts";
import { KeptProjectionLease, newOwner, withFilesLease } from "./session-lease.ts";
import { sessionTools } from "./session-tools.ts";
import { compactionOutcome, deletedSummary, sessionSummary, sessionView } from "./session-view.ts";
import { SessionWork } from "./session-work.ts";
import { openedLazily, subscription } from "./subscription.ts";
import { TranscriptImports } from "./transcript-imports.ts";
import { instructionBytesMax, TurnSettings } from "./turn-settings.ts";
import { WorkingMemoryOperations } from "./working-memory-operations.ts";

const LIST_LIMIT_DEFAULT = 20;

/** How often a service looks for what is older than the settings allow. */
const CLEAN_UP_MS = 3_600_000;
const SEARCH_LIMIT_DEFAULT = 10;

/** The code of a request that needs a capability which the service does not have. */
const DISABLED: Readonly<Record<Capability, ErrorCode>> = {
  "session-store": "SESSION_PERSISTENCE_DISABLED",
  "memory-store": "SESSION_MEMORY_DISABLED",
  "session-compaction": "SESSION_COMPACTION_DISABLED",
};

/** The user that a service acts for. */
interface ServedUser {
  readonly name: string;
  /** What the project has learned. Its users are told what was added to it by hand. */
  readonly project: ProjectKnowledge | undefined;
}

/**
 * The one implementation of `SessionService`. (The clients of the surfaces are the others: they
 * send each request to one of these.)
 *
 * Several services, in one process or in many, may share the stores. The service of a user works on
 * the user's own stores, so nothing here compares users.
 */
export class LocalSessionService implements SessionService {
  readonly #options: SessionOptions;
  readonly #capabilities: readonly Capability[];
  readonly #settings: TurnSettings;
  readonly #projections: ProjectionRunner;
  readonly #knowledge: KnowledgeOperations;
  readonly #memory: MemoryOperations;
  readonly #live: LiveSessions;
  readonly #desk: ApprovalDesk;
  readonly #work: SessionWork;
  readonly #approvals: ApprovalOperations;
  readonly #working: WorkingMemoryOperations;
  readonly #imports: TranscriptImports;
  readonly #searchHistory: SessionService["searchHistory"];
  readonly #toolsOf: (settings: SessionSettings) => ToolSet;
  readonly #trash: Trash | undefined;
  readonly #retention: Retention;
  readonly #cleaning: NodeJS.Timeout | undefined;
  readonly #forgetting: ForgettingDeps & DeletionDeps;
  readonly #user: ServedUser | undefined;
  readonly #serviceOf: (user: string) => LocalSessionService;
  /** The services of users that are in use: a caller has one, or a turn runs in it. */
  readonly #users = new Map<string, WeakRef<LocalSessionService>>();
  readonly #unused = new FinalizationRegistry<string>((user) => {
    if (!this.#users.get(user)?.deref()) this.#users.delete(user);
  });
  #closed = false;
  #closing: Promise<void> | undefined;

  constructor(given: SessionOptions, user?: ServedUser) {
    const options =
      given.redact === "log" ? { ...given, stores: redactingStores(given.stores) } : given;
    this.#user = user;
    const { stores, onBackgroundError: onError = warn } = options;
    const { events, sessions, approvals } = stores;
    const memory = memoryOf(options);
    for (const text of switchedOffOptions(options)) warn(text);
    this.#options = options;
    this.#capabilities = [
      ...(options.persistent ? (["session-store"] as const) : []),
      ...(memory ? (["memory-store"] as const) : []),
      ...(options.compaction ? (["session-compaction"] as const) : []),
    ];
    this.#settings = new TurnSettings(options);

    // What the project has learned. A service that does not learn can still forget it.
    const learning = learningOf(options);
    const ask = askerOf(learning?.model, this.#settings);
    const shared = user?.project;
    const project =
      learning && new ProjectKnowledge(learning.store, learning, { memory, ask, shared });
    this.#serviceOf = (name) =>
      new LocalSessionService(optionsForUser(given, name), { name, project });
    const kept =
      project ?? (stores.knowledge && new ProjectKnowledge(stores.knowledge, {}, { memory }));

    // What follows the log.
    const live = new LiveSessions(stores);
    const messageAt = (sessionId: string, seq: number) =>
      live.historyOf(sessionId).findLast(({ id }) => id === seq);
    const owner = newOwner();
    const files = options.sessionFiles
      ? new SessionFiles(events, options.sessionFiles, (work) =>
          withFilesLease(stores.sessions, owner, work),
        )
      : undefined;
    const projections = new ProjectionRunner(
      events,
      [
        ...(memory
          ? [new MemoryIndex(events, memory, { scope: options.memoryScope, messageAt })]
          : []),
        ...(project ? [new KnowledgeRecorder(events, project)] : []),
        new ApprovalIndex(events, approvals),
        ...(files ? [files] : []),
      ],
      onError,
      { lease: new KeptProjectionLease(stores.sessions, owner) },
    );
    this.#projections = projections;
    const projected = () => projections.flush();
    this.#knowledge = new KnowledgeOperations(project, projected, onError);
    this.#memory = memoryOperations(options, projected);

    // What adds to the log.
    this.#live = live;
    const desk = new ApprovalDesk(approvals, options.approvals ?? {}, onError);
    this.#desk = desk;
    this.#work = new SessionWork(stores, { live, desk, projections });
    const work = this.#work;
    this.#approvals = new ApprovalOperations(approvals, { desk, live, work, projected, onError });
    this.#working = new WorkingMemoryOperations(live, work, this.#settings);
    this.#imports = new TranscriptImports(options, this.#settings.defaultModelName, projections);
    this.#trash = stores.trash && new Trash(stores.trash, options.keepDeletedDays);
    this.#forgetting = {
      trash: this.#trash,
      forgotten: stores.forgotten,
      memory,
      knowledge: kept,
      events,
      sessions,
      approvals,
      files,
      withSession: (id, redact) => work.runAfterTurn(id, ({ state }) => redact(state)),
      projected,
    };

    this.#retention = new Retention(options.keepDays ?? {}, {
      events,
      sessions,
      delete: (id) => this.#delete(id, { now: true }),
      withSession: (id, empty) =>
        work.alone(id, async () => await empty((await live.open(id)).state)),
    });
    if (!user) this.#cleaning = cleaner(this, (service) => service.#cleanUpAll().catch(onError));

    // What the tools of models call.
    this.#searchHistory = async (request) => {
      const checked = requests.parseRequest(requests.searchHistory, request);
      const { limit = SEARCH_LIMIT_DEFAULT, ...query } = await ofSource(checked, sessions, options);
      const hits = await events.search({ ...query, limit });
      return await withSources(hits, sessions);
    };
    this.#toolsOf = sessionTools(options, {
      searchMemory: this.#searchesMemory
        ? (request, sessionId) => {
            const shown = new Set(live.historyOf(sessionId).map(({ id }) => `${sessionId}:${id}`));
            const unseen = (hits: readonly MemoryHit[]) => hits.filter(({ id }) => !shown.has(id));
            return searchFor(request.limit, unseen, (limit) =>
              this.searchMemory({ query: [...request.queries], limit }),
            );
          }
        : undefined,
      searchHistory: this.#has("session-store") ? this.#searchHistory : undefined,
      updateTask: (sessionId, change) => this.#working.changeTask(sessionId, change, "agent"),
    });

    // An earlier process may have left the projections behind the log.
    projections.wake();
  }

  createSession(request: requests.CreateSession): Promise<SessionCreated> {
    return this.#create(newId(), request);
  }

  /**
   * The list of items that the agent loop of another package keeps in a session. The session is
   * created with the id and the request when the list first changes.
   */
  hostRecord(id: string, request: requests.CreateSession, read: ReadHostItem): HostRecord {
    return new SessionHostRecord(id, read, {
      events: this.#options.stores.events,
      work: this.#work,
      create: () => this.#create(id, request),
    });
  }

  async #create(id: string, request: requests.CreateSession): Promise<SessionCreated> {
    const checked = requests.parseRequest(requests.createSession, request);
    const { model, systemPrompt, maxTokens, compaction, messages = [], labels = {} } = checked;
    this.#requireCapabilities(checked);
    if (model !== undefined) await this.#settings.model(model);
    const memory = this.#has("memory-store") && checked.memory !== false;
    const limit = maxTokens ?? this.#options.maxTokens;
    const learns = this.#knowledge.isOn && (checked.knowledge ?? checked.memory !== false);
    const knowledge = learns ? await this.#knowledge.addendum() : undefined;
    const events = openingEvents({
      id,
      settings: {
        model: model ?? this.#settings.defaultModelName,
        memory,
        labels,
        ...(this.#user ? { user: this.#user.name } : {}),
        ...(checked.source ? { source: loggedSource(checked.source) } : {}),
        ...(learns ? { knowledge: true } : {}),
        ...(checked.approvals ? { approvals: checked.approvals } : {}),
        ...(limit === undefined ? {} : { max_tokens: limit }),
        ...(compaction ? { compaction: this.#settings.wireCompaction(compaction) } : {}),
      },
      systemPrompt: systemPrompt ?? this.#options.systemPrompt,
      searchesMemory: memory && this.#searchesMemory && this.#options.builtinTools !== false,
      searchesHistory: this.#has("session-store"),
      knowledge,
      messages,
    });
    const session = new LiveSession(new SessionState(id), this.#options.stores.events);
    await session.commit(events);
    await this.#options.stores.sessions.save(session.state.snapshot());
    this.#live.add(session);
    if (knowledge) await this.#knowledge.rulesUsed(knowledge.rules);
    this.#projections.wake();
    return { sessionId: id };
  }

  async startTurn(request: requests.StartTurn, options: TurnOptions = {}): Promise<TurnResult> {
    return await this.#turn(requests.parseRequest(requests.startTurn, request), options);
  }

  async resume(request: requests.ResumeTurn, options: TurnOptions = {}): Promise<TurnResult> {
    this.#require("session-store");
    return await this.#turn(requests.parseRequest(requests.resumeTurn, request), options);
  }

  async #turn(request: requests.CheckedTurn, options: TurnOptions): Promise<TurnResult> {
    this.#requireCapabilities(request);
    const { prompt: content, origin, context = [] } = request;
    return await this.#work.run(request.sessionId, options, async (session, signal) => {
      const { state } = session;
      if (content === undefined && state.openCalls.length === 0) throw nothingToGoOnWith();
      const settings = await this.#settings.forTurn(state, request);
      const tools = this.#toolsOf(state.settings);
      const approvals = this.#desk.of(state, tools);
      const prompt =
        content === undefined
          ? undefined
          : {
              content,
              context,
              ...(origin ? { origin } : {}),
              instructions: givenInstructions(
                state,
                { content, origin },
                instructionBytesMax(settings.compaction),
              ),
            };
      const result = await runTurn(prompt, { ...settings, tools, approvals, log: session, signal });
      return { sessionId: state.id, ...result };
    });
  }

  appendMessages(request: requests.AppendMessages): Promise<MessagesAppended> {
    return appendMessages(request, this.#work, this.#settings);
  }

  async importTranscripts(
    request: requests.ImportTranscripts | requests.ImportStream,
  ): Promise<ImportReport> {
    this.#require("session-store");
    return await this.#imports.run(request);
  }

  async compact(
    request: requests.CompactSession,
    options: TurnOptions = {},
  ): Promise<CompactionOutcome> {
    const { sessionId, instructions } = requests.parseRequest(requests.compactSession, request);
    this.#require("session-compaction");
    return await this.#work.run(sessionId, options, async (session, signal) => {
      if (session.state.openCalls.length > 0) throw new SessionError("APPROVAL_REQUIRED");
      const { compaction, ...settings } = await this.#settings.forTurn(session.state, {});
      assert(compaction);
      const tools = this.#toolsOf(session.state.settings);
      const trigger = { why: "request", ...(instructions ? { instructions } : {}) } as const;
      const run = await runCompaction(session, { ...settings, tools, compaction }, trigger, signal);
      return compactionOutcome(run, session.state.history.length);
    });
  }

  async interrupt(request: requests.SessionRequest): Promise<void> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    await this.#work.interrupt(sessionId);
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

  async context(request: requests.SessionRequest): Promise<ContextView> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const { state } = await this.#live.open(sessionId);
    const { settings } = state;
    return contextView(state, this.#toolsOf(settings), await this.#settings.window(settings));
  }

  async read(request: requests.SessionRequest): Promise<SessionView> {
    this.#require("session-store");
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const session = await this.#live.open(sessionId);
    const active = session.running !== undefined || (await this.#work.runsElsewhere(session));
    return sessionView(session.state, active, this.#options.project);
  }

  async list(request: requests.ListSessions): Promise<readonly SessionSummary[]> {
    this.#require("session-store");
    const {
      limit = LIST_LIMIT_DEFAULT,
      deleted,
      agent,
      project,
      branch,
      ...rest
    } = requests.parseRequest(requests.listSessions, request);
    const { project: own, stores } = this.#options;
    const source = sourceFilter(given({ agent, project, branch }), own);
    const query = { limit, ...rest, ...given({ source }) };
    if (deleted) {
      const found = (await this.#trash?.list(query)) ?? [];
      return found.map((snapshot) => deletedSummary(snapshot, own));
    }
    return (await stores.sessions.list(query)).map((snapshot) => sessionSummary(snapshot, own));
  }

  async archive(request: requests.SessionRequest): Promise<void> {
    this.#require("session-store");
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    await this.#work.run(sessionId, {}, (session) =>
      session.commit([
        ...supersededEvents(session.state),
        { type: "session_archived", session_id: sessionId },
      ]),
    );
    this.#live.forget(sessionId);
  }

  async unarchive(request: requests.SessionRequest): Promise<void> {
    this.#require("session-store");
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    await this.#work.run(sessionId, { archivedToo: true }, async (session) => {
      if (!session.state.archived) return;
      await session.commit([{ type: "session_unarchived", session_id: sessionId }]);
    });
  }

  async delete(request: requests.DeleteSession): Promise<void> {
    this.#require("session-store");
    const { sessionId, now = false } = requests.parseRequest(requests.deleteSession, request);
    const trash = this.#trash;
    if (now && (await trash?.remove(sessionId)) && !(await this.#exists(sessionId))) return;
    await this.#live.open(sessionId);
    await this.#delete(sessionId, { now });
  }

  async #delete(sessionId: string, { now }: { readonly now: boolean }): Promise<void> {
    const trash = this.#trash;
    await this.#work.alone(sessionId, async () => {
      if (trash?.keeps && !now) {
        const { sessions, events } = this.#options.stores;
        const { state } = await this.#live.open(sessionId);
        await trash.put((await sessions.load(sessionId)) ?? state.snapshot(), events);
      }
      await deleteSession(sessionId, this.#forgetting);
    });
    this.#live.forget(sessionId);
  }

  async restore(request: requests.SessionRequest): Promise<void> {
    this.#require("session-store");
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const trash = this.#trash;
    if (!trash) throw notInTrash(sessionId);
    const { sessions, events } = this.#options.stores;
    await this.#work.alone(sessionId, async () => {
      await sessions.save(await trash.copyBack(sessionId, events));
      await trash.remove(sessionId);
    });
    this.#projections.wake();
  }

  async #exists(sessionId: string): Promise<boolean> {
    return (await this.#options.stores.events.lastSeq(sessionId)) > 0;
  }

  subscribe(
    request: requests.Subscribe,
    options: SubscribeOptions = {},
  ): AsyncIterable<EventEnvelope> {
    return openedLazily(() => this.#subscription(request, options));
  }

  async #subscription(
    request: requests.Subscribe,
    options: SubscribeOptions,
  ): Promise<AsyncIterable<EventEnvelope>> {
    const { sessionId, afterSeq } = requests.parseRequest(requests.subscribe, request);
    const session = await this.#live.open(sessionId);
    const signal = options.signal ?? new AbortController().signal;
    const from = afterSeq ?? session.state.seq;
    options.onOpen?.(from);
    return subscription(session, from, readerQueues, signal);
  }

  async searchMemory(request: requests.SearchMemory): Promise<readonly MemoryHit[]> {
    return await this.#memory.search(requests.parseRequest(requests.searchMemory, request));
  }

  async addMemory(request: requests.AddMemory): Promise<MemoryAdded> {
    return await this.#memory.addText(requests.parseRequest(requests.addMemory, request));
  }

  async listMemory(request: requests.ListMemory): Promise<readonly MemoryEntry[]> {
    return await this.#memory.list(requests.parseRequest(requests.listMemory, request));
  }

  async memoryStats(request: requests.MemoryStatsRequest): Promise<MemoryStats> {
    return await this.#memory.stats(requests.parseRequest(requests.memoryStats, request));
  }

  async forgetMemory(request: requests.ForgetMemory): Promise<MemoryForgotten> {
    const { ids, sessionId = "" } = requests.parseRequest(requests.forgetMemory, request);
    this.#require("memory-store");
    return await forgetMemory(ids ? { ids } : { sessionId }, this.#forgetting);
  }

  async searchHistory(request: requests.SearchHistory): Promise<readonly HistoryHit[]> {
    this.#require("session-store");
    return await this.#searchHistory(request);
  }

  listApprovals(request: requests.ListApprovals): Promise<readonly PendingApproval[]> {
    return this.#approvals.list(request);
  }

  answerApproval(request: requests.AnswerApproval): Promise<ApprovalAnswered> {
    return this.#approvals.answer(request);
  }

  allowedCalls(request: requests.SessionRequest): Promise<Allowed> {
    return this.#approvals.allowed(request);
  }

  revokeAllowed(request: requests.RevokeAllowed): Promise<Allowed> {
    return this.#approvals.revoke(request);
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

  forUser(user: string): SessionService {
    const { user: name } = requests.parseRequest(requests.userRequest, { user });
    if (this.#user) {
      if (this.#user.name === name) return this;
      throw new SessionError("USER_NOT_ALLOWED");
    }
    if (this.#closed) throw new SessionError("AGENT_ERROR", { detail: "The service is closed." });
    const known = this.#users.get(name)?.deref();
    if (known && !known.#closed) return known;
    const service = this.#serviceOf(name);
    this.#users.set(name, new WeakRef(service));
    this.#unused.register(service, name);
    return service;
  }

  /** Interrupts running turns and brings the projections up to date. The stores stay open: they are the caller's. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#users.values()].map((service) => service.deref()?.close()));
    await this.#imports.close();
    await this.#work.close();
    clearInterval(this.#cleaning);
    try {
      await this.#cleanUp();
    } finally {
      await this.#projections.close();
    }
  }

  /** Deletes what is older than the settings allow. */
  async #cleanUp(): Promise<void> {
    await this.#trash?.deleteOld();
    await this.#retention.deleteOld();
    this.#projections.wake();
  }

  /** The same for all users who have something old, also for those that no service is open for. */
  async #cleanUpAll(): Promise<void> {
    await this.#cleanUp();
    const { stores } = this.#options;
    const limits = { ...this.#trash?.limits, ...this.#retention.limits };
    const users = stores.usersWithOld ? stores.usersWithOld(limits) : stores.users?.();
    for (const name of (await users) ?? []) {
      const service = this.#users.get(name)?.deref() ?? this.#serviceOf(name);
      await service.#cleanUp();
      await service.#projections.flush();
    }
  }

  get #searchesMemory(): boolean {
    return this.#has("memory-store") && this.#options.searchableMemory !== false;
  }

  #has(capability: Capability): boolean {
    return this.#capabilities.includes(capability);
  }

  #require(capability: Capability): void {
    if (!this.#has(capability)) throw new SessionError(DISABLED[capability]);
  }

  #requireCapabilities(request: {
    readonly memory?: boolean | undefined;
    readonly knowledge?: boolean | undefined;
    readonly compaction?: unknown;
  }): void {
    if (request.knowledge && !this.#knowledge.isOn) {
      throw new SessionError("SESSION_KNOWLEDGE_DISABLED");
    }
    if (request.memory) requireSearchableMemory(this.#options);
    if (request.compaction !== undefined) this.#require("session-compaction");
  }
}

/** A timer that keeps neither the process nor its service alive. */
function cleaner<Service extends object>(
  service: Service,
  cleanUp: (service: Service) => Promise<void>,
): NodeJS.Timeout {
  const known = new WeakRef(service);
  const timer = setInterval(() => {
    const alive = known.deref();
    if (alive) void cleanUp(alive);
    else clearInterval(timer);
  }, CLEAN_UP_MS);
  return timer.unref();
}

function nothingToGoOnWith(): SessionError {
  return new SessionError("NOT_POSSIBLE", {
    message: "There is no prompt, and no tool call waits for approval.",
    hint: "Give a prompt.",
  });
}
