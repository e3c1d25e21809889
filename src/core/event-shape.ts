import { isTime } from "../text/time/calendar.ts";
import { errorText, SessionError } from "./errors.ts";
import type { DurableEvent, NewEvent } from "./event.ts";
import {
  byField,
  fields,
  isFlag,
  isNumber,
  isObject,
  isText,
  listOf,
  maybe,
  mended,
  orNull,
  recordOf,
  type Shape,
  text,
} from "./fields.ts";
import { isPlainJson } from "./json-values.ts";

const block = byField("type", {
  text: fields({ text: isText }),
  image: fields({ media_type: isText, data: isText }),
  file: fields({ media_type: isText, data: isText }),
});
const content: Shape = (value) => isText(value) || listOf(block)(value);
const call = fields({ id: isText, name: isText });

/** Whether a value is a message, as far as those who read it from a store depend on it. */
export const isMessage = byField("role", {
  system: fields({ content: isText }),
  user: fields({ content }),
  assistant: fields({ content: isText, tool_calls: maybe(listOf(call)) }),
  block_assistant: fields({
    blocks: listOf(
      byField("block_type", {
        text: fields({ data: fields({ text: isText }) }),
        reasoning: fields({ data: fields({ text: isText }) }),
        tool_use: fields({ data: call }),
      }),
    ),
  }),
  tool_results: fields({ results: listOf(fields({ tool_use_id: isText, content: isText })) }),
});

const origin = maybe(
  fields({ author: maybe(isText), speaker: maybe(isText), time: maybe(isText) }),
);
const instructions = maybe(
  listOf(
    fields({ id: isNumber, text: isText, by: maybe(isText), replaces: maybe(listOf(isNumber)) }),
  ),
);
const given = { origin, instructions, instructions_left_out: maybe(listOf(isNumber)) };
const ids = listOf(isNumber);
const usage = fields({ input_tokens: isNumber, output_tokens: isNumber });
const pruned = listOf(
  fields({ message: isNumber, tool_use_id: isText, kept_bytes: isNumber, turn: maybe(isNumber) }),
);

const task = fields({
  goal: maybe(isText),
  sub_tasks: maybe(listOf(fields({ id: isNumber, text: isText }))),
  scratchpad: maybe(recordOf(isText)),
  active_files: maybe(listOf(isText)),
});

/** The source of a session that another program held. */
export const isSource: Shape = fields({
  agent: isText,
  native_id: isText,
  project: maybe(isText),
  branch: maybe(isText),
  title: maybe(isText),
  model: maybe(isText),
  started_at: maybe(isText),
  parent: maybe(fields({ id: isText, relation: isText, event: maybe(isNumber) })),
});

/** What a session was created with. */
const isSettings: Shape = fields({
  model: isText,
  labels: recordOf(isText),
  user: maybe(isText),
  source: maybe(isSource),
  approvals: maybe(recordOf(isText)),
  compaction: maybe(recordOf(isNumber)),
});

/** Whether a value has what a list of sessions shows of a snapshot. */
export const isSnapshot: Shape = fields({
  id: isText,
  seq: isNumber,
  settings: isSettings,
  created_at_ms: isTime,
  updated_at_ms: isTime,
  turns: isNumber,
  message_count: isNumber,
  compactions: isNumber,
  archived: isFlag,
  last_assistant_text: orNull(isText),
  usage: fields({ input_tokens: isNumber, output_tokens: isNumber }),
});

/** Whether a value is such a snapshot when JSON gives it back. One is saved in each turn, and mostly is that value already. */
export function isSavedSnapshot(value: unknown): boolean {
  if (isPlainJson(value)) return isSnapshot(value);
  try {
    return isSnapshot(JSON.parse(JSON.stringify(value)));
  } catch {
    return false;
  }
}

const approval = { approval_id: isText, id: isText, name: isText };

