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
import type { SessionState } from "../core/session-state.ts";

export type EventListener = (event: EventEnvelope) => void;

/**
 * A session in this process: its state, its listeners, and the only way to append to its log.
 */
export class LiveSession implements TurnLog {
  readonly state: SessionState;
  /** Interrupts the running turn. Set while a turn runs. */
  running: AbortController | undefined;
  readonly #events: Pick<EventStore, "append">;
  readonly #listeners = new Set<EventListener>();
  #lastCommit: Promise<unknown> = Promise.resolve();

  constructor(state: SessionState, events: Pick<EventStore, "append">) {
    this.state = state;
    this.#events = events;
  }

  /** Adds a listener, and returns a function that removes it. A listener must not throw. */
  listen(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
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
    await this.#events.append(state.id, state.seq, batch);
    for (const [index, event] of batch.entries()) {
      const stored = { ...event, seq: firstSeq + index, schema_version: 1 } as const;
      state.apply(stored);
      this.#tell(envelope(state.id, stored));
    }
  }

  #tell(event: EventEnvelope): void {
    for (const listener of this.#listeners) listener(event);
  }
}
