import { MEMORY_KINDS, type MemoryEntry } from "../../../core/memory-store.ts";
import type { IndexedPassage } from "../../../search/indexed-passages.ts";
import { instant } from "../../../search/instant.ts";
import type { Connection } from "../connection.ts";
import { type EntryColumns, recordsOf } from "./memory-column-records.ts";
import { MemoryLabels } from "./memory-labels.ts";
import { isMergeDue, mergeNewest } from "./memory-merge.ts";
import {
  KEYS,
  keepNamespace,
  type MemoryNamespace,
  openNamespace,
  saveNamespace,
} from "./memory-namespace.ts";
import { passagesOf } from "./memory-passages.ts";
import { storedTime } from "./memory-row.ts";
import { writeSegment } from "./memory-segments.ts";
import { GrowingSession } from "./memory-session.ts";
import { type PlacedEntry, wordsOf } from "./memory-words.ts";

export interface Added {
  /** How many entries were new. */
  readonly added: number;
  /** Segments wait to be merged: `mergeMemories` does it, step by step. */
  readonly mergeDue: boolean;
}

/** Stores entries whose ids are new, in the order given. */
export function addMemories(
  db: Connection,
  namespace: string,
  entries: readonly MemoryEntry[],
): Added {
  // Cutting texts into words takes most of the time, so it is done before the lock is taken.
  const known = openNamespace(db, namespace);
  const prepared = entries
    .filter(({ content }) => content.trim() !== "")
    .filter(({ id }) => known === undefined || !isStored(db, known.number, id))
    .map(prepare);
  if (prepared.length === 0) return { added: 0, mergeDue: false };
  return db.write(() => {
    const kept = keepNamespace(db, namespace);
    const added = insertEntries(db, kept, prepared, known?.changes);
    mergeNewest(db, kept);
    saveNamespace(db, kept);
    return { added, mergeDue: isMergeDue(db, kept) };
  });
}

interface Prepared {
  readonly entry: MemoryEntry;
  readonly passages: readonly IndexedPassage[];
  readonly bytes: number;
}

export function prepare(entry: MemoryEntry): Prepared {
  return { entry, passages: passagesOf(entry), bytes: Buffer.byteLength(entry.content) };
}

/**
 * Stores what is new of it, in a transaction, and returns how many entries that were. Nothing of
 * it was stored when the namespace had changed `checkedAt` times.
 */
export function insertEntries(
  db: Connection,
  namespace: MemoryNamespace,
  all: readonly Prepared[],
  checkedAt?: number,
): number {
  const fresh = newIds(db, namespace.number, all, checkedAt !== namespace.changes);
  if (fresh.length === 0) return 0;
  const left = passagesBySession(fresh);
  const sessions = new Map<string, GrowingSession>();
  const labels = new MemoryLabels(db, namespace.number);
  const firstEntry = namespace.number * KEYS + namespace.stored;
  const placed: (PlacedEntry & { readonly prepared: Prepared; readonly columns: EntryColumns })[] =
    [];
  for (const prepared of fresh) {
    const { entry, passages, bytes } = prepared;
    let session = sessions.get(entry.sessionId);
    if (!session) {
      session = new GrowingSession(db, namespace, entry.sessionId);
      sessions.set(entry.sessionId, session);
    }
    const more = (left.get(entry.sessionId) ?? 0) - passages.length;
    left.set(entry.sessionId, more);
    const slot = session.place(passages.length, more, bytes);
    const columns = {
      session: session.number,
      role: labels.use(entry.role),
      speaker: labels.use(entry.speaker),
      kind: MEMORY_KINDS.indexOf(entry.kind),
      time: instant(entry.time),
    };
    insertRow(db, namespace, slot, columns, prepared);
    placed.push({ slot, passages, content: entry.content, prepared, columns });
  }
  const links = [...sessions.values()].flatMap((session) => session.save());
  labels.save();
  writeSegment(
    db,
    namespace,
    {
      generation: namespace.generation,
      first_entry: firstEntry,
      last_entry: namespace.number * KEYS + namespace.stored - 1,
      first_change: namespace.changes + 1,
      last_change: namespace.changes + 1,
    },
    wordsOf(placed),
    recordsOf(placed, links),
  );
  namespace.passages += placed.reduce((sum, { passages }) => sum + passages.length, 0);
  return fresh.length;
}

/** Without what is stored already, or comes twice. */
function newIds(
  db: Connection,
  namespace: number,
  all: readonly Prepared[],
  asks: boolean,
): Prepared[] {
  const seen = new Set<string>();
  return all.filter(({ entry: { id } }) => {
    if (seen.has(id) || (asks && isStored(db, namespace, id))) return false;
    seen.add(id);
    return true;
  });
}

function isStored(db: Connection, namespace: number, id: string): boolean {
  const sql = "SELECT 1 FROM memory_entry WHERE namespace = ? AND id = ?";
  return db.get(sql, namespace, id) !== undefined;
}

function passagesBySession(all: readonly Prepared[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const { entry, passages } of all) {
    found.set(entry.sessionId, (found.get(entry.sessionId) ?? 0) + passages.length);
  }
  return found;
}

function insertRow(
  db: Connection,
  namespace: MemoryNamespace,
  slot: number,
  columns: EntryColumns,
  { entry, passages }: Prepared,
): void {
  db.run(
    `INSERT INTO memory_entry (key, namespace, id, session, slot, passages, turn, kind, time, role, speaker,
                               source_from, source_to, content)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    namespace.number * KEYS + namespace.stored,
    namespace.number,
    entry.id,
    columns.session,
    slot,
    passages.length,
    entry.turn,
    columns.kind,
    storedTime(entry.time),
    columns.role || null,
    columns.speaker || null,
    entry.source?.from ?? null,
    entry.source?.to ?? null,
    entry.content,
  );
  namespace.stored += 1;
}
