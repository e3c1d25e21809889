import { SessionError } from "../../core/errors.ts";
import type { SessionService } from "../../core/session-service.ts";
import { wireError } from "../call-operation.ts";
import { shuttingDown, unavailable } from "../http/error-response.ts";
import type { TurnEvents } from "../turn-events.ts";
import type { RestLimits } from "./rest-options.ts";
import { eventFrame, frame, type OpenStream, streamResponse } from "./stream-response.ts";

type Turn = Promise<Record<string, unknown>>;

/**
 * Starts a turn and streams its events and its result. A turn that fails before its
 * first event fails like any other request.
 */
export async function turnStream(
  begin: () => Turn,
  events: TurnEvents,
  stream: OpenStream,
  limits: Pick<RestLimits, "heartbeatMs" | "stallMs">,
): Promise<Response> {
  const onEnd = () => {
    stream.close();
    events.abandon();
  };
  try {
    const turn = begin();
    const end = () => events.end();
    turn.then(end, end);
    await Promise.race([events.begun, turn]);
    return streamResponse(frames(events, turn), { ...limits, onEnd });
  } catch (error) {
    onEnd();
    throw error;
  }
}

async function* frames(events: TurnEvents, turn: Turn): AsyncGenerator<Uint8Array> {
  try {
    for await (const batch of events.batches()) yield Buffer.concat(batch.map(eventFrame));
    yield frame("result", await turn);
  } catch (error) {
    yield frame("error", wireError(SessionError.from(error)));
  }
}

/** The running turns and compactions. They outlive the requests that started them. */
export class RunningTurns {
  readonly #max: number;
  readonly #turns = new Map<Promise<unknown>, () => Promise<void>>();
  #draining = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws SessionError `SERVICE_UNAVAILABLE` when too many are running, or the server shuts down. */
  run<Result>(
    service: Pick<SessionService, "interrupt">,
    sessionId: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    // The shutdown may have begun while the request's body arrived.
    if (this.#draining) throw shuttingDown();
    if (this.#turns.size >= this.#max)
      throw unavailable(`Too many turns: ${this.#max} are running.`);
    const turn = work();
    this.#turns.set(turn, () => service.interrupt({ sessionId }));
    const forget = () => this.#turns.delete(turn);
    turn.then(forget, forget);
    return turn;
  }

  /** Starts no more, waits `graceMs` for the running ones, then interrupts them. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const timer = setTimeout(() => {
      for (const interrupt of this.#turns.values()) {
        // It may just have ended.
        interrupt().catch(() => {});
      }
    }, graceMs);
    await Promise.allSettled(this.#turns.keys());
    clearTimeout(timer);
  }
}
