import type { SessionService } from "../../core/session-service.ts";
import { shuttingDown, unavailable } from "../http/error-response.ts";

/** The turns and compactions that run for requests. They outlive the request that began them. */
export class RunningTurns {
  readonly #service: Pick<SessionService, "interrupt">;
  readonly #max: number;
  readonly #sessions = new Map<Promise<unknown>, string>();
  #draining = false;

  constructor(service: Pick<SessionService, "interrupt">, max: number) {
    this.#service = service;
    this.#max = max;
  }

  /** @throws SessionError `SERVICE_UNAVAILABLE` when as many run as may, or no more shall. */
  run<Result>(sessionId: string, work: () => Promise<Result>): Promise<Result> {
    // Its body may have been on its way when the end began.
    if (this.#draining) throw shuttingDown();
    if (this.#sessions.size >= this.#max)
      throw unavailable(`Too many turns: ${this.#max} are running.`);
    const turn = work();
    this.#sessions.set(turn, sessionId);
    const forget = () => this.#sessions.delete(turn);
    turn.then(forget, forget);
    return turn;
  }

  /** Begins no more, lets them end by themselves for a while, then interrupts them. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const timer = setTimeout(() => {
      for (const sessionId of this.#sessions.values()) {
        // One that has just ended needs no interruption.
        this.#service.interrupt({ sessionId }).catch(() => {});
      }
    }, graceMs);
    await Promise.allSettled(this.#sessions.keys());
    clearTimeout(timer);
  }
}
