import type { DurableEvent, NewEvent, StoredEvent } from "./event.ts";
import { isUnreadable } from "./event-shape.ts";
import type { SourceView } from "./session-source.ts";
import type { HeldLease } from "./session-store.ts";

/**
 * The append-only log of what happened in each session.
 *
 * Snapshots, `.rkat` files and semantic memory can be rebuilt from it.
 *
 * Contract:
 * - Sequence numbers start at 1 and have no gaps.
 * - A batch is stored whole or not at all.
 * - Appending after a stale sequence number is refused and stores nothing.
 * - Of two appends racing from the same sequence number, one wins.
 * - Of stores that several processes share: an append under a lease is refused when another owner has taken the lease.
 * - When `append` resolves, a durable store has the batch on disk.
 * - Sessions do not see each other.
 * - Positions grow with every event of every session, so that a projection can follow all of them.
 * - Events of some kinds are read without those between them, and are the same that a read of all gives.
 * - Turns are counted up to any event.
 * - The events after a position are counted.
 * - The ends of several logs, and what removes texts behind a place in each, are those that reads of them give.
 * - A search finds text of the whole log, whatever compaction did to the history.
 * - A deleted session leaves nothing to read or find, and its id can be used again.
 * - An event that could not be read back is refused, and nothing of its batch is stored.
 * - `readAll` leaves out what cannot be read any more, so that one session never stops the others.
 * - A redacted event keeps its place, its id and its time. Its old text is in no read, no search and no byte.
 */
export interface EventStore {
  /**
   * Appends `events` after `lastSeq` and returns the new last sequence number. `held` is the lease of the
   * session store under which the writer works, if it works under one.
   *
   * @throws SessionError `SESSION_CONFLICT` when `lastSeq` is not the last one stored, or when
   *   another owner has taken the lease.
   */
  append(
    sessionId: string,
    lastSeq: number,
    events: readonly NewEvent[],
    held?: HeldLease,
  ): Promise<number>;

  /** The last sequence number of a session; 0 when it has none. */
  lastSeq(sessionId: string): Promise<number>;

  /** Reads events after `afterSeq` up to `toSeq`, oldest first. An unknown session reads as empty. */
  read(sessionId: string, afterSeq: number, toSeq?: number): AsyncIterable<StoredEvent>;

  /**
   * The last `limit` events of some kinds after `afterSeq` up to `toSeq`, oldest first. Its cost does not depend on the
   * events of other kinds between them. A store without it is read whole instead.
   */
  readKinds?(
    sessionId: string,
    kinds: readonly IndexedKind[],
    range: KindsRange,
  ): Promise<readonly StoredEvent[]>;

  /**
   * How many user turns of a session had begun by an event, that one included; 0 for an event that is not there. A store
   * without it is read up to the event instead.
   */
  turnsAt?(sessionId: string, seq: number): Promise<number>;

  /** Reads up to `limit` events of all sessions after `afterPosition`, in the order of their commits. */
  readAll(afterPosition: number, limit: number): Promise<readonly PositionedEvent[]>;

  /**
   * How many events of all sessions are after a position, at most `BACKLOG_MAX`, and when the oldest of them was. A
   * store without it is read instead.
   */
  backlog?(afterPosition: number): Promise<Backlog>;

  /**
   * Where logs end, and which of their events behind a place remove texts, in the order of the places. A store without it
   * is asked for one log after the other.
   */
  endings?(places: readonly LogPlace[]): Promise<readonly Ending[]>;

  /** Whether transactions of others that go on keep events from `readAll`, which `backlog` counts. */
  readonly holdsBack?: boolean;

  /** Finds events by the words of their text: prompts, answers, tool arguments and results. Best first. */
  search(query: HistoryQuery): Promise<readonly HistoryHit[]>;

  /** The position that a projection has reached; 0 for one that never ran. */
  checkpoint(projection: string): Promise<number>;
  /** Saves the position of a projection. It never moves back, except to 0, which means start again. */
  saveCheckpoint(projection: string, position: number): Promise<void>;

  delete(sessionId: string): Promise<void>;

  /**
   * Replaces events by the ones with the same `seq`, and appends `told`, all in one transaction.
   * Returns the new last sequence number.
   *
   * @throws SessionError `SESSION_CONFLICT` when `lastSeq` is not the last one stored, when an
   *   event does not exist, or when it has another type.
   */
  redact(
    sessionId: string,
    lastSeq: number,
    redactions: readonly Redaction[],
    told: NewEvent,
  ): Promise<number>;

  /**
   * Makes the events readable that are not: a wrong value becomes a neutral one, and an event of which nothing can be
   * kept becomes `event_lost`. A store without it has no such events.
   */
  repair?(): Promise<readonly RepairedEvent[]>;

  /**
   * Calls `listener` when another process has appended to the session, until the returned function is called. It
   * may miss some, so readers also look by themselves. A store without it leaves them to that.
   */
  watch?(sessionId: string, listener: () => void): () => void;

