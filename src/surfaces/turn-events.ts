import { type EventEnvelope, isTransient, passing } from "../core/event.ts";
import { type ReaderQueue, type ReaderQueues, readerQueues } from "../core/reader-queues.ts";
import type { SessionService } from "../core/session-service.ts";

/** Bytes of the events of one batch. */
const BATCH_BYTES_MAX = 64 * 1024;

/**
 * The events of one turn, queued for a reader that may be slower than the turn.
 *
 * The queue is bounded, with those of all other readers. After an event that did not fit, nothing more
 * is queued until the reader has taken what waits. Durable events are then read from the log, and a
 * `stream_truncated` counts the deltas that were dropped.
 */
export class TurnEvents {
  readonly #service: Pick<SessionService, "subscribe">;
  readonly #sessionId: string;
  readonly #waiting: ReaderQueue;
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

  constructor(
    service: Pick<SessionService, "subscribe">,
    sessionId: string,
    queues: ReaderQueues = readerQueues,
  ) {
    this.#service = service;
    this.#sessionId = sessionId;
    this.#waiting = queues.open((deltas) => {
      this.#dropped += deltas;
      this.#behind = true;
    });
  }

  readonly push = (event: EventEnvelope): void => {
    if (this.#state !== "open") return;
    this.#begun.resolve();
    const transient = isTransient(event.payload);
    if (!transient) this.#last = event.seq;
    const mayWait = !this.#behind && this.#dropped === 0 && this.#waiting.fits(event);
    if (mayWait) this.#waiting.push(event);
    else if (transient) this.#dropped += 1;
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
    this.#waiting.clear();
    this.#wake();
  }

  /** The events, in batches of those that are waiting. */
  async *batches(): AsyncGenerator<readonly EventEnvelope[]> {
    while (this.#state !== "abandoned") {
      if (this.#waiting.length > 0) {
        const events = this.#waiting.take(BATCH_BYTES_MAX);
        this.#sent = events.at(-1)?.seq ?? this.#sent;
        yield events;
      } else if (this.#behind) yield* this.#missed();
      else if (this.#dropped > 0) yield [this.#truncated()];
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
    if (this.#sent < this.#last) {
      for await (const event of this.#service.subscribe(request)) {
        if (this.#state === "abandoned") return;
        if (isTransient(event.payload)) continue;
        this.#sent = event.seq;
        yield [event];
        if (this.#sent >= this.#last) break;
      }
    }
    // Leaving the loop is asynchronous, so more events may have been skipped meanwhile.
    if (this.#sent >= this.#last) this.#behind = false;
  }

  #truncated(): EventEnvelope {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return passing(this.#sessionId, this.#last, { type: "stream_truncated", dropped });
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
