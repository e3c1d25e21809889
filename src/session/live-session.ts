import type { TurnLog } from "../agent/turn-log.ts";
import {
  type DurableEvent,
  type EventEnvelope,
  envelope,
  type NewEvent,
  passing,
  type TransientEvent,
} from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import { newId } from "../core/ids.ts";
import type { ReaderQueues } from "../core/reader-queues.ts";
import type { SessionState } from "../core/session-state.ts";
import type { HeldLease } from "../core/session-store.ts";

/** A page of the log has at most this many events, and not many more bytes than this. */
const PAGE_EVENTS_MAX = 16;
const PAGE_BYTES_MAX = 1024 * 1024;

export type EventListener = (event: EventEnvelope) => void;

/**
 * A session in this process: its state, its listeners and readers, and the only way to append to its log.
 */
export class LiveSession implements TurnLog {
  readonly state: SessionState;
  /** Interrupts the running turn. Set while a turn runs. */
  running: AbortController | undefined;
  /** The lease under which this process works on the session now. */
  held: HeldLease | undefined;
  readonly #events: Pick<EventStore, "append" | "read" | "watch">;
  readonly #listeners = new Set<EventListener>();
  /** The pages that are being read, by the last event of this process and the event before the page. */
  readonly #pages = new Map<string, Promise<readonly EventEnvelope[]>>();
  #lastCommit: Promise<unknown> = Promise.resolve();

  constructor(state: SessionState, events: Pick<EventStore, "append" | "read" | "watch">) {
    this.state = state;
    this.#events = events;
  }

  /** Adds a listener, and returns a function that removes it. A listener must not throw. */
  listen(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `listener` when the store tells of another process's events, and returns a function that ends it. */
  watch(listener: () => void): () => void {
    return this.#events.watch?.(this.state.id, listener) ?? (() => {});
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** The first events after `afterSeq`, from the log. Readers that ask at the same time get the same events. */
  page(afterSeq: number, queues: ReaderQueues): Promise<readonly EventEnvelope[]> {
    // Appending also changes events: what was forgotten is in no page that is asked for after that.
    const key = `${this.state.seq} ${afterSeq}`;
    const reading = this.#pages.get(key);
    if (reading) return reading;
    const page = queues
      .read(() => this.#read(afterSeq, queues))
      .finally(() => this.#pages.delete(key));
    this.#pages.set(key, page);
    return page;
  }

  /** Appends events. Concurrent calls append one batch after the other. */
  commit(events: readonly DurableEvent[]): Promise<void> {
    return this.update(() => events);
  }

  /** Appends the events that `decide` returns for the current state. Nothing is appended in between. */
  update(decide: (state: SessionState) => readonly DurableEvent[]): Promise<void> {
    const commit = this.#lastCommit.then(() => this.#append(decide(this.state)));
    // Only the caller of a failed batch sees its error.
    this.#lastCommit = commit.catch(() => {});
    return commit;
  }

  stream(event: TransientEvent): void {
    if (this.#listeners.size === 0) return;
    this.#tell(passing(this.state.id, this.state.seq, event));
  }

  async #append(events: readonly DurableEvent[]): Promise<void> {
    if (events.length === 0) return;
    const { state } = this;
    const batch: NewEvent[] = events.map((event) => ({
      event_id: newId(),
      timestamp_ms: Date.now(),
      event,
    }));
    const firstSeq = state.seq + 1;
    await this.#events.append(state.id, state.seq, batch, this.held);
    for (const [index, event] of batch.entries()) {
      const stored = { ...event, seq: firstSeq + index, schema_version: 1 } as const;
      state.apply(stored);
      this.#tell(envelope(state.id, stored));
    }
  }

  async #read(afterSeq: number, queues: ReaderQueues): Promise<readonly EventEnvelope[]> {
    const { id } = this.state;
    const events: EventEnvelope[] = [];
    let bytes = 0;
    for await (const stored of this.#events.read(id, afterSeq, afterSeq + PAGE_EVENTS_MAX)) {
      const event = envelope(id, stored);
      events.push(event);
      bytes += queues.sizeOf(event);
      if (bytes >= PAGE_BYTES_MAX) break;
    }
    return events;
  }

  #tell(event: EventEnvelope): void {
    for (const listener of this.#listeners) listener(event);
  }
}
