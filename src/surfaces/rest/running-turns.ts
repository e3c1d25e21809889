import type { SessionService } from "../../core/session-service.ts";
import { shuttingDown, unavailable } from "../http/error-response.ts";

/** The running turns and compactions. They outlive the requests that started them. */
export class RunningTurns {
  readonly #service: Pick<SessionService, "interrupt">;
  readonly #max: number;
  readonly #sessions = new Map<Promise<unknown>, string>();
  #draining = false;

  constructor(service: Pick<SessionService, "interrupt">, max: number) {
    this.#service = service;
    this.#max = max;
  }

  /** @throws SessionError `SERVICE_UNAVAILABLE` when too many are running, or the server shuts down. */
  run<Result>(sessionId: string, work: () => Promise<Result>): Promise<Result> {
    // The shutdown may have begun while the request's body arrived.
    if (this.#draining) throw shuttingDown();
    if (this.#sessions.size >= this.#max)
      throw unavailable(`Too many turns: ${this.#max} are running.`);
    const turn = work();
    this.#sessions.set(turn, sessionId);
    const forget = () => this.#sessions.delete(turn);
    turn.then(forget, forget);
    return turn;
  }

  /** Starts no more, waits `graceMs` for the running ones, then interrupts them. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const timer = setTimeout(() => {
      for (const sessionId of this.#sessions.values()) {
        // It may just have ended.
        this.#service.interrupt({ sessionId }).catch(() => {});
      }
    }, graceMs);
    await Promise.allSettled(this.#sessions.keys());
    clearTimeout(timer);
  }
}
