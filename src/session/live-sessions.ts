import type { TurnLog } from "../agent/run-events.ts";
import { SessionError } from "../core/errors.ts";
import {
  type DurableEvent,
  type EventEnvelope,
  envelope,
  type NewEvent,
  passing,
  type TransientEvent,
} from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import { newId } from "../core/ids.ts";
import { WRAPPED_NESTING_MAX, withinNesting } from "../core/json-values.ts";
import type { ReaderQueues } from "../core/reader-queues.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { type ReadLog, SessionState } from "../core/session-state.ts";
import type { HeldLease, SessionStore } from "../core/session-store.ts";

/** Limit of idle sessions in this process. The longest unused are dropped first. */
const IDLE_SESSIONS_MAX = 64;

/** A cache of sessions in this process. The log has all sessions. */
export class LiveSessions {
  readonly #events: EventStore;
  readonly #sessions: SessionStore;
  /** In the order of their last use. */
  readonly #byId = new Map<string, LiveSession>();
  /** Concurrent callers share one opening. */
  readonly #opening = new Map<string, Promise<LiveSession>>();

  constructor(stores: { readonly events: EventStore; readonly sessions: SessionStore }) {
    this.#events = stores.events;
    this.#sessions = stores.sessions;
  }

  add(session: LiveSession): void {
    this.#byId.set(session.state.id, session);
    for (const [id, idle] of this.#byId) {
      if (this.#byId.size <= IDLE_SESSIONS_MAX) return;
      if (!idle.running && !idle.hasListeners) this.#byId.delete(id);
    }
  }

  /** The session as it was last used here, which may be behind the log, or deleted. A new one is up to date. */
  async lastUsed(sessionId: string): Promise<LiveSession> {
    return this.#byId.get(sessionId) ?? (await this.open(sessionId));
  }

  /** The session, up to date with what other processes appended. */
  open(sessionId: string): Promise<LiveSession> {
    const opening = this.#opening.get(sessionId);
    if (opening) return opening;
    const opened = this.#open(sessionId).finally(() => this.#opening.delete(sessionId));
    this.#opening.set(sessionId, opened);
    return opened;
  }

  async #open(sessionId: string): Promise<LiveSession> {
    const known = await this.#known(sessionId);
    // A turn that runs here keeps its state up to date itself.
    if (known?.running) return known;
    const session = known ?? (await this.#load(sessionId));
    await session.state.catchUp((after, to) => this.#events.read(sessionId, after, to));
    this.#byId.delete(sessionId);
    // Another process deleted it, and a turn here has seen that its log is gone.
    if (session.state.deleted || session.state.seq === 0) throw notFound(sessionId);
    this.add(session);
    return session;
  }

  /** The session in this process. Where another process deleted it, its log ends before what is known of it here. */
  async #known(sessionId: string): Promise<LiveSession | undefined> {
    const known = this.#byId.get(sessionId);
    if (!known || known.running) return known;
    const { seq } = known.state;
    if ((await this.#events.lastSeq(sessionId)) >= seq) return known;
    if (this.#byId.get(sessionId) === known) this.#byId.delete(sessionId);
    return undefined;
  }

  /** The history of a session that is in this process; empty when it is not. */
  historyOf(sessionId: string): readonly HistoryEntry[] {
    return this.#byId.get(sessionId)?.state.history ?? [];
  }

  running(sessionId: string): LiveSession | undefined {
    const session = this.#byId.get(sessionId);
    return session?.running ? session : undefined;
  }

  forget(sessionId: string): void {
    this.#byId.delete(sessionId);
  }

  allRunning(): readonly LiveSession[] {
    return [...this.#byId.values()].filter((session) => session.running);
  }

  async #load(sessionId: string): Promise<LiveSession> {
    const read = (after: number, to?: number) => this.#events.read(sessionId, after, to);
    const snapshot = await this.#sessions.load(sessionId);
    const restored = snapshot?.id === sessionId && (await restore(snapshot, read));
    const state = restored || new SessionState(sessionId);
    // A process was killed between the first events and the first snapshot, or the snapshot is wrong.
    if (!restored) await state.catchUp(read);
    if (state.seq === 0) throw notFound(sessionId);
    return new LiveSession(state, this.#events);
  }
}

/** Undefined when the snapshot is not what rkat stores. The log gives the same state again. */
async function restore(
  snapshot: SessionSnapshot,
  read: ReadLog,
): Promise<SessionState | undefined> {
  try {
    return await SessionState.restore(snapshot, read);
  } catch (error) {
    if (SessionError.is(error) || !(error instanceof TypeError)) throw error;
    return undefined;
  }
}

export function notFound(sessionId: string): SessionError {
  return new SessionError("SESSION_NOT_FOUND", {
    message: `No session has the id "${sessionId}".`,
  });
}

/** A page of the log has at most this many events, and not many more bytes than this. */
const PAGE_EVENTS_MAX = 16;
const PAGE_BYTES_MAX = 1024 * 1024;

export type EventListener = (event: EventEnvelope) => void;

/**
 * A session in this process: its state, its listeners and readers, and the only way to append to its log.
 */
export class LiveSession implements TurnLog {
  readonly state: SessionState;
  /** Interrupts the running turn. Set while a turn runs. */
  running: AbortController | undefined;
  /** The lease under which this process works on the session now. */
  held: HeldLease | undefined;
  readonly #events: Pick<EventStore, "append" | "lastSeq" | "read" | "watch">;
  readonly #listeners = new Set<EventListener>();
  /** The pages that are being read, by the last event of this process and the event before the page. */
  readonly #pages = new Map<string, Promise<readonly EventEnvelope[]>>();
  #lastCommit: Promise<unknown> = Promise.resolve();

  constructor(
    state: SessionState,
    events: Pick<EventStore, "append" | "lastSeq" | "read" | "watch">,
  ) {
    this.state = state;
    this.#events = events;
  }

  /** Adds a listener, and returns a function that removes it. A listener must not throw. */
  listen(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `listener` when the store tells of another process's events, and returns a function that ends it. */
  watch(listener: () => void): () => void {
    return this.#events.watch?.(this.state.id, listener) ?? (() => {});
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** The first events after `afterSeq`, from the log. Readers that ask at the same time get the same events. */
  page(afterSeq: number, queues: ReaderQueues): Promise<readonly EventEnvelope[]> {
    // Appending also changes events: what was forgotten is in no page that is asked for after that.
    const key = `${this.state.seq} ${afterSeq}`;
    const reading = this.#pages.get(key);
    if (reading) return reading;
    const page = queues
      .read(() => this.#read(afterSeq, queues))
      .finally(() => this.#pages.delete(key));
    this.#pages.set(key, page);
    return page;
  }

  /** Appends events. Concurrent calls append one batch after the other. */
  commit(events: readonly DurableEvent[]): Promise<void> {
    return this.update(() => events);
  }

  /** Appends the events that `decide` returns for the current state. Nothing is appended in between. */
  update(decide: (state: SessionState) => readonly DurableEvent[]): Promise<void> {
    const commit = this.#lastCommit.then(() => this.#append(decide(this.state)));
    // Only the caller of a failed batch sees its error.
    this.#lastCommit = commit.catch(() => {});
    return commit;
  }

  stream(event: TransientEvent): void {
    if (this.#listeners.size === 0) return;
    this.#tell(passing(this.state.id, this.state.seq, event));
  }

  async #append(events: readonly DurableEvent[]): Promise<void> {
    if (events.length === 0) return;
    const { state } = this;
    const batch: NewEvent[] = events.map((event, index) => ({
      event_id: newId(),
      timestamp_ms: Date.now(),
      event: withinNesting(index === 0 ? withBefore(event, state) : event, WRAPPED_NESTING_MAX),
    }));
    const firstSeq = state.seq + 1;
    await this.#events.append(state.id, state.seq, batch, this.held);
    const stored = batch.map(
      (event, index) => ({ ...event, seq: firstSeq + index, schema_version: 1 }) as const,
    );
    for (const event of stored) state.apply(event);
    if (state.isOutdated) {
      await state.catchUp((after, to) => this.#events.read(state.id, after, to));
    }
    for (const event of stored) this.#tell(envelope(state.id, event));
  }

  async #read(afterSeq: number, queues: ReaderQueues): Promise<readonly EventEnvelope[]> {
    const { id } = this.state;
    const events: EventEnvelope[] = [];
    let bytes = 0;
    for await (const stored of this.#events.read(id, afterSeq, afterSeq + PAGE_EVENTS_MAX)) {
      const event = envelope(id, stored);
      events.push(event);
      bytes += queues.sizeOf(event);
      if (bytes >= PAGE_BYTES_MAX) break;
    }
    if (events.length === 0 && (await this.#events.lastSeq(id)) === 0) throw notFound(id);
    return events;
  }

  #tell(event: EventEnvelope): void {
    for (const listener of this.#listeners) listener(event);
  }
}

/** A change of the history says what was there before it, for those who undo it. */
function withBefore(event: DurableEvent, state: SessionState): DurableEvent {
  if (event.type !== "compaction_completed" && event.type !== "tool_output_pruned") return event;
  return { ...event, ...given({ before: state.before }) };
}