  close(): Promise<void>;
}

/** A count of events goes no further: it would take long, and nobody would do anything else for more. */
export const BACKLOG_MAX = 100_000;

/** Events that something has not read yet. */
export interface Backlog {
  readonly events: number;
  /** When the oldest of them was stored, in milliseconds; undefined when there is none. */
  readonly oldestMs: number | undefined;
}

/** Kinds of events that change what a session's model sees. Few of them are in a log, and they are found without the rest. */
export const INDEXED_KINDS = [
  "compaction_completed",
  "tool_output_pruned",
  "compaction_undone",
  "history_inherited",
  "memory_recalled",
  "messages_brought_back",
] as const satisfies readonly DurableEvent["type"][];

export type IndexedKind = (typeof INDEXED_KINDS)[number];

/** The events of some kinds that are read: the last `limit` of those after `afterSeq` up to `toSeq`. */
export interface KindsRange {
  readonly afterSeq: number;
  readonly toSeq: number;
  readonly limit: number;
}

/** Whether a session has no log, or one that says that it is deleted. An event that cannot be read says nothing. */
export async function isDeleted(
  sessionId: string,
  events: Pick<EventStore, "lastSeq" | "read">,
): Promise<boolean> {
  const last = await events.lastSeq(sessionId);
  try {
    for await (const { event } of events.read(sessionId, Math.max(0, last - 1), last)) {
      return event.type === "session_deleted";
    }
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return false;
  }
  return true;
}

/** A place in the log of a session: the event with this `seq`. */
export interface LogPlace {
  readonly sessionId: string;
  readonly seq: number;
}

export interface Ending {
  /** The last sequence number; 0 when there is no log. */
  readonly last: number;
  /** The events behind the place that remove texts or the session, oldest first. */
  readonly removals: readonly Removal[];
}

export interface Removal extends StoredEvent {
  readonly event: Extract<DurableEvent, { type: "text_forgotten" | "session_deleted" }>;
}

export function isRemoval(stored: StoredEvent): stored is Removal {
  const { type } = stored.event;
  return type === "text_forgotten" || type === "session_deleted";
}

/** The ends of logs, from any store. */
export async function endingsOf(
  events: EventStore,
  places: readonly LogPlace[],
): Promise<readonly Ending[]> {
  if (events.endings) return await events.endings(places);
  const all: Ending[] = [];
  for (const { sessionId, seq } of places) {
    const last = await events.lastSeq(sessionId);
    const removals: Removal[] = [];
    if (last > seq) {
      for await (const stored of events.read(sessionId, seq, last)) {
        if (isRemoval(stored)) removals.push(stored);
      }
    }
    all.push({ last, removals });
  }
  return all;
}

/** An event that could not be read, and now can. */
export interface RepairedEvent {
  readonly sessionId: string;
  readonly seq: number;
  /** The type that it has now. */
  readonly type: DurableEvent["type"];
}

/** An event without its forgotten text. */
export interface Redaction {
  readonly seq: number;
  readonly event: DurableEvent;
}

/** An event with its position among the events of all sessions. Positions have gaps. */
export interface PositionedEvent {
  readonly position: number;
  readonly sessionId: string;
  readonly stored: StoredEvent;
  /** How many turns of its session had begun by then. An event that begins one counts it. */
  readonly turns: number;
}

export interface HistoryQuery {
  readonly query: string;
  /** Maximum number of results. */
  readonly limit: number;
  readonly sessionId?: string;
  /** First and last turn, both included. The first turn of a session is 0. */
  readonly fromTurn?: number;
  readonly toTurn?: number;
  /** ISO 8601, both included, in UTC without a zone. A day in `until` includes all of that day. */
  readonly since?: string;
  readonly until?: string;
  /** Messages of these sessions only, or of all sessions except these. */
  readonly sessions?: SessionChoice;
}

/** The sessions: only these, or all except these. */
export type SessionChoice =
  | { readonly only: readonly string[] }
  | { readonly except: readonly string[] };

export interface HistoryHit {
  readonly sessionId: string;
  readonly seq: number;
  readonly turn: number;
  readonly role: "user" | "assistant" | "tool";
  /** Who said it, when it was not simply the role: a name, or `model`, `file` or `program`. */
  readonly speaker?: string;
  /** ISO 8601. */
  readonly time: string;
  /** The passage around the found words, up to about 2 000 characters. */
  readonly content: string;
  /** Where its session came from, if another agent held it. A store does not know that: the service adds it. */
  readonly from?: SourceView;
  /** It is in the store of the user, not of the project, for a service that searches both. */
  readonly store?: "user";
}

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
  /** The position that it has reached; 0 at first. What it does besides ends early once `isStopped` is true. */
  position(isStopped?: () => boolean): Promise<number>;
  /** Applies events in order. Afterwards its position is that of the last one. */
  apply(events: readonly PositionedEvent[]): Promise<void>;
}
