import { SessionError } from "../../core/errors.ts";
import type { NewEvent } from "../../core/event.ts";
import { eventJson, jsonOf, mendedEvent } from "../../core/event-shape.ts";
import {
  BACKLOG_MAX,
  type Backlog,
  type IndexedKind,
  type KindsRange,
  type Redaction,
  type RepairedEvent,
} from "../../core/event-store.ts";
import type { HeldLease } from "../../core/session-store.ts";
import { beginsTurn } from "../../core/turn.ts";
import { isTime } from "../../text/time/calendar.ts";
import {
  type CheckedEventRow,
  type EventRow,
  eventAsStored,
  eventChecksum,
  eventProblem,
  HAS_KIND_MARK,
  ifReadable,
  KIND_MARK,
  kindMark,
  type PositionedEventRow,
  storedEvent,
} from "../history/stored-event.ts";
import type { Append } from "../sql/sql.ts";
import type { Connection } from "./connection.ts";
import {
  addManyWaitingWords,
  addWaitingWords,
  changeWords,
  deleteWordsAtOnce,
  expectManyWords,
  lastPosition,
} from "./event-words.ts";

const READ_KIND = `
  SELECT seq, event_id, timestamp_ms, event FROM event
  WHERE log = ? AND ${KIND_MARK} = ? AND ${HAS_KIND_MARK} AND seq > ? AND seq <= ?
  ORDER BY seq DESC LIMIT ?`;

/** The commands of the event store. */
export const eventCommands = {
  appendEvents(
    db: Connection,
    namespace: string,
    sessionId: string,
    lastSeq: number,
    events: readonly NewEvent[],
    held?: HeldLease,
  ): number {
    return db.write(() => {
      if (held) requireNotTaken(db, namespace, held);
      const last = appendInTransaction(db, namespace, sessionId, lastSeq, events);
      addManyWaitingWords(db);
      return last;
    });
  },

  redactEvents(
    db: Connection,
    namespace: string,
    sessionId: string,
    lastSeq: number,
    redactions: readonly Redaction[],
    told: NewEvent,
  ): number {
    return db.write(() => {
      const last = appendInTransaction(db, namespace, sessionId, lastSeq, [told]);
      const log = logKey(db, namespace, sessionId);
      deleteWordsAtOnce(db);
      for (const redaction of redactions) redactEvent(db, log ?? -1, redaction);
      return last;
    });
  },

  lastSeq(db: Connection, namespace: string, sessionId: string): number {
    return lastEvent(db, logKey(db, namespace, sessionId)).seq;
  },

  readEvents(
    db: Connection,
    namespace: string,
    sessionId: string,
    afterSeq: number,
    toSeq: number,
  ): { readonly events: readonly EventRow[]; readonly more: boolean } {
    return page(
      db.iterate<EventRow>(
        `SELECT seq, event_id, timestamp_ms, event FROM event
       WHERE log = (SELECT key FROM log WHERE namespace = ? AND session_id = ?)
         AND seq > ? AND seq <= ? ORDER BY seq`,
        namespace,
        sessionId,
        afterSeq,
        toSeq,
      ),
    );
  },

  /** The last events of some kinds, newest first. */
  readKinds(
    db: Connection,
    namespace: string,
    sessionId: string,
    kinds: readonly IndexedKind[],
    { afterSeq, toSeq, limit }: KindsRange,
  ): readonly EventRow[] {
    const log = logKey(db, namespace, sessionId);
    if (log === undefined) return [];
    const rows = kinds.flatMap((kind) =>
      db.all<EventRow>(READ_KIND, log, kindMark(kind), afterSeq, toSeq, limit),
    );
    return rows.sort((one, other) => other.seq - one.seq).slice(0, limit);
  },

  turnsAt(db: Connection, namespace: string, sessionId: string, seq: number): number {
    const log = logKey(db, namespace, sessionId) ?? -1;
    const sql = "SELECT turns FROM event WHERE log = ? AND seq = ?";
    return db.get<{ turns: number }>(sql, log, seq)?.turns ?? 0;
  },

  readAllEvents(
    db: Connection,
    namespace: string,
    afterPosition: number,
    limit: number,
  ): readonly PositionedEventRow[] {
    const rows = db.iterate<PositionedEventRow>(
      `SELECT position, session_id, seq, turns, event_id, timestamp_ms, event
       FROM event CROSS JOIN log ON key = log
       WHERE position > ? AND namespace = ? ORDER BY position LIMIT ?`,
      afterPosition,
      namespace,
      limit,
    );
    return page(rows, BATCH_MAX).events;
  },

  backlog(db: Connection, namespace: string, afterPosition: number): Backlog {
    const counted = db.get<{ events: number; oldest: number | null }>(
      `SELECT count(*) AS events, min(timestamp_ms) AS oldest FROM (
         SELECT timestamp_ms FROM event CROSS JOIN log ON key = log
         WHERE position > ? AND namespace = ? ORDER BY position LIMIT ?)`,
      afterPosition,
      namespace,
      BACKLOG_MAX,
    );
    return { events: counted?.events ?? 0, oldestMs: counted?.oldest ?? undefined };
  },

  /** Makes events readable. Returns those that it changed, and where to go on. */
  repairEvents(
    db: Connection,
    namespace: string,
    afterPosition: number,
  ): { readonly repaired: readonly RepairedEvent[]; readonly after: number | undefined } {
    const rows = eventCommands.readAllEvents(db, namespace, afterPosition, REPAIR_MAX);
    const broken = rows.filter((row) => !ifReadable(() => storedEvent(row)));
    const repair = () => broken.map((row) => repairEvent(db, row));
    return {
      repaired: broken.length > 0 ? db.write(repair) : [],
      after: rows.at(-1)?.position,
    };
  },

  checkpoint(db: Connection, namespace: string, projection: string): number {
    const row = db.get<{ position: number }>(
      "SELECT position FROM projection_checkpoint WHERE namespace = ? AND projection = ?",
      namespace,
      projection,
    );
    return row?.position ?? 0;
  },

  saveCheckpoint(db: Connection, namespace: string, projection: string, position: number): void {
    db.writeUnsynced(() =>
      db.run(
        `INSERT INTO projection_checkpoint (namespace, projection, position) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET position = excluded.position
         WHERE excluded.position > position OR excluded.position = 0`,
        namespace,
        projection,
        position,
      ),
    );
  },
};

