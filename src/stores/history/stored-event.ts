import { SessionError } from "../../core/errors.ts";
import type { DurableEvent, StoredEvent } from "../../core/event.ts";
import { isStoredEvent, isUnreadable, unreadableEvent } from "../../core/event-shape.ts";
import { INDEXED_KINDS, type PositionedEvent } from "../../core/event-store.ts";
import { WRAPPED_NESTING_MAX, withinNesting } from "../../core/json-values.ts";
import { isTime } from "../../text/time/calendar.ts";

/** An event as a row; `event` is JSON, so that the thread that wants it parses it. */
export interface EventRow {
  readonly seq: number;
  readonly event_id: string;
  readonly timestamp_ms: number;
  readonly event: string;
}

export interface PositionedEventRow extends EventRow {
  readonly position: number;
  readonly session_id: string;
  readonly turns: number;
}

/** An event that can be compared with what was stored. */
export interface CheckedEventRow extends EventRow {
  readonly session_id: string;
  /** `null` for an event of a store that had no checksums yet. */
  readonly checksum: number | null;
}

/** CRC-32 of an event's number, id, time and JSON. */
export function eventChecksum({ seq, event_id, timestamp_ms, event }: EventRow): number {
  return crc32(event, crc32(`${seq} ${event_id} ${timestamp_ms} `));
}

/** Loaded when it is used: a search appends nothing. */
function crc32(text: string, before = 0): number {
  return process.getBuiltinModule("node:zlib").crc32(text, before);
}

/** A sentence if it is not what was stored, cannot be read, or does not follow event `before` of its log. */
export function eventProblem(row: CheckedEventRow, before: number): string | undefined {
  const { session_id, seq, event, checksum } = row;
  const isRead = ifReadable(() => eventIn(event, seq)) !== undefined;
  const stored = Number(checksum);
  // Earlier versions took the JSON alone.
  const isSame = checksum === null || eventChecksum(row) === stored || crc32(event) === stored;
  if (isSame && isRead) {
    if (seq <= before + 1) return undefined;
    return `Event ${before + 1} of session ${session_id} is missing. Restore a backup, or delete the session.`;
  }
  const what = isSame ? "cannot be read" : "has changed since it was stored";
  const repair = isRead ? "" : " `rkat repair` makes it readable.";
  return `Event ${seq} of session ${session_id} ${what}.${repair}`;
}

/** @throws SessionError `SESSION_STORE_ERROR` when the text is no event any more. */
export function storedEvent({ seq, event_id, timestamp_ms, event: text }: EventRow): StoredEvent {
  if (!(Number.isSafeInteger(seq) && seq > 0 && isTime(timestamp_ms))) throw unreadableEvent(seq);
  return { seq, event_id, timestamp_ms, schema_version: 1, event: eventIn(text, seq) };
}

/** The events of a batch for projections. One that cannot be read is left out: the others do not wait for it. */
export function readableEvents(rows: readonly PositionedEventRow[]): readonly PositionedEvent[] {
  return rows.flatMap((row) => {
    const { position, session_id: sessionId, turns } = row;
    return ifReadable(() => ({ position, sessionId, stored: storedEvent(row), turns })) ?? [];
  });
}

/** `undefined` when it meets an event that cannot be read. */
export function ifReadable<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

/**
 * The number, if it follows the one before. A database that says the same rows again and again would be read for ever.
 *
 * @throws SessionError `SESSION_STORE_ERROR`
 */
export function following(number: number, before: number): number {
  if (number > before) return number;
  throw new SessionError("SESSION_STORE_ERROR", {
    detail: "The database gave events in another order than the one in which they were stored.",
    hint: "`rkat doctor` checks the server and rkat's tables.",
  });
}

/** @throws SessionError `SESSION_STORE_ERROR` when the text is no event any more. */
export function eventIn(text: string, seq: number): DurableEvent {
  return withinNesting(eventAsStored(text, seq), WRAPPED_NESTING_MAX);
}

/** The event with all the levels that an earlier version may have stored. Its words are those of the index. */
export function eventAsStored(text: string, seq: number): DurableEvent {
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    // It has changed, as said below.
  }
  if (isStoredEvent(event)) return event;
  throw unreadableEvent(seq);
}

/**
 * The beginning of a kind's name, by which databases index the events of few kinds:
 *
 *     {"type":"compaction_completed", …
 *              └────────┘ twelve characters, which tell all kinds apart
 */
export function kindMark(kind: DurableEvent["type"]): string {
  return kind.slice(0, MARK_LENGTH);
}

const MARK_LENGTH = 12;

/** The mark of an event in a column of JSON, in SQL. An event of a kind that is not indexed may have any. */
export const KIND_MARK = `substr(event, ${'{"type":"'.length + 1}, ${MARK_LENGTH})`;

/** The condition of the index, which a statement that uses it repeats. */
export const HAS_KIND_MARK = `${KIND_MARK} in (${INDEXED_KINDS.map((kind) => `'${kindMark(kind)}'`).join(", ")})`;
