import { type EventEnvelope, eventBytes, isTransient } from "./event.ts";

/** Bytes of the events that wait for one reader. */
const WAITING_BYTES_MAX = 1024 * 1024;
/** Bytes of the events that wait for all readers of a process. */
const ALL_WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** Bytes of a place in a queue. */
const PLACE_BYTES = 16;
/** Pages that are read from the log at once. What the store's thread has answered waits in memory. */
const READS_MAX = 8;

/** An event that waits. It is in memory once, however many readers it waits for. */
interface Waiting {
  readonly bytes: number;
  queues: number;
}

/**
 * The events that wait for readers: of subscriptions and of turns. Together they are bounded in bytes. Beyond the
 * bound, the reader that has taken nothing for the longest time loses what waits for it. It reads the durable
 * events from the log again, and `stream_truncated` tells it how many deltas it missed.
 */
export class ReaderQueues {
  readonly #max: number;
  /** The queues that have events to lose. The slowest reader is first. */
  readonly #long = new Set<ReaderQueue>();
  readonly #waiting = new WeakMap<EventEnvelope, Waiting>();
  readonly #nextReads: (() => void)[] = [];
  #reads = 0;
  #bytes = 0;

  constructor(max = ALL_WAITING_BYTES_MAX) {
    this.#max = max;
  }

  /** Bytes of all events that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A queue for one reader. `onDropped` gets the number of lost deltas. */
  open(onDropped: (deltas: number) => void): ReaderQueue {
    return new ReaderQueue(this, onDropped);
  }

  /** Reads from the log, when few other readers do. */
  async read<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#reads >= READS_MAX) {
      await new Promise<void>((resolve) => this.#nextReads.push(resolve));
    }
    this.#reads += 1;
    try {
      return await work();
    } finally {
      this.#reads -= 1;
      this.#nextReads.shift()?.();
    }
  }

  /** Bytes of an event and its place in one queue. */
  sizeOf(event: EventEnvelope): number {
    return this.#of(event).bytes + PLACE_BYTES;
  }

  added(queue: ReaderQueue, event: EventEnvelope): void {
    const waiting = this.#of(event);
    if (waiting.queues === 0) this.#bytes += waiting.bytes;
    waiting.queues += 1;
    this.#bytes += PLACE_BYTES;
    if (queue.length > 1) this.#long.add(queue);
    for (const slowest of this.#long) {
      if (this.#bytes <= this.#max) break;
      slowest.drop();
    }
  }

  removed(queue: ReaderQueue, events: readonly EventEnvelope[]): void {
    for (const event of events) {
      const waiting = this.#of(event);
      waiting.queues -= 1;
      if (waiting.queues === 0) this.#bytes -= waiting.bytes;
      this.#bytes -= PLACE_BYTES;
    }
    this.#long.delete(queue);
    if (queue.length > 1) this.#long.add(queue);
  }

  #of(event: EventEnvelope): Waiting {
    let waiting = this.#waiting.get(event);
    if (!waiting) {
      waiting = { bytes: eventBytes(event.payload), queues: 0 };
      this.#waiting.set(event, waiting);
    }
    return waiting;
  }
}

export class ReaderQueue {
  readonly #all: ReaderQueues;
  readonly #onDropped: (deltas: number) => void;
  #events: EventEnvelope[] = [];
  #bytes = 0;

  constructor(all: ReaderQueues, onDropped: (deltas: number) => void) {
    this.#all = all;
    this.#onDropped = onDropped;
  }

  get length(): number {
    return this.#events.length;
  }

  get first(): EventEnvelope | undefined {
    return this.#events[0];
  }

  /** Whether the queue has room for this event. An empty queue has room for any. */
  fits(event: EventEnvelope): boolean {
    return this.length === 0 || this.#bytes + this.#all.sizeOf(event) <= WAITING_BYTES_MAX;
  }

  push(event: EventEnvelope): void {
    if (!this.fits(event)) this.drop();
    this.#events.push(event);
    this.#bytes += this.#all.sizeOf(event);
    this.#all.added(this, event);
  }

  /** Removes the first events, of about `bytesMax` together. It removes one at least. */
  take(bytesMax: number): EventEnvelope[] {
    let bytes = 0;
    let count = 0;
    for (const event of this.#events) {
      bytes += this.#all.sizeOf(event);
      count += 1;
      if (bytes >= bytesMax) break;
    }
    const taken = this.#events.splice(0, count);
    this.#bytes -= bytes;
    this.#all.removed(this, taken);
    return taken;
  }

  shift(): EventEnvelope | undefined {
    const event = this.#events.shift();
    if (event) {
      this.#bytes -= this.#all.sizeOf(event);
      this.#all.removed(this, [event]);
    }
    return event;
  }

  /** Loses all events but the first. The first one stays, so that every reader makes progress. */
  drop(): void {
    if (this.length <= 1) return;
    const [first, ...lost] = this.#events as [EventEnvelope, ...EventEnvelope[]];
    this.#events = [first];
    this.#bytes = this.#all.sizeOf(first);
    this.#all.removed(this, lost);
    this.#onDropped(lost.filter(({ payload }) => isTransient(payload)).length);
  }

  clear(): void {
    const events = this.#events;
    this.#events = [];
    this.#bytes = 0;
    this.#all.removed(this, events);
  }
}

/** The queues of all readers of this process, whichever service and surface they use. */
export const readerQueues = new ReaderQueues();