/** The fields of `BesideMessages`. */
const besideMessages = {
  pruned,
  recalled: maybe(listOf(fields({ before: isNumber, text: isText, ids: listOf(isText) }))),
  recalled_in: maybe(listOf(fields({ event: isNumber, before: isNumber, ids: listOf(isText) }))),
  recall_refused: maybe(listOf(isText)),
  brought_back: maybe(
    listOf(
      fields({ message: isNumber, after: isNumber, text: isText, images: maybe(listOf(block)) }),
    ),
  ),
  pins: ids,
  shown_task: orNull(fields({ after: isNumber, text: isText })),
  denied: listOf(fields({ tool: isText, args: isText, reason: isText })),
  instructions: listOf(
    fields({ id: isNumber, message: isNumber, text: isText, by: maybe(isText) }),
  ),
  instructions_left_out: ids,
  task,
};
const span = { from: isNumber, to: isNumber };
const before = maybe(
  fields({
    ...besideMessages,
    turns: isNumber,
    message_count: isNumber,
    history: listOf(fields({ ...span, turns_before: isNumber, ordinal: isNumber })),
    summary: orNull(fields({ seq: isNumber, index: isNumber })),
    recall_bar: maybe(fields({ score: isNumber, seq: isNumber })),
  }),
);

/** For a kind of event that has no field which another part depends on. */
const NO_FIELD: Shape = fields({});

/** The fields that events of a log have at least. */
const EVENTS: Readonly<Record<DurableEvent["type"], Shape>> = {
  session_created: fields({ settings: isSettings }),
  session_titled: fields({ title: maybe(isText) }),
  message_added: fields({
    message: isMessage,
    ...given,
    imported: maybe(fields({ ids: listOf(isText) })),
    batch: maybe(fields({ key: isText, messages: isNumber })),
    inherited: maybe(fields({ session: isText, message: isNumber })),
  }),
  host_items_changed: fields({
    items: Array.isArray,
    replaced: maybe(fields({ from: isNumber, count: isNumber })),
    operation: maybe(fields({ id: isText, change: isText })),
  }),
  knowledge_applied: fields({ rules: listOf(isText) }),
  run_started: fields({ prompt: isText, content: maybe(listOf(block)), ...given }),
  run_completed: fields({ result: isText, usage }),
  run_failed: fields({ error: isText }),
  reasoning_complete: fields({ content: isText }),
  text_complete: fields({ content: isText }),
  tool_call_requested: call,
  turn_completed: fields({ usage, origin, model: maybe(isText) }),
  context_overflow: fields({ model: isText }),
  tool_approval_requested: fields({
    ...approval,
    goal: isText,
    may_answer: maybe(listOf(isText)),
  }),
  tool_approval_resolved: fields({
    ...approval,
    decision: text("deny"),
    reason: maybe(isText),
    allows: maybe(fields({ tool: isText, command: maybe(isText), for: isText })),
  }),
  approval_revoked: fields({ tool: isText, command: maybe(isText) }),
  tool_execution_started: call,
  tool_execution_completed: fields({ id: isText, name: isText, result: isText }),
  tool_execution_timed_out: call,
  tool_result_received: call,
  compaction_completed: fields({
    discarded: listOf(fields(span)),
    summary: orNull(isText),
    pruned,
    usage,
    model: maybe(isText),
    rewritten_tokens: maybe(isNumber),
    before,
  }),
  compaction_failed: fields({ error: isText, usage: maybe(usage), model: maybe(isText) }),
  memory_recalled: fields({
    records: listOf(
      fields({
        id: isText,
        session: maybe(isText),
        said_by: isText,
        text: isText,
        time: maybe(isText),
      }),
    ),
    before: maybe(isText),
  }),
  tool_output_pruned: fields({
    pruned,
    rewritten_tokens: maybe(isNumber),
    usage: maybe(usage),
    model: maybe(isText),
    before,
  }),
  compaction_undone: fields({ undone: isNumber, left_out: maybe(ids) }),
  messages_brought_back: fields({
    messages: listOf(
      fields({
        message: isNumber,
        said_by: isText,
        time: isText,
        text: isText,
        images: maybe(listOf(block)),
      }),
    ),
  }),
  recall_refused: fields({ records: listOf(isText) }),
  recall_allowed: fields({ records: listOf(isText) }),
  session_forked: fields({ fork: isText, event: isNumber }),
  history_inherited: fields({
    from: fields({ session: isText, event: isNumber }),
    summary: maybe(fields({ session: isText, event: isNumber, text: isText, index: isNumber })),
    ...besideMessages,
    token_factors: recordOf(isNumber),
  }),
  text_forgotten: fields({ messages: ids, shortened: maybe(ids), events: ids }),
  task_updated: fields({ changed: task }),
  message_pinned: fields({ message: isNumber }),
  message_unpinned: fields({ message: isNumber }),
  budget_warning: fields({ budget_type: isText }),
  retrying: fields({ error: isText }),
  session_archived: NO_FIELD,
  session_unarchived: NO_FIELD,
  session_deleted: NO_FIELD,
  session_remembered: NO_FIELD,
  skills_resolved: NO_FIELD,
  run_paused: NO_FIELD,
  run_resumed: NO_FIELD,
  turn_started: NO_FIELD,
  compaction_started: NO_FIELD,
  event_lost: NO_FIELD,
};

