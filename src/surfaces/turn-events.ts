import { type EventEnvelope, isTransient, passing } from "../core/event.ts";
import type { SessionService } from "../core/session-service.ts";

/** What waits for a slow reader, in characters of the events' texts. */
const WAITING_MAX = 1024 * 1024;

/**
 * The events of one turn, on their way to a reader that may be slower than the
 * turn. What does not fit is left out: durable events are read from the log
 * again, of deltas a `stream_truncated` says how many there were.
 */
export class TurnEvents {
  readonly #service: Pick<SessionService, "subscribe">;
  readonly #sessionId: string;
  #waiting: EventEnvelope[] = [];
  #size = 0;
  #dropped = 0;
  /** The last durable event that there was, and the last that went out. */
  #last = 0;
  #sent = 0;
  /** Whether durable events were left out. */
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
    const size = sizeOf(event.payload);
    const fits = this.#waiting.length === 0 || this.#size + size <= WAITING_MAX;
    if (!transient) this.#last = event.seq;
    if (fits && !this.#behind) {
      this.#tellDropped();
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

  /** Nobody reads them any more. */
  abandon(): void {
    this.#state = "abandoned";
    this.#waiting = [];
    this.#wake();
  }

  /** The events, several at once when several wait. */
  async *batches(): AsyncGenerator<readonly EventEnvelope[]> {
    while (this.#state !== "abandoned") {
      if (this.#waiting.length > 0) {
        const events = this.#waiting.splice(0);
        this.#size = 0;
        this.#sent = events.at(-1)?.seq ?? this.#sent;
        yield events;
      } else if (this.#behind) yield* this.#missed();
      else if (this.#dropped > 0) this.#tellDropped();
      else if (this.#state === "ended") return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  /** What was left out, as the log has it. */
  async *#missed(): AsyncGenerator<readonly EventEnvelope[]> {
    const request = { sessionId: this.#sessionId, afterSeq: this.#sent };
    for await (const event of this.#service.subscribe(request)) {
      if (this.#state === "abandoned") return;
      if (isTransient(event.payload)) continue;
      this.#sent = event.seq;
      yield [event];
      if (this.#sent >= this.#last) break;
    }
    // Leaving the loop takes a moment, in which more may have been left out.
    if (this.#sent >= this.#last) this.#behind = false;
  }

  #tellDropped(): void {
    if (this.#dropped === 0) return;
    const payload = { type: "stream_truncated", dropped: this.#dropped } as const;
    this.#dropped = 0;
    this.#waiting.push(passing(this.#sessionId, this.#last, payload));
  }
}

/**
 * Runs a turn and tells a reader of its events, one after the other and at the
 * reader's pace. Resolves when the turn has ended and the reader knows all of it.
 */
export async function tellTurn<Result>(
  service: Pick<SessionService, "subscribe">,
  sessionId: string,
  tell: (event: EventEnvelope) => Promise<void>,
  run: (onEvent: (event: EventEnvelope) => void) => Promise<Result>,
): Promise<Result> {
  const events = new TurnEvents(service, sessionId);
  const telling = async () => {
    for await (const batch of events.batches()) for (const event of batch) await tell(event);
  };
  // A reader that is gone, or a session that was deleted, leaves nothing to tell; the turn goes on.
  const told = telling().catch(() => events.abandon());
  try {
    return await run(events.push);
  } finally {
    events.end();
    await told;
  }
}

/** Characters of all texts in a value, and a little for everything that is in it. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  return Object.values(value).reduce<number>((sum, item) => sum + 16 + sizeOf(item), 0);
}
