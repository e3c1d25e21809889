import type { EventEnvelope } from "../core/event.ts";

/** What may wait for a slow reader, in characters of its JSON. */
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;

type State = "open" | "overflowed" | "ended";

/** Events that came for one subscription and wait for their reader. */
export class RemoteSubscription {
  /** What the server calls it. */
  readonly id: string;
  /** The last event that its reader has had, or need not have. */
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
    // What does not fit is asked for again when the reader is here.
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

  /** What waits, and then what comes, until it overflows or ends. */
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
