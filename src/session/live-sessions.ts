import { SessionError } from "../core/errors.ts";
import type { EventStore } from "../core/event-store.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { type ReadLog, SessionState } from "../core/session-state.ts";
import type { SessionStore } from "../core/session-store.ts";
import { LiveSession } from "./live-session.ts";

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

  /** The session as it was last used here, which may be behind the log. A new one is up to date. */
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
    const known = this.#byId.get(sessionId);
    // A turn that runs here keeps its state up to date itself.
    if (known?.running) return known;
    const session = known ?? (await this.#load(sessionId));
    await session.state.catchUp((after, to) => this.#events.read(sessionId, after, to));
    this.#byId.delete(sessionId);
    this.add(session);
    return session;
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
