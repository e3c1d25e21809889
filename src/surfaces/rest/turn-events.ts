import { type EventEnvelope, isTransient, passing } from "../../core/event.ts";
import type { SessionService } from "../../core/session-service.ts";
import { eventFrame } from "./event-frames.ts";

/** What waits for a slow reader, in characters of its frames. */
const WAITING_MAX = 1024 * 1024;

/**
 * The events of one turn, on their way to a reader that may be slower than the
 * turn. What does not fit is left out: durable events are read from the log
 * again, of deltas a `stream_truncated` says how many there were.
 */
export class TurnEvents {
  readonly #service: Pick<SessionService, "subscribe">;
  readonly #sessionId: string;
  #waiting: { readonly seq: number; readonly frame: string }[] = [];
  #characters = 0;
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
    const frame = eventFrame(event);
    const fits = this.#waiting.length === 0 || this.#characters + frame.length <= WAITING_MAX;
    if (!transient) this.#last = event.seq;
    if (fits && !this.#behind) {
      this.#tellDropped();
      this.#add(event.seq, frame);
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

  /** The frames, several at once when several wait. */
  async *frames(): AsyncGenerator<string> {
    while (this.#state !== "abandoned") {
      if (this.#waiting.length > 0) {
        const frames = this.#waiting.splice(0);
        this.#characters = 0;
        this.#sent = frames.at(-1)?.seq ?? this.#sent;
        yield frames.map(({ frame }) => frame).join("");
      } else if (this.#behind) yield* this.#missed();
      else if (this.#state === "ended") return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  /** What was left out, as the log has it. */
  async *#missed(): AsyncGenerator<string> {
    const request = { sessionId: this.#sessionId, afterSeq: this.#sent };
    for await (const event of this.#service.subscribe(request)) {
      if (this.#state === "abandoned") return;
      if (isTransient(event.payload)) continue;
      this.#sent = event.seq;
      yield eventFrame(event);
      if (this.#sent >= this.#last) break;
    }
    // Leaving the loop takes a moment, in which more may have been left out.
    if (this.#sent < this.#last) return;
    this.#behind = false;
    this.#tellDropped();
  }

  #tellDropped(): void {
    if (this.#dropped === 0) return;
    const payload = { type: "stream_truncated", dropped: this.#dropped } as const;
    this.#dropped = 0;
    this.#add(this.#last, eventFrame(passing(this.#sessionId, this.#last, payload)));
  }

  #add(seq: number, frame: string): void {
    this.#waiting.push({ seq, frame });
    this.#characters += frame.length;
  }
}
