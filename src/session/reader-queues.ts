import { type EventEnvelope, isTransient } from "../core/event.ts";

/** Live events that wait for one slow reader. */
const WAITING_MAX = 10_000;
/** Those that wait for all readers of a service together. Readers of one session share the events. */
const ALL_WAITING_MAX = 2_000_000;

/**
 * The live events that wait for the readers of a service. Together they are bounded. When they are
 * too many, the slowest reader loses what waits for it: it reads the durable events from the log
 * again, and `stream_truncated` tells it how many deltas it missed.
 */
export class ReaderQueues {
  readonly #max: number;
  readonly #queues = new Set<ReaderQueue>();
  #waiting = 0;

  constructor(max = ALL_WAITING_MAX) {
    this.#max = max;
  }

  /** How many events wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** A queue for one reader. `onDropped` gets the number of lost deltas. */
  open(onDropped: (deltas: number) => void): ReaderQueue {
    const queue = new ReaderQueue(onDropped, (change) => {
      this.#waiting += change;
      if (this.#waiting > this.#max) this.#slowest()?.drop();
    });
    this.#queues.add(queue);
    return queue;
  }

  close(queue: ReaderQueue): void {
    this.#queues.delete(queue);
    queue.clear();
  }

  #slowest(): ReaderQueue | undefined {
    let slowest: ReaderQueue | undefined;
    for (const queue of this.#queues) {
      if (queue.length > (slowest?.length ?? 0)) slowest = queue;
    }
    return slowest;
  }
}

export class ReaderQueue {
  #events: EventEnvelope[] = [];
  readonly #onDropped: (deltas: number) => void;
  readonly #onChange: (change: number) => void;

  constructor(onDropped: (deltas: number) => void, onChange: (change: number) => void) {
    this.#onDropped = onDropped;
    this.#onChange = onChange;
  }

  get length(): number {
    return this.#events.length;
  }

  get first(): EventEnvelope | undefined {
    return this.#events[0];
  }

  push(event: EventEnvelope): void {
    if (this.length >= WAITING_MAX) this.drop();
    this.#events.push(event);
    this.#onChange(1);
  }

  shift(): EventEnvelope | undefined {
    const event = this.#events.shift();
    if (event) this.#onChange(-1);
    return event;
  }

  /** Loses what waits, and says so. */
  drop(): void {
    const deltas = this.#events.filter(({ payload }) => isTransient(payload)).length;
    this.clear();
    this.#onDropped(deltas);
  }

  clear(): void {
    const { length } = this.#events;
    this.#events = [];
    this.#onChange(-length);
  }
}