function requireNotTaken(db: Connection, namespace: string, { key, owner }: HeldLease): void {
  const sql = "SELECT owner FROM lease WHERE namespace = ? AND key = ?";
  const holder = db.get<{ owner: string }>(sql, namespace, key)?.owner;
  if (holder === undefined || holder === owner.id) return;
  throw new SessionError("SESSION_CONFLICT", { detail: "Another process has taken the session." });
}

/** Part of a transaction. Returns the position of the first event; the others follow it. */
export function appendImported(
  db: Connection,
  namespace: string,
  appends: readonly Append[],
): number {
  const first = lastPosition(db) + 1;
  if (appends.length > 0) expectManyWords(db);
  for (const { sessionId, lastSeq, events } of appends) {
    appendInTransaction(db, namespace, sessionId, lastSeq, events);
  }
  while (addWaitingWords(db));
  return first;
}

/** Part of a transaction. Returns the new last sequence number. */
function appendInTransaction(
  db: Connection,
  namespace: string,
  sessionId: string,
  lastSeq: number,
  events: readonly NewEvent[],
): number {
  const key = logKey(db, namespace, sessionId);
  let { seq, turns } = lastEvent(db, key);
  if (seq !== lastSeq) {
    throw new SessionError("SESSION_CONFLICT", {
      detail: `Its log ends at ${seq}, not at ${lastSeq}.`,
    });
  }
  if (events.length === 0) return seq;
  const log = key ?? insertLog(db, namespace, sessionId);
  let position = lastPosition(db);
  for (const added of events) {
    position += 1;
    seq += 1;
    if (beginsTurn(added.event)) turns += 1;
    insertEvent(db, { position, log, seq, turns, added });
  }
  return seq;
}

function logKey(db: Connection, namespace: string, sessionId: string): number | undefined {
  return db.get<{ key: number }>(
    "SELECT key FROM log WHERE namespace = ? AND session_id = ?",
    namespace,
    sessionId,
  )?.key;
}

