import type { EventEnvelope } from "../core/event.ts";

/** The queue for a slow reader, in characters of JSON. */
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;

type State = "open" | "overflowed" | "ended";

/** The events of one subscription, queued for their reader. */
export class RemoteSubscription {
  /** The server's id for it. */
  readonly id: string;
  /** The `seq` after which the reader still needs events. */
  last: number;
  state: State = "open";
  error: unknown;
  #waiting: { readonly event: EventEnvelope; readonly size: number }[] = [];
  #characters = 0;
  #wake = () => {};

  constructor(id: string, afterSeq: number) {
    this.id = id;
    this.last = afterSeq;
  }

  push(event: EventEnvelope, size: number): void {
    if (this.state !== "open") return;
    this.#characters += size;
    // The reader subscribes again after `last` when it has caught up.
    if (this.#characters > WAITING_CHARACTERS_MAX && this.#waiting.length > 0) {
      this.state = "overflowed";
    } else {
      this.#waiting.push({ event, size });
    }
    this.#wake();
  }

  end(error?: unknown): void {
    if (this.state === "ended") return;
    this.state = "ended";
    this.error = error;
    this.#wake();
  }

  /** The queued events and then new ones, until the queue overflows or the subscription ends. */
  async *events(): AsyncIterable<EventEnvelope> {
    while (true) {
      for (const { event, size } of this.#waiting.splice(0)) {
        this.#characters -= size;
        this.last = event.seq;
        yield event;
      }
      if (this.#waiting.length > 0) continue;
      if (this.state !== "open") return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
