import { recoverRun } from "../agent/recover-run.ts";
import { SessionError } from "../core/errors.ts";
import type { DurableEvent } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import type { TurnOptions } from "../core/session-service.ts";
import type { SessionState } from "../core/session-state.ts";
import type { SessionStore } from "../core/session-store.ts";
import type { LiveSession } from "./live-session.ts";
import { type LiveSessions, notFound } from "./live-sessions.ts";
import { newOwner, withLease } from "./session-lease.ts";

interface Parts {
  readonly events: EventStore;
  readonly sessions: SessionStore;
  readonly live: LiveSessions;
  /** Puts answers into the log that came while nobody worked on the session. */
  takeAnswers(session: LiveSession): Promise<void>;
  /** Something may have been added to the log. */
  worked(): void;
}

/** Work on sessions that adds to their logs: on each one at a time, over all processes. */
export class SessionWork {
  readonly #parts: Parts;
  readonly #owner = newOwner();
  readonly #underWay = new Set<Promise<unknown>>();
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Runs something that adds to a session's log, while nothing else does. */
  async run<T>(
    sessionId: string,
    { signal, onEvent, archivedToo }: TurnOptions & { readonly archivedToo?: true },
    work: (session: LiveSession, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (this.#closed) throw new SessionError("AGENT_ERROR", { detail: "The service is closed." });
    if (signal?.aborted) throw new SessionError("TURN_INTERRUPTED", { cause: signal.reason });
    const session = await this.#parts.live.open(sessionId);
    if (session.state.archived && !archivedToo) {
      throw new SessionError("SESSION_NOT_FOUND", {
        message: `The session "${sessionId}" is archived.`,
      });
    }
    if (session.running) throw new SessionError("SESSION_BUSY");
    const controller = new AbortController();
    session.running = controller;
    const stopListening = onEvent ? session.listen(onEvent) : undefined;
    const stopped = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
    const turn = this.#underLease(session, () => work(session, stopped));
    this.#underWay.add(turn);
    try {
      return await turn;
    } finally {
      this.#underWay.delete(turn);
      session.running = undefined;
      stopListening?.();
      this.#parts.worked();
    }
  }

  /** Adds to a session's log between the steps of the turn that runs here, or while none does. */
  async change(
    sessionId: string,
    decide: (state: SessionState) => readonly DurableEvent[],
  ): Promise<SessionState> {
    const { live } = this.#parts;
    const running = live.running(sessionId);
    if (running) await running.update(decide);
    else await this.run(sessionId, {}, (session) => session.update(decide));
    return (running ?? (await live.open(sessionId))).state;
  }

  /** Runs something on a session from outside, while no process works on it. */
  alone<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    return withLease(this.#parts.sessions, sessionId, this.#owner, work);
  }

  /** Whether another process is in the middle of a turn: its log says so, and it holds the lease. */
  async runsElsewhere({ state }: LiveSession): Promise<boolean> {
    if (!state.running) return false;
    try {
      await this.alone(state.id, async () => {});
      return false;
    } catch (error) {
      if (SessionError.is(error) && error.code === "SESSION_BUSY") return true;
      throw error;
    }
  }

  /** Stops what runs here, and waits for its end. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const session of this.#parts.live.allRunning()) {
      session.running?.abort(
        new SessionError("TURN_INTERRUPTED", { detail: "The service closed." }),
      );
    }
    await Promise.allSettled(this.#underWay);
  }

  #underLease<T>(session: LiveSession, work: () => Promise<T>): Promise<T> {
    const { events, sessions, takeAnswers } = this.#parts;
    const { state } = session;
    return this.alone(state.id, async () => {
      await state.catchUp((after, to) => events.read(state.id, after, to));
      if (state.seq === 0) throw notFound(state.id);
      await recoverRun(session);
      await takeAnswers(session);
      try {
        return await work();
      } finally {
        if (state.openCalls.length === 0) await sessions.save(state.snapshot());
        else await this.#touch(state);
      }
    });
  }

  /**
   * With calls open the log alone knows how far they came. The last snapshot is
   * as good, but for when the session was used last.
   */
  async #touch({ id, updatedAtMs }: SessionState): Promise<void> {
    const { sessions } = this.#parts;
    const last = await sessions.load(id);
    if (last) await sessions.save({ ...last, updated_at_ms: updatedAtMs });
  }
}