function shapeOf(type: string): Shape | undefined {
  return Object.hasOwn(EVENTS, type) ? EVENTS[type as DurableEvent["type"]] : undefined;
}

/** Whether a value from a store is an event that the rest of rkat can read. Events of later versions are. */
export function isStoredEvent(value: unknown): value is DurableEvent {
  if (!isObject(value) || typeof value.type !== "string") return false;
  return shapeOf(value.type)?.(value) ?? true;
}

/** An event that could not be read, with what can be kept of it. Of others only their place and their type are kept. */
export function mendedEvent(json: string): DurableEvent {
  let event: unknown;
  try {
    event = JSON.parse(json);
  } catch {
    // Nothing of it can be kept.
  }
  const type = isObject(event) && typeof event.type === "string" ? event.type : "";
  const shape = shapeOf(type);
  const found = shape && mended(shape, event);
  if (found && isStoredEvent(found.value)) return found.value;
  return { type: "event_lost", was: shape ? type : "" };
}

/** Why an event of a log could not be read. What follows the log leaves the event out, and goes on. */
class UnreadableEvent extends Error {
  override readonly name = "UnreadableEvent";
}

/** The error for an event that is not what rkat stores. */
export function unreadableEvent(seq: number): SessionError {
  const what = Number.isSafeInteger(seq) ? `Event ${seq}` : "An event";
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `${what} of a session has changed since it was stored.`,
    hint: "`rkat doctor` lists such events, and `rkat repair` makes them readable again.",
    cause: new UnreadableEvent(what),
  });
}

export function isUnreadable(error: unknown): boolean {
  return SessionError.is(error) && error.cause instanceof UnreadableEvent;
}

/**
 * The JSON of an event, as a log keeps it. What is written has the shape in which it is read: no store takes an event
 * that it could not give back.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function eventJson({ event_id, timestamp_ms, event }: NewEvent): string {
  if (!isText(event_id) || !isTime(timestamp_ms)) throw unwritable(event, "it has no id or time");
  return jsonOf(event);
}

/** A copy that nobody else changes, as a log gives it back. */
export function plainEvent(event: NewEvent): NewEvent {
  return { ...event, event: JSON.parse(eventJson(event)) };
}

/** The JSON of an event that keeps its id and its time. */
export function jsonOf(event: DurableEvent): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(typeFirst(event));
  } catch (error) {
    throw unwritable(event, errorText(error));
  }
  const read = () => (isPlainJson(event) ? event : JSON.parse(text ?? "null"));
  if (text === undefined || !isStoredEvent(read())) throw unwritable(event);
  return text;
}

/** Stores find events of a kind by the beginning of their JSON. */
function typeFirst(event: DurableEvent): DurableEvent {
  if (!isObject(event) || !("type" in event) || Object.keys(event)[0] === "type") return event;
  return { type: event.type, ...(event as object) } as DurableEvent;
}

function unwritable(
  event: unknown,
  why = "a field is missing, or has a wrong value",
): SessionError {
  const type = isObject(event) ? String(event.type) : typeof event;
  return new SessionError("INVALID_PARAMS", {
    message: `The event ${type} cannot be stored: ${why}.`,
    hint: "A model, tool, compactor or store gave rkat a value of a wrong type. Correct it.",
  });
}
