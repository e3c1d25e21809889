import type { Connection } from "../connection.ts";
import type { MemoryNamespace } from "./memory-namespace.ts";
import { hasRoom, type Link, linksOf, newRun, type Run, runsOf, saveRun } from "./memory-slots.ts";

interface SessionRow {
  /** From 1, its own in its namespace. */
  readonly number: number;
  readonly entries: number;
  readonly text_bytes: number;
}

export function sessionNumber(db: Connection, namespace: number, id: string): number | undefined {
  return sessionRow(db, namespace, id)?.number;
}

function sessionRow(db: Connection, namespace: number, id: string): SessionRow | undefined {
  return db.get<SessionRow>(
    "SELECT number, entries, text_bytes FROM memory_session WHERE namespace = ? AND id = ?",
    namespace,
    id,
  );
}

/** How many sessions have a larger number, and the largest. */
export function sessionsBehind(
  db: Connection,
  namespace: number,
  number: number,
): { readonly count: number; readonly last: number | null } {
  const found = db.get<{ count: number; last: number | null }>(
    "SELECT count(*) AS count, max(number) AS last FROM memory_session WHERE namespace = ? AND number > ?",
    namespace,
    number,
  );
  return found ?? { count: 0, last: null };
}

/** Counts entries that are added to a session (or, below 0, taken from it). */
export function countEntries(
  db: Connection,
  namespace: number,
  session: number,
  entries: number,
  textBytes: number,
): void {
  db.run(
    `UPDATE memory_session SET entries = entries + ?, text_bytes = text_bytes + ?
     WHERE namespace = ? AND number = ?`,
    entries,
    textBytes,
    namespace,
    session,
  );
}

/** A session to which entries are added; in a transaction. */
export class GrowingSession {
  readonly number: number;
  readonly #db: Connection;
  readonly #namespace: MemoryNamespace;
  readonly #runs: Run[];
  readonly #runsBefore: number;
  #entries = 0;
  #textBytes = 0;

  constructor(db: Connection, namespace: MemoryNamespace, id: string) {
    this.#db = db;
    this.#namespace = namespace;
    this.number = sessionNumber(db, namespace.number, id) ?? newSession(db, namespace.number, id);
    this.#runs = runsOf(db, namespace.number, this.number);
    this.#runsBefore = this.#runs.length;
  }

  /** The first slot of an entry; `more` passages of the session will follow. */
  place(passages: number, more: number, textBytes: number): number {
    let run = this.#runs.at(-1);
    if (!hasRoom(run, passages)) {
      if (run) saveRun(this.#db, this.#namespace.number, this.number, run);
      run = newRun(this.#db, this.#namespace, this.number, run, passages + more);
      this.#runs.push(run);
    }
    const slot = run.first + run.used;
    run.used += passages;
    this.#entries += 1;
    this.#textBytes += textBytes;
    return slot;
  }

  /** Saves what it has become, and returns what links its new runs have brought. */
  save(): Link[] {
    const last = this.#runs.at(-1);
    if (last) saveRun(this.#db, this.#namespace.number, this.number, last);
    countEntries(this.#db, this.#namespace.number, this.number, this.#entries, this.#textBytes);
    const isLonger = this.#runsBefore > 0 && this.#runs.length > this.#runsBefore;
    const isNew = this.#runsBefore === 0 && this.#runs.length > 1;
    // A new run changes what the two runs before it lead to, and not what earlier ones do.
    return isLonger || isNew ? linksOf(this.#runs.slice(Math.max(0, this.#runsBefore - 3))) : [];
  }
}

function newSession(db: Connection, namespace: number, id: string): number {
  const next = db.get<{ number: number }>(
    "SELECT coalesce(max(number), 0) + 1 AS number FROM memory_session WHERE namespace = ?",
    namespace,
  );
  const number = next?.number ?? 1;
  db.run("INSERT INTO memory_session VALUES (?, ?, ?, 0, 0)", namespace, number, id);
  return number;
}
