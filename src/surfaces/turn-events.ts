import { type EventEnvelope, eventBytes, isTransient, passing } from "../core/event.ts";
import type { SessionService } from "../core/session-service.ts";

/** Bytes of the events that wait for a slow reader. Thousands may be slow at once. */
const WAITING_BYTES_MAX = 128 * 1024;

/**
 * The events of one turn, queued for a reader that may be slower than the turn.
 *
 * The queue is bounded. Durable events that do not fit are read from the log
 * later. Deltas that do not fit are dropped, and a `stream_truncated` counts them.
 */
export class TurnEvents {
  readonly #service: Pick<SessionService, "subscribe">;
  readonly #sessionId: string;
  #waiting: EventEnvelope[] = [];
  #size = 0;
  #dropped = 0;
  /** The `seq` of the last durable event pushed, and of the last event sent. */
  #last = 0;
  #sent = 0;
  /** Whether durable events have to be read from the log. */
  #behind = false;
  #state: "open" | "ended" | "abandoned" = "open";
  #wake = () => {};
  readonly #begun = Promise.withResolvers<void>();
  /** Resolves with the first event. */
  readonly begun: Promise<void> = this.#begun.promise;

  constructor(service: Pick<SessionService, "subscribe">, sessionId: string) {
    this.#service = service;
    this.#sessionId = sessionId;
  }

  readonly push = (event: EventEnvelope): void => {
    if (this.#state !== "open") return;
    this.#begun.resolve();
    const transient = isTransient(event.payload);
    const size = eventBytes(event.payload);
    const fits = this.#waiting.length === 0 || this.#size + size <= WAITING_BYTES_MAX;
    if (!transient) this.#last = event.seq;
    if (fits && !this.#behind) {
      this.#reportDropped();
      this.#waiting.push(event);
      this.#size += size;
    } else if (transient) this.#dropped += 1;
    else this.#behind = true;
    this.#wake();
  };

  /** No more events come. */
  end(): void {
    if (this.#state === "open") this.#state = "ended";
    this.#wake();
  }

  /** The reader is gone. */
  abandon(): void {
    this.#state = "abandoned";
    this.#waiting = [];
    this.#wake();
  }

  /** The events, in batches of all that are waiting. */
  async *batches(): AsyncGenerator<readonly EventEnvelope[]> {
    while (this.#state !== "abandoned") {
      if (this.#waiting.length > 0) {
        const events = this.#waiting.splice(0);
        this.#size = 0;
        this.#sent = events.at(-1)?.seq ?? this.#sent;
        yield events;
      } else if (this.#behind) yield* this.#missed();
      else if (this.#dropped > 0) this.#reportDropped();
      else if (this.#state === "ended") return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  /** The durable events that did not fit, read from the log. */
  async *#missed(): AsyncGenerator<readonly EventEnvelope[]> {
    const request = { sessionId: this.#sessionId, afterSeq: this.#sent };
    for await (const event of this.#service.subscribe(request)) {
      if (this.#state === "abandoned") return;
      if (isTransient(event.payload)) continue;
      this.#sent = event.seq;
      yield [event];
      if (this.#sent >= this.#last) break;
    }
    // Leaving the loop is asynchronous, so more events may have been skipped meanwhile.
    if (this.#sent >= this.#last) this.#behind = false;
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const payload = { type: "stream_truncated", dropped: this.#dropped } as const;
    this.#dropped = 0;
    this.#waiting.push(passing(this.#sessionId, this.#last, payload));
  }
}

/**
 * Runs a turn and sends its events in order, as fast as the reader takes them.
 * Resolves when the turn has ended and every event was sent.
 */
export async function streamTurn<Result>(
  service: Pick<SessionService, "subscribe">,
  sessionId: string,
  send: (event: EventEnvelope) => Promise<void>,
  run: (onEvent: (event: EventEnvelope) => void) => Promise<Result>,
): Promise<Result> {
  const events = new TurnEvents(service, sessionId);
  const sendAll = async () => {
    for await (const batch of events.batches()) for (const event of batch) await send(event);
  };
  // The reader may be gone, or the session deleted. The turn goes on without them.
  const sent = sendAll().catch(() => events.abandon());
  try {
    return await run(events.push);
  } finally {
    events.end();
    await sent;
  }
}
