import type { MemoryEntry } from "../../core/memory-store.ts";
import type { Checked } from "./read-json-lines.ts";

const NAME_LENGTH_MAX = 200;
const ISO_8601 =
  /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$/;

/** A line of `rkat memory add --jsonl`; the id may be left out. */
export type MemoryLine = Omit<MemoryEntry, "id"> & { readonly id?: string };

/** Checks a line: `{"content", "session_id", "turn", "time"?, "id"?, "role"?, "speaker"?}`. */
export function checkMemoryLine(json: unknown): Checked<MemoryLine> {
  const line = json as Readonly<Record<string, unknown>>;
  const problem = Object.entries(FIELDS).find(([name, { optional, good }]) =>
    isAbsent(line[name]) ? optional !== true : !good(line[name]),
  );
  if (problem) return { problem: `has a bad "${problem[0]}": it must be ${problem[1].allowed}` };
  const { content, session_id: sessionId, turn, time, id, role, speaker } = line;
  const optional = Object.entries({ time, id, role, speaker }).filter(
    ([, value]) => !isAbsent(value),
  );
  const entry = { content, sessionId, turn, kind: "message", ...Object.fromEntries(optional) };
  return { value: entry as MemoryLine };
}

interface Field {
  readonly allowed: string;
  readonly optional?: true;
  good(value: unknown): boolean;
}

const FIELDS: Readonly<Record<string, Field>> = {
  content: { allowed: "a text", good: (value) => typeof value === "string" },
  session_id: { allowed: "a text of 1 to 200 characters", good: isName },
  turn: {
    allowed: "a whole number from 0",
    good: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  },
  time: { allowed: "a time in ISO 8601", optional: true, good: isTime },
  id: { allowed: "a text of 1 to 200 characters", optional: true, good: isName },
  role: { allowed: "a text of 1 to 200 characters", optional: true, good: isName },
  speaker: { allowed: "a text of 1 to 200 characters", optional: true, good: isName },
};

/** Many programs write null for what they do not know. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "" && [...value].length <= NAME_LENGTH_MAX;
}

function isTime(value: unknown): boolean {
  return typeof value === "string" && ISO_8601.test(value) && !Number.isNaN(Date.parse(value));
}
