import { SessionError } from "../../core/errors.ts";
import type { MemoryStats } from "../../core/memory-store.ts";
import type { Connection } from "./connection.ts";
import { NAMESPACES_MAX, PLACES_MAX, sessionNumbers } from "./memory-place.ts";

/** What a session number has been given to. */
export interface MemorySession {
  readonly number: number;
  /** Given to passages so far, those of deleted entries too. */
  passages: number;
  entries: number;
  text_bytes: number;
}

/** The number that stands for a namespace; `undefined` when it has no memory. */
export function namespaceNumber(db: Connection, namespace: string): number | undefined {
  return db.get<{ number: number }>("SELECT number FROM memory_namespace WHERE name = ?", namespace)
    ?.number;
}

/** The same, given to the namespace if it has none. */
export function keepNamespace(db: Connection, namespace: string): number {
  const known = namespaceNumber(db, namespace);
  if (known !== undefined) return known;
  const number = db.get<{ next: number }>(
    "SELECT coalesce(max(number) + 1, 0) AS next FROM memory_namespace",
  )?.next;
  if (number === undefined || number >= NAMESPACES_MAX) throw full("namespaces");
  db.run("INSERT INTO memory_namespace VALUES (?, ?, 0)", number, namespace);
  return number;
}

/** How many passages a namespace has, more or less: those of deleted entries count. */
export function passagesOf(db: Connection, namespace: number): number {
  const sql = "SELECT passages FROM memory_namespace WHERE number = ?";
  return db.get<{ passages: number }>(sql, namespace)?.passages ?? 0;
}

export function addPassages(db: Connection, namespace: number, passages: number): void {
  const sql = "UPDATE memory_namespace SET passages = passages + ? WHERE number = ?";
  db.run(sql, passages, namespace);
}

/** The session numbers of one session, the one that is being filled last. */
export function memorySessions(
  db: Connection,
  namespace: number,
  sessionId: string,
): MemorySession[] {
  return db.all<MemorySession>(
    `SELECT number, passages, entries, text_bytes FROM memory_session
     WHERE namespace = ? AND id = ? ORDER BY number`,
    namespace,
    sessionId,
  );
}

/** A session number of the session with room for so many more passages. */
export function sessionWithRoom(
  db: Connection,
  namespace: number,
  sessionId: string,
  passages: number,
): MemorySession {
  const last = memorySessions(db, namespace, sessionId).at(-1);
  return last && hasRoom(last, passages) ? last : newSession(db, namespace, sessionId);
}

export function hasRoom(session: MemorySession, passages: number): boolean {
  return session.passages + passages <= PLACES_MAX;
}

export function saveSession(db: Connection, session: MemorySession): void {
  db.run(
    "UPDATE memory_session SET passages = ?, entries = ?, text_bytes = ? WHERE number = ?",
    session.passages,
    session.entries,
    session.text_bytes,
    session.number,
  );
}

/** Of one session, or of all with `null`. */
export function memoryStats(
  db: Connection,
  namespace: string,
  sessionId: string | null,
): Omit<MemoryStats, "index"> {
  const stats = db.get<Omit<MemoryStats, "index">>(
    `SELECT coalesce(sum(entries), 0) AS entries,
            count(DISTINCT CASE WHEN entries > 0 THEN id END) AS sessions,
            coalesce(sum(text_bytes), 0) AS textBytes
     FROM memory_session WHERE namespace = ?1 AND (?2 IS NULL OR id = ?2)`,
    namespaceNumber(db, namespace) ?? -1,
    sessionId,
  );
  return { entries: 0, sessions: 0, textBytes: 0, ...stats };
}

function newSession(db: Connection, namespace: number, sessionId: string): MemorySession {
  const { first, last } = sessionNumbers(namespace);
  const number = db.get<{ next: number }>(
    `SELECT coalesce(max(number) + 1, ?1) AS next FROM memory_session
     WHERE number BETWEEN ?1 AND ?2`,
    first,
    last,
  )?.next;
  if (number === undefined || number > last) throw full("sessions");
  db.run("INSERT INTO memory_session VALUES (?, ?, ?, 0, 0, 0)", number, namespace, sessionId);
  return { number, passages: 0, entries: 0, text_bytes: 0 };
}

function full(of: string): SessionError {
  return new SessionError("SESSION_STORE_ERROR", { detail: `The memory holds no more ${of}.` });
}
