import type { DurableEvent, TransientEvent } from "../core/event.ts";
import type { SessionState } from "../core/session-state.ts";

/** The agent's view of a session: its state, and its log to append to. */
export interface TurnLog {
  readonly state: SessionState;
  /** Appends events, all or none, then updates the state and tells the listeners. */
  commit(events: readonly DurableEvent[]): Promise<void>;
  /** Appends the events that `decide` returns for the current state. */
  update(decide: (state: SessionState) => readonly DurableEvent[]): Promise<void>;
  /** Tells the listeners an event that is not stored. */
  stream(event: TransientEvent): void;
}
