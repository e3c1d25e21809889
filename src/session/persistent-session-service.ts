import { recoverRun } from "../agent/recover-run.ts";
import { runCompaction } from "../agent/run-compaction.ts";
import { runTurn } from "../agent/run-turn.ts";
import type { Capability } from "../core/capabilities.ts";
import { SessionError } from "../core/errors.ts";
import type { EventEnvelope } from "../core/event.ts";
import type { HistoryHit } from "../core/event-store.ts";
import { newId } from "../core/ids.ts";
import type { MemoryHit } from "../core/memory-store.ts";
import * as requests from "../core/requests.ts";
import type {
  CompactionOutcome,
  SessionCreated,
  SessionService,
  SessionSummary,
  SessionView,
  SubscribeOptions,
  TurnOptions,
  TurnResult,
} from "../core/session-service.ts";
import { SessionState } from "../core/session-state.ts";
import { MemoryIndex } from "../projections/memory-index.ts";
import { ProjectionRunner } from "../projections/projection-runner.ts";
import { SessionFiles } from "../projections/session-files.ts";
import { LiveSession } from "./live-session.ts";
import { LiveSessions, notFound } from "./live-sessions.ts";
import { openingEvents } from "./opening-events.ts";
import type { ServiceOptions } from "./service-options.ts";
import { newOwner, withLease } from "./session-lease.ts";
import { compactionOutcome, sessionSummary, sessionView } from "./session-view.ts";
import { subscription } from "./subscription.ts";
import { TurnParts } from "./turn-parts.ts";

const LIST_LIMIT_DEFAULT = 20;
const SEARCH_LIMIT_DEFAULT = 10;

export type PersistentOptions = ServiceOptions & Required<Pick<ServiceOptions, "stores">>;

/** Sessions that outlive the process, in stores that several processes may share. */
export class PersistentSessionService implements SessionService {
  readonly #options: PersistentOptions;
  readonly #live: LiveSessions;
  readonly #parts: TurnParts;
  readonly #projections: ProjectionRunner;
  readonly #files: SessionFiles | undefined;
  readonly #owner = newOwner();
  readonly #turns = new Set<Promise<unknown>>();
  #closed = false;

