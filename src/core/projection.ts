import type { PositionedEvent } from "./event-store.ts";

/**
 * Something rebuilt from the log: files, a memory index.
 *
 * Contract:
 * - Applying events that were applied before changes nothing.
 * - When `apply` resolves, its work and `position` survive a crash.
 * - Killed at any point, the next `apply` heals what was half done.
 */
export interface Projection {
  readonly name: string;
  /** The position it has reached; 0 when it has yet to begin. */
  position(): Promise<number>;
  /** Applies events, in order; afterwards its position is that of the last. */
  apply(events: readonly PositionedEvent[]): Promise<void>;
}
