import type { MemoryEntry, MemoryKind } from "../../core/memory-store.ts";
import { PLACES } from "./memory-place.ts";

/** An entry as a row, with the id of its session. */
export interface MemoryRow {
  readonly position: number;
  readonly passages: number;
  readonly session_id: string;
  readonly id: string;
  readonly turn: number | null;
  readonly kind: MemoryKind;
  readonly time: string | null;
  readonly role: string | null;
  readonly speaker: string | null;
  readonly source_from: number | null;
  readonly source_to: number | null;
  readonly says_when: number;
  readonly content: string;
}

/** Of a row, what is needed to rank it. The content comes last in it and is not read for this. */
export type MemoryRowHead = Omit<
  MemoryRow,
  "id" | "turn" | "source_from" | "source_to" | "content"
>;

const HEAD =
  "position, entry.passages, session.id AS session_id, kind, time, role, speaker, says_when";
const FROM = `FROM memory_entry AS entry
  JOIN memory_session AS session ON session.number = entry.position / ${PLACES}`;

export const SELECT_MEMORY_HEAD = `SELECT ${HEAD} ${FROM}`;
export const SELECT_MEMORY = `SELECT ${HEAD}, entry.id, turn, source_from, source_to, content ${FROM}`;

export function entryOf(row: MemoryRow): MemoryEntry {
  return {
    id: row.id,
    content: row.content,
    sessionId: row.session_id,
    turn: row.turn,
    kind: row.kind,
    ...(row.time === null ? {} : { time: row.time }),
    ...(row.role === null ? {} : { role: row.role }),
    ...(row.speaker === null ? {} : { speaker: row.speaker }),
    ...(row.source_from === null || row.source_to === null
      ? {}
      : { source: { from: row.source_from, to: row.source_to } }),
  };
}