function insertLog(db: Connection, namespace: string, sessionId: string): number {
  return db.insert("INSERT INTO log (namespace, session_id) VALUES (?, ?)", namespace, sessionId);
}

function lastEvent(
  db: Connection,
  log: number | undefined,
): { readonly seq: number; readonly turns: number } {
  const none = { seq: 0, turns: 0 };
  if (log === undefined) return none;
  return (
    db.get<{ seq: number; turns: number }>(
      "SELECT seq, turns FROM event WHERE log = ? ORDER BY seq DESC LIMIT 1",
      log,
    ) ?? none
  );
}

function insertEvent(db: Connection, { position, log, seq, turns, added }: Numbered): void {
  const { event_id, timestamp_ms } = added;
  const text = eventJson(added);
  db.run(
    `INSERT INTO event (position, log, seq, turns, timestamp_ms, event_id, event, checksum)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    position,
    log,
    seq,
    turns,
    timestamp_ms,
    event_id,
    text,
    eventChecksum({ seq, event_id, timestamp_ms, event: text }),
  );
}

/** An event with its places. */
interface Numbered {
  readonly position: number;
  readonly log: number;
  readonly seq: number;
  readonly turns: number;
  readonly added: NewEvent;
}

/** Events that are not what was stored, cannot be read or are missing, one sentence each. */
export function changedEvents(db: Pick<Connection, "iterate">, max: number): readonly string[] {
  const rows = db.iterate<CheckedEventRow & { readonly log: number }>(
    `SELECT log, session_id, seq, event_id, timestamp_ms, event, checksum
     FROM event JOIN log ON key = log WHERE namespace IS NOT NULL ORDER BY position`,
  );
  const problems: string[] = [];
  const last = new Map<number, number>();
  for (const row of rows) {
    const problem = eventProblem(row, last.get(row.log) ?? 0);
    last.set(row.log, row.seq);
    if (problem !== undefined) problems.push(problem);
    if (problems.length === max) break;
  }
  return problems;
}

function redactEvent(db: Connection, log: number, { seq, event }: Redaction): void {
  const row = db.get<EventRow & { readonly position: number }>(
    "SELECT position, seq, event_id, timestamp_ms, event FROM event WHERE log = ? AND seq = ?",
    log,
    seq,
  );
  const before = row && eventAsStored(row.event, seq);
  if (!row || before?.type !== event.type) {
    throw new SessionError("SESSION_CONFLICT", { detail: `Event ${seq} is no ${event.type}.` });
  }
  const text = jsonOf(event);
  db.run(
    "UPDATE event SET event = ?, checksum = ? WHERE position = ?",
    text,
    eventChecksum({ ...row, event: text }),
    row.position,
  );
  changeWords(db, row.position, row.event, event);
}

/** Events that one step of a repair looks at. */
const REPAIR_MAX = 1000;

function repairEvent(db: Connection, row: PositionedEventRow): RepairedEvent {
  const { position, session_id: sessionId, seq, event: before } = row;
  const event = mendedEvent(before);
  const timestamp_ms = isTime(row.timestamp_ms) ? row.timestamp_ms : 0;
  const text = jsonOf(event);
  db.run(
    "UPDATE event SET event = ?, checksum = ?, timestamp_ms = ? WHERE position = ?",
    text,
    eventChecksum({ ...row, timestamp_ms, event: text }),
    timestamp_ms,
    position,
  );
  changeWords(db, position, before, event);
  return { sessionId, seq, type: event.type };
}

/** Characters of JSON that one command handles: enough to be fast, and over soon. */
const PAGE_MAX = 1_000_000;

/** Characters of JSON that a projection is given at once. Large batches make a small index. */
const BATCH_MAX = 2_000_000;

/** The first rows, up to a page of text. */
export function page<Row extends { readonly event: string }>(
  rows: Iterable<Row>,
  sizeMax = PAGE_MAX,
): { readonly events: readonly Row[]; readonly more: boolean } {
  const events: Row[] = [];
  let size = 0;
  for (const row of rows) {
    if (size >= sizeMax) return { events, more: true };
    events.push(row);
    size += row.event.length;
  }
  return { events, more: false };
}
