import { setTimeout as sleep } from "node:timers/promises";
import { recoverRun } from "../agent/run-turn.ts";
import { SessionError, serviceClosed } from "../core/errors.ts";
import type { DurableEvent } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import { joinSignals } from "../core/join-signals.ts";
import type { TurnOptions } from "../core/operations/turns.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import type { SessionState } from "../core/session-state.ts";
import type { HeldLease, SessionStore } from "../core/session-store.ts";
import { harmlessListener } from "../core/warn.ts";
import { WorkQueue } from "../core/work-queue.ts";
import type { ApprovalDesk } from "./approval-desk.ts";
import type { LiveSession } from "./live-sessions.ts";
import { type LiveSessions, notFound } from "./live-sessions.ts";
import {
  newOwner,
  type SaveLast,
  stopElsewhere,
  stoppedSessions,
  withLease,
} from "./session-lease.ts";

/** How long forgetting waits for a turn. */
const TURN_WAIT_MS = 5_000;
const TURN_POLL_MS = 50;

/** How often to look whether another process interrupts a turn of this one. One look is for all turns. */
const STOP_POLL_MS = 250;

interface Deps {
  readonly live: LiveSessions;
  readonly desk: Pick<ApprovalDesk, "takeAnswers">;
  readonly projections: { wake(): void };
}

/** Runs everything that adds to a session's log: one thing at a time per session, over all processes. */
export class SessionWork {
  readonly #events: EventStore;
  readonly #sessions: SessionStore;
  readonly #deps: Deps;
  readonly #owner = newOwner();
  readonly #underWay = new Set<Promise<unknown>>();
  /** The work on each session, under way or waiting. */
  readonly #queues = new Map<string, { readonly works: WorkQueue; waiting: number }>();
  #stops: NodeJS.Timeout | undefined;
  #closed = false;
  readonly #ended = new AbortController();

  constructor(
    stores: { readonly events: EventStore; readonly sessions: SessionStore },
    deps: Deps,
  ) {
    this.#events = stores.events;
    this.#sessions = stores.sessions;
    this.#deps = deps;
  }

