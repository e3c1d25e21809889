import type { MemoryRecalled, Origin } from "./event.ts";
import type { Message } from "./message.ts";

/**
 * The list of items that the agent loop of another package keeps in a session.
 *
 * The items come back as they were given. What is said in them gets into the session's messages,
 * once, and so into memory and searches.
 *
 * Contract:
 * - What was changed is read as it was given, in order, by every process.
 * - Changes happen one after the other, each whole or not at all.
 * - A forgotten text is in no item.
 */
export interface HostRecord {
  /** The list as it is now. */
  read(): Promise<HostItems>;
  /** Changes the list. `decide` sees it as it is, and nothing comes in between. It may throw. */
  change(decide: (now: HostItems) => HostChange | undefined): Promise<void>;
}

export interface HostItems {
  readonly items: readonly unknown[];
  /** When they were last changed, in Unix milliseconds; 0 before the first change. */
  readonly changedAtMs: number;
  /** The records of memory that came back by themselves, oldest first, each with the number of items at that time. */
  readonly recalled: readonly HostRecalled[];
  /** Ids of records that a person refused: they never come back by themselves. `recalled` is without them. */
  readonly refused: ReadonlySet<string>;
  /** Whether an operation with this id was done already, and whether it was the same one. */
  done(operation: HostOperation): "same" | "other" | "no";
}

export interface HostRecalled {
  /** The `seq` of the event. */
  readonly seq: number;
  readonly itemCount: number;
  /** Without the records that a person refused since. */
  readonly event: MemoryRecalled;
  /** The event as it was at first. */
  readonly whole: MemoryRecalled;
}

/** A host's id for a change, which stays when the change is tried again, and the change as JSON. */
export interface HostOperation {
  readonly id: string;
  readonly change: unknown;
}

export interface HostChange {
  /** Items that are replaced. Without it, `items` come after all others. */
  readonly replaced?: { readonly from: number; readonly count: number };
  readonly items: readonly unknown[];
  readonly operation?: HostOperation;
  /** Records of memory that the host's model sees from now on. They are no items, and nothing that was said. */
  readonly recalled?: MemoryRecalled;
  /** The list begins again. Operations that were done may be done again. */
  readonly restarts?: true;
}

/** An item as a message. */
export interface HostMessage {
  readonly message: Message;
  readonly origin?: Origin;
}

/** Reads what an item says. `undefined`: nothing that belongs into a session's messages. */
export type ReadHostItem = (item: unknown) => HostMessage | undefined;
