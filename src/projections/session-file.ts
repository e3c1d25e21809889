import type { StoredEvent } from "../core/event.ts";
import { isObject } from "../core/fields.ts";
import { parsedJson } from "../core/json-values.ts";
import { startsTurn } from "../core/turn.ts";
import { addUsage, NO_USAGE, type Usage } from "../core/usage.ts";

/** The content of `session.json`: a fold of the session's log. */
export interface SessionFile {
  readonly version: 1;
  readonly session_id: string;
  /** The last event in it. */
  readonly seq: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly model: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly archived: boolean;
  readonly turns: number;
  readonly model_calls: number;
  readonly tool_calls: number;
  readonly compactions: number;
  readonly usage: Usage;
}

export function newSessionFile(sessionId: string): SessionFile {
  return {
    version: 1,
    session_id: sessionId,
    seq: 0,
    created_at: "",
    updated_at: "",
    model: "",
    labels: {},
    archived: false,
    turns: 0,
    model_calls: 0,
    tool_calls: 0,
    compactions: 0,
    usage: NO_USAGE,
  };
}

/** The contents of `session.json`. Undefined when it cannot be the fold of the session's log. */
export function readSessionFile(text: string, sessionId: string): SessionFile | undefined {
  const value = parsedJson(text);
  return isSessionFile(value, sessionId) ? value : undefined;
}

function isSessionFile(value: unknown, sessionId: string): value is SessionFile {
  if (!isObject(value) || !isObject(value.usage) || !isObject(value.labels)) return false;
  const empty = newSessionFile(sessionId);
  const { input_tokens, output_tokens, ...cached } = value.usage;
  return (
    value.session_id === sessionId &&
    Object.entries(empty).every(([name, usual]) =>
      typeof usual === "number" ? isCount(value[name]) : typeof value[name] === typeof usual,
    ) &&
    [input_tokens, output_tokens].every(isCount) &&
    Object.keys(cached).length === 2 &&
    [cached.cache_creation_tokens, cached.cache_read_tokens].every(
      (count) => count === null || isCount(count),
    )
  );
}

/** The progress of one session's files. */
export interface Checkpoint {
  readonly last_seq: number;
  /** Length of `events.jsonl` in bytes when it had reached `last_seq`. */
  readonly events_len: number;
}

/** The progress of a session's files. Undefined when the text does not have it. */
export function readCheckpoint(text: string): Checkpoint | undefined {
  const value = parsedJson(text);
  if (!isObject(value)) return undefined;
  const { last_seq, events_len } = value;
  const isWhole = isCount(last_seq) && isCount(events_len) && last_seq > 0 === events_len > 0;
  return isWhole ? { last_seq, events_len } : undefined;
}

/** A line of `index.jsonl`, and its session. */
export interface IndexLine {
  readonly line: string;
  readonly sessionId: string;
}

/** The line of a session in `index.jsonl`. */
export function indexLine({ session_id, created_at, model, labels }: SessionFile): string {
  return JSON.stringify({ session_id, created_at, model, labels });
}

/** The lines of `index.jsonl`, up to one that a crash cut short. */
export function readIndex(text: string): readonly IndexLine[] {
  const lines: IndexLine[] = [];
  for (const line of text.split("\n").slice(0, -1)) {
    const value = parsedJson(line);
    if (!isObject(value) || typeof value.session_id !== "string") break;
    lines.push({ line, sessionId: value.session_id });
  }
  return lines;
}

/** Whether a value is a whole number, 0 or more. */
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

export function foldSessionFile(
  file: SessionFile,
  { seq, timestamp_ms, event }: StoredEvent,
): SessionFile {
  const time = new Date(timestamp_ms).toISOString();
  const next = { ...file, seq, updated_at: time };
  switch (event.type) {
    case "session_created":
      return {
        ...next,
        created_at: time,
        model: event.settings.model,
        labels: event.settings.labels,
      };
    case "session_archived":
      return { ...next, archived: true };
    case "session_unarchived":
      return { ...next, archived: false };
    case "run_started":
      return { ...next, turns: file.turns + 1 };
    case "message_added":
      return { ...next, turns: file.turns + (startsTurn(event.message) ? 1 : 0) };
    case "turn_completed":
      return {
        ...next,
        model_calls: file.model_calls + 1,
        usage: addUsage(file.usage, event.usage),
      };
    case "tool_execution_completed":
      return { ...next, tool_calls: file.tool_calls + 1 };
    case "compaction_completed":
      return {
        ...next,
        compactions: file.compactions + 1,
        usage: addUsage(file.usage, event.usage),
      };
    default:
      return next;
  }
}