  /** Runs `work` while nothing else adds to the session's log. */
  async run<T>(
    sessionId: string,
    { signal, onEvent, archivedToo }: TurnOptions & { readonly archivedToo?: true },
    work: (session: LiveSession, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    this.requireOpen();
    if (signal?.aborted) throw new SessionError("TURN_INTERRUPTED", { cause: signal.reason });
    const session = await this.#deps.live.lastUsed(sessionId);
    if (session.running) throw new SessionError("SESSION_BUSY");
    const controller = new AbortController();
    session.running = controller;
    const stopListening = onEvent ? session.listen(harmlessListener(onEvent)) : undefined;
    const stopped = joinSignals([signal, controller.signal]);
    const turn = this.#underLease(session, archivedToo, () => work(session, stopped.signal));
    this.#underWay.add(turn);
    this.#lookAgain();
    try {
      return await turn;
    } finally {
      this.#underWay.delete(turn);
      if (this.#underWay.size === 0) {
        clearTimeout(this.#stops);
        this.#stops = undefined;
      }
      session.running = undefined;
      stopListening?.();
      stopped.release();
      this.#deps.projections.wake();
    }
  }

  /**
   * Like `run`, and waits for a turn of the session to end first.
   *
   * @throws SessionError `SESSION_BUSY` when it takes longer than `TURN_WAIT_MS`
   */
  async runAfterTurn<T>(sessionId: string, work: (session: LiveSession) => Promise<T>): Promise<T> {
    const givesUpAt = performance.now() + TURN_WAIT_MS;
    for (;;) {
      try {
        return await this.run(sessionId, { archivedToo: true }, work);
      } catch (error) {
        if (!SessionError.is(error) || error.code !== "SESSION_BUSY") throw error;
        if (performance.now() > givesUpAt) {
          throw new SessionError("SESSION_BUSY", {
            message: `A turn is still running in the session "${sessionId}", after ${TURN_WAIT_MS / 1000} seconds.`,
            hint: "Repeat the request when the turn has ended, or interrupt the turn.",
            retry: {},
            cause: error,
          });
        }
        await sleep(TURN_POLL_MS);
      }
    }
  }

  /** Adds events to a session's log: between the steps of a turn that runs here, or when no turn runs. */
  async change(
    sessionId: string,
    decide: (state: SessionState) => readonly DurableEvent[],
  ): Promise<SessionState> {
    const { live } = this.#deps;
    const running = live.running(sessionId);
    if (running) await running.update(decide);
    else await this.run(sessionId, {}, (session) => session.update(decide));
    return (running ?? (await live.open(sessionId))).state;
  }

  /**
   * Interrupts what runs in the session, here or in another process, which notices it within
   * `STOP_POLL_MS`.
   *
   * @throws SessionError `SESSION_NOT_RUNNING`
   */
  async interrupt(sessionId: string): Promise<void> {
    const running = this.#deps.live.running(sessionId);
    if (running) return running.running?.abort(new SessionError("TURN_INTERRUPTED"));
    await this.#deps.live.open(sessionId);
    if (!(await stopElsewhere(this.#sessions, sessionId))) {
      throw new SessionError("SESSION_NOT_RUNNING");
    }
  }

  /**
   * Runs `work` while nothing works on the session, here or in another process.
   *
   * @throws SessionError `SESSION_BUSY`
   */
  async alone<T>(sessionId: string, work: (held: HeldLease) => Promise<T>): Promise<T> {
    // The lease of a turn that runs here has the same owner.
    if (this.#deps.live.running(sessionId)) throw new SessionError("SESSION_BUSY");
    return await this.#withLease(sessionId, work);
  }

  /** The lease is of this process, so what it does on one session waits here for what it did before. */
  #withLease<T>(
    sessionId: string,
    work: (held: HeldLease, saveLast: SaveLast) => Promise<T>,
  ): Promise<T> {
    const queue = this.#queues.get(sessionId) ?? { works: new WorkQueue(), waiting: 0 };
    this.#queues.set(sessionId, queue);
    queue.waiting += 1;
    return queue.works
      .run(() => withLease(this.#sessions, sessionId, this.#owner, work))
      .finally(() => {
        queue.waiting -= 1;
        if (queue.waiting === 0) this.#queues.delete(sessionId);
      });
  }

  /** Whether a turn runs in another process: the log ends inside a run, and another owner holds the lease. */
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

  /** Aborts when the last turn has ended after `close`. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  requireOpen(): void {
    if (this.#closed) throw serviceClosed();
  }

  /** Interrupts the turns of this process and waits for them to end. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const session of this.#deps.live.allRunning()) {
      session.running?.abort(
        new SessionError("TURN_INTERRUPTED", { detail: "The service closed." }),
      );
    }
    await Promise.allSettled(this.#underWay);
    this.#ended.abort();
  }

  async #lookForStops(): Promise<void> {
    this.#stops = undefined;
    // A store that fails now may answer the next time.
    const stopped = await stoppedSessions(this.#sessions, this.#owner).catch(() => []);
    for (const id of stopped) {
      this.#deps.live.running(id)?.running?.abort(new SessionError("TURN_INTERRUPTED"));
    }
    if (this.#underWay.size > 0) this.#lookAgain();
  }

  #lookAgain(): void {
    this.#stops ??= setTimeout(() => void this.#lookForStops(), STOP_POLL_MS).unref();
  }

  #underLease<T>(
    session: LiveSession,
    archivedToo: true | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const { state } = session;
    return this.#withLease(state.id, async (held, saveLast) => {
      session.held = held;
      const read = (after: number, to?: number) => this.#events.read(state.id, after, to);
      await state.catchUp(read, "with the known last");
      if (state.seq === 0 || state.deleted) throw notFound(state.id);
      if (state.archived && !archivedToo) throw isArchived(state.id);
      const { seq } = state;
      await recoverRun(session);
      await this.#deps.desk.takeAnswers(session);
      try {
        return await work();
      } finally {
        session.held = undefined;
        // Another process may have deleted the session for good: a log that is gone refuses what is appended.
        const last = state.seq > seq ? await this.#lastOf(state) : undefined;
        if (last) saveLast(last);
      }
    });
  }

  /** No snapshot is taken while calls are open. The last one stays, with a new time of use. */
  async #lastOf(state: SessionState): Promise<SessionSnapshot | undefined> {
    if (state.openCalls.length === 0) return state.snapshot();
    const last = await this.#sessions.load(state.id);
    return last && { ...last, updated_at_ms: state.updatedAtMs };
  }
}

function isArchived(sessionId: string): SessionError {
  return new SessionError("SESSION_NOT_FOUND", {
    message: `The session "${sessionId}" is archived.`,
    hint: `Unarchive it first (\`rkat sessions unarchive ${sessionId}\`).`,
    archived: true,
  });
}
