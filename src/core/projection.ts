import type { PositionedEvent } from "./event-store.ts";

/**
 * Something rebuilt from the log, such as files or a memory index.
 *
 * Contract:
 * - Applying events that were applied before changes nothing.
 * - When `apply` resolves, its work and `position` survive a crash.
 * - After a kill at any point, the next `apply` repairs what was half done.
 */
export interface Projection {
  readonly name: string;
  /** Its work is on this machine, so that each machine does it. Otherwise one process does it for all. */
  readonly isLocal?: boolean;
  /** The position that it has reached; 0 at first. */
  position(): Promise<number>;
  /** Applies events in order. Afterwards its position is that of the last one. */
  apply(events: readonly PositionedEvent[]): Promise<void>;
}
