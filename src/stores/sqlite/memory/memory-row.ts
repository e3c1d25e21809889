import { MEMORY_KINDS, type MemoryEntry } from "../../../core/memory-store.ts";
import { instant } from "../../../search/instant.ts";
import type { EntryColumns } from "./memory-column-records.ts";
import type { LabelNumbers } from "./memory-labels.ts";
import { fittedPassages } from "./memory-passages.ts";
import type { PlacedEntry } from "./memory-words.ts";

/** An entry as a row, with the id of its session and the texts of its labels. */
export interface MemoryRow {
  readonly key: number;
  readonly session: number;
  readonly session_id: string;
  readonly slot: number;
  readonly passages: number;
  readonly id: string;
  readonly turn: number | null;
  readonly kind: number;
  readonly time: StoredTime;
  readonly role: string | null;
  readonly speaker: string | null;
  readonly source_from: number | null;
  readonly source_to: number | null;
  readonly content: string;
}

export const SELECT_MEMORY = `
  SELECT key, entry.session, session.id AS session_id, slot, passages, entry.id, turn, kind, time,
         role.text AS role, speaker.text AS speaker, source_from, source_to, content
  FROM memory_entry AS entry
  JOIN memory_session AS session
    ON session.namespace = entry.namespace AND session.number = entry.session
  LEFT JOIN memory_label AS role
    ON role.namespace = entry.namespace AND role.number = entry.role
  LEFT JOIN memory_label AS speaker
    ON speaker.namespace = entry.namespace AND speaker.number = entry.speaker`;

/** The columns of a `MemoryRow` in its order, but with the numbers of labels, as `Connection.arrays` gives them. */
export const SELECT_NUMBERED = `
  SELECT key, entry.session, session.id, slot, passages, entry.id, turn, kind, time,
         role, speaker, source_from, source_to, content
  FROM memory_entry AS entry
  JOIN memory_session AS session
    ON session.namespace = entry.namespace AND session.number = entry.session`;

export type NumberedRow = readonly [
  key: number,
  session: number,
  session_id: string,
  slot: number,
  passages: number,
  id: string,
  turn: number | null,
  kind: number,
  time: StoredTime,
  role: number | null,
  speaker: number | null,
  source_from: number | null,
  source_to: number | null,
  content: string,
];

export function labelledRow(
  row: NumberedRow,
  label: (number: number) => string | undefined,
): MemoryRow {
  const [key, session, session_id, slot, passages, id, turn, kind, time, ...told] = row;
  const [role, speaker, source_from, source_to, content] = told;
  const text = (number: number | null) => (number === null ? null : (label(number) ?? null));
  return {
    key,
    session,
    session_id,
    slot,
    passages,
    id,
    turn,
    kind,
    time,
    role: text(role),
    speaker: text(speaker),
    source_from,
    source_to,
    content,
  };
}

export function entryOf(row: MemoryRow): MemoryEntry {
  const time = timeOf(row.time);
  return {
    id: row.id,
    content: row.content,
    sessionId: row.session_id,
    turn: row.turn,
    kind: MEMORY_KINDS[row.kind] ?? "message",
    ...(time === undefined ? {} : { time }),
    ...(row.role === null ? {} : { role: row.role }),
    ...(row.speaker === null ? {} : { speaker: row.speaker }),
    ...(row.source_from === null || row.source_to === null
      ? {}
      : { source: { from: row.source_from, to: row.source_to } }),
  };
}

/** A time as text, or, when it is as JavaScript writes it, as the milliseconds that it stands for. */
export type StoredTime = string | number | null;

export function storedTime(time: string | undefined): StoredTime {
  if (time === undefined) return null;
  const ms = Date.parse(time);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === time ? ms : time;
}

function timeOf(stored: StoredTime): string | undefined {
  if (stored === null) return undefined;
  return typeof stored === "number" ? new Date(stored).toISOString() : stored;
}

/** An entry as the index has it. */
export function placedEntry(row: MemoryRow): PlacedEntry {
  return {
    slot: row.slot,
    content: row.content,
    passages: fittedPassages(entryOf(row), row.passages),
  };
}

/** What its columns have to be. */
export function columnsOf(row: MemoryRow, labels: LabelNumbers): EntryColumns {
  return {
    session: row.session,
    role: labels.of(row.role),
    speaker: labels.of(row.speaker),
    kind: row.kind,
    time: instant(timeOf(row.time)),
  };
}
