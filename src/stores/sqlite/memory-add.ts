import type { MemoryEntry } from "../../core/memory-store.ts";
import { utf8Bytes } from "../../core/tokens.ts";
import { type IndexedPassage, indexedPassages } from "../../search/indexed-words.ts";
import { saysWhen } from "../../search/question.ts";
import { hashOfKey, textKey } from "../../search/text-key.ts";
import type { Connection } from "./connection.ts";
import { FIRST_PLACE, PLACES_MAX, passageAt, rowidOf } from "./memory-place.ts";
import {
  addPassages,
  hasRoom,
  keepNamespace,
  type MemorySession,
  namespaceNumber,
  saveSession,
  sessionWithRoom,
} from "./memory-session.ts";

/** Stores entries whose ids are new, in the order given, and returns how many those were. */
export function addMemories(
  db: Connection,
  namespace: string,
  entries: readonly MemoryEntry[],
): number {
  // Cutting texts into words takes most of the time, so it is done before the lock is taken.
  const known = namespaceNumber(db, namespace);
  const prepared = entries
    .filter(({ content }) => content.trim() !== "")
    .filter(({ id }) => known === undefined || !isStored(db, known, id))
    .map(prepare);
  if (prepared.length === 0) return 0;
  return db.write(() => insertAll(db, keepNamespace(db, namespace), prepared));
}

interface Prepared {
  readonly entry: MemoryEntry;
  readonly passages: readonly IndexedPassage[];
  readonly textHash: number;
  readonly bytes: number;
}

function prepare(entry: MemoryEntry): Prepared {
  return {
    entry,
    // What lies beyond four million words of one entry is kept and not found.
    passages: indexedPassages(entry).slice(0, PLACES_MAX),
    textHash: hashOfKey(textKey(entry.content)),
    bytes: utf8Bytes(entry.content),
  };
}

function insertAll(db: Connection, namespace: number, all: readonly Prepared[]): number {
  const sessions = new Map<string, MemorySession>();
  const rows: { readonly rowid: number; readonly words: string }[] = [];
  let added = 0;
  for (const prepared of all) {
    const { entry, passages, bytes } = prepared;
    if (isStored(db, namespace, entry.id)) continue;
    let session = sessions.get(entry.sessionId);
    if (!session || !hasRoom(session, passages.length)) {
      if (session) saveSession(db, session);
      session = sessionWithRoom(db, namespace, entry.sessionId, passages.length);
      sessions.set(entry.sessionId, session);
    }
    const position = passageAt(session.number, FIRST_PLACE + session.passages);
    insertEntry(db, namespace, position, prepared);
    passages.forEach(({ words, asks }, index) => {
      rows.push({ rowid: rowidOf(position + index, asks), words });
    });
    session.passages += passages.length;
    session.entries += 1;
    session.text_bytes += bytes;
    added += 1;
  }
  for (const session of sessions.values()) saveSession(db, session);
  addPassages(db, namespace, rows.length);
  // FTS5 writes to disk whenever a rowid is smaller than the one before.
  rows.sort((one, other) => one.rowid - other.rowid);
  for (const { rowid, words } of rows) {
    db.run("INSERT INTO memory_words (rowid, words) VALUES (?, ?)", rowid, words);
  }
  return added;
}

function isStored(db: Connection, namespace: number, id: string): boolean {
  const sql = "SELECT 1 FROM memory_entry WHERE namespace = ? AND id = ?";
  return db.get(sql, namespace, id) !== undefined;
}

function insertEntry(
  db: Connection,
  namespace: number,
  position: number,
  { entry, passages, textHash }: Prepared,
): void {
  db.run(
    `INSERT INTO memory_entry (position, passages, namespace, id, turn, kind, time, role, speaker,
                               source_from, source_to, says_when, text_hash, content)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    position,
    passages.length,
    namespace,
    entry.id,
    entry.turn,
    entry.kind,
    entry.time ?? null,
    entry.role ?? null,
    entry.speaker ?? null,
    entry.source?.from ?? null,
    entry.source?.to ?? null,
    saysWhen(entry.content) ? 1 : 0,
    textHash,
    entry.content,
  );
}