  constructor(options: PersistentOptions) {
    const { events } = options.stores;
    this.#options = options;
    this.#live = new LiveSessions(options.stores);
    this.#files = options.sessionFiles ? new SessionFiles(events, options.sessionFiles) : undefined;
    const memory = options.memory ? [new MemoryIndex(events, options.memory)] : [];
    const projections = this.#files ? [...memory, this.#files] : memory;
    const onError = options.onBackgroundError ?? warn;
    this.#projections = new ProjectionRunner(events, projections, onError);
    this.#parts = new TurnParts(options, {
      searchMemory: (request) => this.searchMemory(request),
      searchHistory: (request) => this.searchHistory(request),
    });
    // What an earlier process left undone is done now, beside the first request.
    this.#projections.wake();
  }

  async createSession(request: requests.CreateSession): Promise<SessionCreated> {
    const checked = requests.parseRequest(requests.createSession, request);
    const { model, systemPrompt, maxTokens, compaction, messages = [], labels = {} } = checked;
    this.#requireCapabilities(checked);
    if (model !== undefined) await this.#parts.model(model);
    const id = newId();
    const memory = this.#options.memory !== undefined && checked.memory !== false;
    const limit = maxTokens ?? this.#options.maxTokens;
    const events = openingEvents({
      id,
      settings: {
        model: model ?? this.#parts.defaultModelName,
        memory,
        labels,
        ...(limit === undefined ? {} : { max_tokens: limit }),
        ...(compaction ? { compaction: this.#parts.wireCompaction(compaction) } : {}),
      },
      systemPrompt: systemPrompt ?? this.#options.systemPrompt,
      searchesMemory: memory && this.#options.builtinTools !== false,
      messages,
    });
    const session = new LiveSession(new SessionState(id), this.#options.stores.events);
    await session.commit(events);
    await this.#options.stores.sessions.save(session.state.snapshot());
    this.#live.add(session);
    this.#projections.wake();
    return { sessionId: id };
  }

  async startTurn(request: requests.StartTurn, options: TurnOptions = {}): Promise<TurnResult> {
    const checked = requests.parseRequest(requests.startTurn, request);
    this.#requireCapabilities(checked);
    const { prompt: content, origin, context = [] } = checked;
    return await this.#work(checked.sessionId, options, async (session, signal) => {
      const parts = await this.#parts.forTurn(session.state, checked);
      const prompt = { content, context, ...(origin ? { origin } : {}) };
      const result = await runTurn(prompt, { ...parts, log: session, signal });
      return { sessionId: session.state.id, ...result };
    });
  }

  resume(request: requests.StartTurn, options: TurnOptions = {}): Promise<TurnResult> {
    return this.startTurn(request, options);
  }

  async compact(
    request: requests.CompactSession,
    options: TurnOptions = {},
  ): Promise<CompactionOutcome> {
    const { sessionId, instructions } = requests.parseRequest(requests.compactSession, request);
    if (!this.#options.compaction) throw new SessionError("SESSION_COMPACTION_DISABLED");
    return await this.#work(sessionId, options, async (session, signal) => {
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

  async read(request: requests.SessionRequest): Promise<SessionView> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const session = await this.#live.open(sessionId);
    const active = session.running !== undefined || (await this.#runsElsewhere(session));
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
    await this.#work(sessionId, {}, (session) =>
      session.commit([{ type: "session_archived", session_id: sessionId }]),
    );
    this.#live.forget(sessionId);
  }

  async delete(request: requests.SessionRequest): Promise<void> {
    const { sessionId } = requests.parseRequest(requests.sessionRequest, request);
    const { events, sessions } = this.#options.stores;
    await this.#live.open(sessionId);
    await withLease(sessions, sessionId, this.#owner, async () => {
      // Projections first: what is left to project of this session must not come after its end.
      await this.#projections.flush();
      await this.#options.memory?.delete({ sessionId });
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
    const checked = requests.parseRequest(requests.searchMemory, request);
    const { memory } = this.#options;
    if (!memory) throw new SessionError("SESSION_MEMORY_DISABLED");
    await this.#projections.flush();
    return await memory.search({ limit: SEARCH_LIMIT_DEFAULT, ...checked });
  }

  async searchHistory(request: requests.SearchHistory): Promise<readonly HistoryHit[]> {
    const checked = requests.parseRequest(requests.searchHistory, request);
    return await this.#options.stores.events.search({ limit: SEARCH_LIMIT_DEFAULT, ...checked });
  }

  async capabilities(): Promise<readonly Capability[]> {
    const { memory, compaction } = this.#options;
    return [
      "session-store",
      ...(memory ? (["memory-store"] as const) : []),
      ...(compaction ? (["session-compaction"] as const) : []),
    ];
  }

  /** Stops what runs and finishes what is to be projected. The stores belong to whoever opened them. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const session of this.#live.allRunning()) {
      session.running?.abort(
        new SessionError("TURN_INTERRUPTED", { detail: "The service closed." }),
      );
    }
    await Promise.allSettled(this.#turns);
    await this.#projections.close();
  }

  /** Runs something that adds to a session's log, while nothing else does. */
  async #work<T>(
    sessionId: string,
    { signal, onEvent }: TurnOptions,
    work: (session: LiveSession, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (this.#closed) throw new SessionError("AGENT_ERROR", { detail: "The service is closed." });
    if (signal?.aborted) throw new SessionError("TURN_INTERRUPTED", { cause: signal.reason });
    const session = await this.#live.open(sessionId);
    if (session.state.archived) {
      throw new SessionError("SESSION_NOT_FOUND", { detail: `"${sessionId}" is archived.` });
    }
    if (session.running) throw new SessionError("SESSION_BUSY");
    const controller = new AbortController();
    session.running = controller;
    const stopListening = onEvent ? session.listen(onEvent) : undefined;
    const stopped = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
    const turn = this.#underLease(session, () => work(session, stopped));
    this.#turns.add(turn);
    try {
      return await turn;
    } finally {
      this.#turns.delete(turn);
      session.running = undefined;
      stopListening?.();
      this.#projections.wake();
    }
  }

  #underLease<T>(session: LiveSession, work: () => Promise<T>): Promise<T> {
    const { events, sessions } = this.#options.stores;
    const { state } = session;
    return withLease(sessions, state.id, this.#owner, async () => {
      await state.catchUp((after, to) => events.read(state.id, after, to));
      if (state.seq === 0) throw notFound(state.id);
      await recoverRun(session);
      try {
        return await work();
      } finally {
        // With calls open the log alone knows how far they came; the last snapshot is as good.
        if (state.openCalls.length === 0) await sessions.save(state.snapshot());
      }
    });
  }

  /** Whether another process is in the middle of a turn: its log says so, and it holds the lease. */
  async #runsElsewhere({ state }: LiveSession): Promise<boolean> {
    if (!state.running) return false;
    try {
      await withLease(this.#options.stores.sessions, state.id, this.#owner, async () => {});
      return false;
    } catch (error) {
      if (SessionError.is(error) && error.code === "SESSION_BUSY") return true;
      throw error;
    }
  }

  #requireCapabilities(request: {
    readonly memory?: boolean | undefined;
    readonly compaction?: unknown;
  }) {
    if (request.memory === true && !this.#options.memory) {
      throw new SessionError("SESSION_MEMORY_DISABLED");
    }
    if (request.compaction !== undefined && !this.#options.compaction) {
      throw new SessionError("SESSION_COMPACTION_DISABLED");
    }
  }
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), "RkatWarning");
}
