import type { DurableEvent, TransientEvent } from "../core/event.ts";
import type { SessionState } from "../core/session-state.ts";

/** What the agent sees of a session: where it stands, and how to tell what happens. */
export interface TurnLog {
  readonly state: SessionState;
  /** Puts events into the log, all or none, and then into the state and before the listeners. */
  commit(events: readonly DurableEvent[]): Promise<void>;
  /** The same with what `decide` makes of the state, which nothing changes in between. */
  update(decide: (state: SessionState) => readonly DurableEvent[]): Promise<void>;
  /** Shows an event that is not kept. */
  stream(event: TransientEvent): void;
}
