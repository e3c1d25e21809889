import { SessionError } from "../../core/errors.ts";
import { instant, isTime } from "../../core/instant.ts";
import { MEMORY_KINDS, type MemoryEntry } from "../../core/memory-store.ts";
import { fields, isNumber, isText, orNull } from "../../core/shape.ts";
import type { EntryColumns } from "../columns/slot-records.ts";
import type { EntryRow, NewEntry } from "../index-store.ts";
import type { PlacedEntry } from "../words/entry-words.ts";
import { fittedPassages } from "./entry-passages.ts";

const isCount = orNull(isNumber);
const isLabel = orNull(isText);
const isRow = fields({
  id: isText,
  sessionId: isText,
  content: isText,
  turn: isCount,
  kind: isNumber,
  roleText: isLabel,
  speakerText: isLabel,
  sourceFrom: isCount,
  sourceTo: isCount,
  time: orNull((time) => isText(time) || isTime(time)),
});

/** @throws SessionError `SESSION_STORE_ERROR` when the row is none that rkat wrote */
export function entryOf(row: EntryRow): MemoryEntry {
  if (!isRow(row)) {
    throw new SessionError("SESSION_STORE_ERROR", {
      detail: "An entry of memory has changed since it was stored.",
      hint: "Restore the store from a backup. `rkat memory verify` checks memory.",
    });
  }
  const time = timeOf(row.time);
  return {
    id: row.id,
    content: row.content,
    sessionId: row.sessionId,
    turn: row.turn,
    kind: MEMORY_KINDS[row.kind] ?? "message",
    ...(time === undefined ? {} : { time }),
    ...(row.roleText === null ? {} : { role: row.roleText }),
    ...(row.speakerText === null ? {} : { speaker: row.speakerText }),
    ...(row.sourceFrom === null || row.sourceTo === null
      ? {}
      : { source: { from: row.sourceFrom, to: row.sourceTo } }),
  };
}

/** A time that JavaScript writes as the same text is stored as its milliseconds. */
export function storedTime(time: string | undefined): NewEntry["time"] {
  if (time === undefined) return null;
  const ms = Date.parse(time);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === time ? ms : time;
}

function timeOf(stored: NewEntry["time"]): string | undefined {
  if (stored === null) return undefined;
  return typeof stored === "number" ? new Date(stored).toISOString() : stored;
}

/** An entry as the index has it. */
export function placedEntry(row: EntryRow): PlacedEntry {
  return {
    slot: row.slot,
    content: row.content,
    passages: fittedPassages(entryOf(row), row.passages),
  };
}

export function columnsOf(row: NewEntry): EntryColumns {
  const { session, role, speaker, kind, time } = row;
  return { session, role, speaker, kind, time: instant(timeOf(time)) };
}
