import { basename, dirname, join } from "node:path";
import { isObject } from "../../core/fields.ts";
import { jsonText } from "../../core/json-values.ts";
import { wordSet } from "../../text/word-set.ts";
import { bytesAt, type FoundFile } from "../found-file.ts";
import type { ImportedMessage, ImportFormat, ImportNotes } from "../imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  parsedJson,
  textOf,
  timeOf,
  titleOf,
} from "../json-fields.ts";
import {
  call,
  importedSession,
  instruction,
  prompt,
  result,
  summary,
  thinking,
  thoughtAndSaid,
} from "../parts.ts";
import { readListedObjects } from "../read-objects.ts";

/**
 * The conversations of OpenHands: a file for each event, or a list of events.
 *
 *     conversations/<id>/events/event-00012-<uuid>.json     version 1
 *     sessions/<id>/events/12.json                          version 0
 *     trajectory.json                                       version 0, as it is downloaded
 *     output.jsonl                                          what an evaluation writes: `history` of an instance in each line
 *
 * The files of a folder are read together, when the first of them that is new has its turn. A copied folder may have another name
 * than `events`.
 */
export const openhandsFormat: ImportFormat = {
  agent: "openhands",
  places: ({ home }) => [join(home, ".openhands")],
  mayBe: (path) => EVENT_FILE.test(path) || /(?:^|\/)trajectory[^/]*\.json$/.test(path),
  recognises: ({ listed, head, path }) => {
    if (listed) return isEvent(listed) || historyOf(listed) !== undefined;
    return EVENT_FILE.test(path) && /"source"\s*:/.test(new TextDecoder().decode(head));
  },
  async *read(file, notes) {
    if (!EVENT_FILE.test(file.path)) {
      const events: Json[] = [];
      const name = basename(file.path).replace(/\.json$/, "");
      for await (const { value, line } of readListedObjects(file.read(), file, notes)) {
        const history = historyOf(value);
        const id = nameOf(value.instance_id) ?? (line === 1 ? name : `${name}:${line}`);
        if (history) yield sessionOf(runOf(id, history), history, notes);
        else events.push(value);
      }
      if (events.length > 0) yield sessionOf(runOf(name, events), events, notes);
      return;
    }
    const folder = dirname(file.path);
    if (isDone(file, folder)) return;
    const files = [file, ...file.others()].filter(
      ({ path }) => dirname(path) === folder && EVENT_FILE.test(path),
    );
    const byPath = new Map(files.map((one) => [one.path, one]));
    const ordered = [...byPath.values()].sort(
      (one, other) => numberOf(one.path) - numberOf(other.path),
    );
    const events: Json[] = [];
    for (const one of ordered) {
      const event =
        one.size > EVENT_BYTES_MAX
          ? undefined
          : parsedJson(Buffer.from(await bytesAt(one, 0, one.size)).toString("utf8"));
      if (isObject(event)) events.push(event);
      else notes.skip(one, undefined, "it is not a JSON object, or too long");
    }
    const isKept = basename(folder) === "events";
    const name = isKept ? basename(dirname(folder)) : runOf(basename(folder), events);
    yield sessionOf(name || "session", events, notes);
  },
};

const EVENT_FILE =
  /(?:^|[/\\])(?:events[/\\](?:event-)?(\d+)(?:-[^/\\]*)?|event-(\d{5})-[0-9a-f-]{36})\.json$/;
const EVENT_BYTES_MAX = 64 * 1024 * 1024;

function numberOf(path: string): number {
  const [, kept, copied] = EVENT_FILE.exec(path) ?? [];
  return Number(kept ?? copied ?? 0);
}

/** The folders that an import has read, by the list of its files. */
const done = new WeakMap<object, Set<string>>();

function isDone(file: FoundFile, folder: string): boolean {
  const all = file.others();
  const folders = done.get(all) ?? new Set();
  done.set(all, folders);
  const isKnown = folders.has(folder);
  folders.add(folder);
  return isKnown;
}

/** The events of an instance of an evaluation. Older ones have an action and its observation in a list of two. */
function historyOf(value: Json): readonly Json[] | undefined {
  const list = [value.history, value.trajectory].find(Array.isArray);
  const events = list?.flat().filter(isObject);
  return events?.some(isEvent) ? events : undefined;
}

function isEvent(value: Json): boolean {
  const isSource = /^(?:agent|user|environment|hook)$/.test(textOf(value.source));
  if (!isSource) return false;
  return (
    "timestamp" in value &&
    (typeof value.kind === "string" || "action" in value || "observation" in value)
  );
}

function sessionOf(name: string, events: readonly Json[], notes: ImportNotes) {
  const first = events.find(isTypedEvent);
  const prompt = saidIn(first ?? {}) || textOf(objectOf(first?.args).content);
  return importedSession("openhands", name, messagesOf(name, events, notes), {
    title: titleOf(prompt || contentText(first?.message)),
    startedAt: zonedTime(events[0]?.timestamp),
    updatedAt: zonedTime(events.at(-1)?.timestamp),
  });
}

/** Other runs have the same instance, or a file of the same name. Only their first events differ. */
function runOf(name: string, [first]: readonly Json[]): string {
  return /^trajectory/.test(name) ? hashOf(first) : `${name}-${hashOf(first)}`;
}

function hashOf(value: unknown): string {
  let sum = 0;
  for (const character of jsonText(value) ?? "")
    sum = (sum * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return sum.toString(36);
}

/** Its times have no zone. They are those of the machine that wrote them, which is read as this one's. */
function zonedTime(value: unknown): string | undefined {
  return timeOf(value);
}

async function* messagesOf(
  session: string,
  events: readonly Json[],
  notes: ImportNotes,
): AsyncGenerator<ImportedMessage> {
  const lines = onBranch(events, notes);
  for (const [index, event] of lines.entries()) {
    yield* eventParts(`openhands:${session}`, event, index, zonedTime(event.timestamp), notes);
  }
}

/** Siblings with one parent are branches, of which the last one counts. */
function onBranch(events: readonly Json[], notes: ImportNotes): readonly Json[] {
  if (!events.some(({ parent_id }) => nameOf(parent_id) !== undefined)) return events;
  const byId = new Map(events.map((event) => [textOf(event.id), event]));
  const kept = new Set<Json>();
  for (let at = events.at(-1); at && !kept.has(at); at = byId.get(textOf(at.parent_id)))
    kept.add(at);
  const isFree = (event: Json) => nameOf(event.parent_id) === undefined;
  const shown = events.filter((event) => kept.has(event) || isFree(event));
  notes.otherBranch(events.length - shown.length);
  return shown;
}

/** Whether a person wrote it. */
function isTypedEvent(event: Json): boolean {
  if (event.source !== "user") return false;
  if (event.kind === "MessageEvent") return !PROGRAMS.test(saidIn(event));
  return event.action === "message";
}

/** Words of the program in the user's name, when a critic is not content and when an answer was blocked. */
const PROGRAMS =
  /^(?:The task appears incomplete \(iteration \d+(?:\/\d+)?, predicted success likelihood: |Your previous response was blocked by the model's content filter\.)/;

function saidIn(event: Json): string {
  return contentText(objectOf(event.llm_message).content);
}

/** The messages of an event, of version 1 (by `kind`) or 0 (by `action` and `observation`). */
function* eventParts(
  session: string,
  event: Json,
  index: number,
  time: string | undefined,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const own = typeof event.id === "number" ? `${event.id}` : (nameOf(event.id) ?? `at ${index}`);
  const id = `${session}:${own}`;
  if (typeof event.kind === "string") yield* newParts(id, session, event, time, notes);
  else yield* oldParts(id, session, event, time, notes);
}

function* newParts(
  id: string,
  session: string,
  event: Json,
  time: string | undefined,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const callId = textOf(event.tool_call_id) || id;
  const results = { time, group: `${session}:results:${textOf(event.action_id) || id}` };
  switch (event.kind) {
    case "MessageEvent": {
      const text = saidIn(event);
      if (text === "") return;
      if (isTypedEvent(event)) yield prompt(id, text, { time });
      else if (event.source === "user") yield instruction(id, text, { time });
      else yield* thoughtAndSaid(id, text, { time, group: id });
      return;
    }
    case "ActionEvent": {
      const of = { time, group: `${session}:${nameOf(event.llm_response_id) ?? id}` };
      const [thought, reasoning] = [contentText(event.thought), textOf(event.reasoning_content)];
      if (reasoning !== "") yield thinking(`${id}:reasoning`, reasoning, of);
      yield* thoughtAndSaid(`${id}:thought`, thought, of);
      const action = objectOf(event.action);
      const name = textOf(event.tool_name);
      if (action.kind === "FinishAction" || name === "finish") {
        const said = textOf(action.message);
        yield* thoughtAndSaid(id, said, of);
        return;
      }
      const { arguments: args } = objectOf(objectOf(event.tool_call).function ?? event.tool_call);
      const { kind: _, ...given } = action;
      yield call(id, { callId, name, args: Object.keys(given).length > 0 ? given : args }, of);
      return;
    }
    case "ObservationEvent": {
      const { content, is_error, output, kind } = objectOf(event.observation);
      if (kind === "FinishObservation" || event.tool_name === "finish") return;
      const text = contentText(content) || textOf(output);
      yield result(id, { callId, text, isError: is_error === true }, results);
      return;
    }
    case "UserRejectObservation": {
      const reason = nameOf(event.rejection_reason);
      const text = `The user rejected permission to use this tool${reason === undefined ? "." : ` with the following feedback: ${reason}`}`;
      yield result(id, { callId, text, isError: true }, results);
      return;
    }
    case "AgentErrorEvent":
      yield result(id, { callId, text: textOf(event.error), isError: true }, results);
      return;
    case "Condensation":
    case "CondensationSummaryEvent":
      if (nameOf(event.summary)) yield summary(id, textOf(event.summary), { time });
      return;
    default:
      if (!SILENT_KINDS.has(textOf(event.kind))) notes.unknown(textOf(event.kind));
  }
}

const SILENT_KINDS =
  wordSet(`SystemPromptEvent PauseEvent ConversationStateUpdateEvent CondensationRequest TokenEvent ConversationErrorEvent
  LLMCompletionLogEvent InterruptEvent StreamingDeltaEvent HookExecutionEvent ACPToolCallEvent`);

function* oldParts(
  id: string,
  session: string,
  event: Json,
  time: string | undefined,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const { action, observation, source } = event;
  const args = objectOf(event.args);
  if (typeof action === "string") {
    const thought = textOf(args.thought);
    const of = { time, group: id };
    if (action === "message") {
      const text = textOf(args.content) || textOf(event.message);
      if (text === "") return;
      if (source === "user") yield prompt(id, text, { time });
      else yield* thoughtAndSaid(id, text, of);
    } else if (action === "finish" || action === "reject") {
      const text =
        textOf(args.final_thought) ||
        thought ||
        textOf(objectOf(args.outputs).content) ||
        textOf(event.message);
      yield* thoughtAndSaid(id, text, of);
    } else if (action === "think") {
      if (thought !== "") yield thinking(id, thought, of);
    } else if (!SILENT_ACTIONS.has(action) && source === "agent") {
      yield* thoughtAndSaid(`${id}:thought`, thought, of);
      const { thought: _, ...given } = args;
      yield call(id, { callId: id, name: action, args: given }, of);
    } else if (!SILENT_ACTIONS.has(action) && !USERS_ACTIONS.has(action))
      notes.unknown(`action.${action}`);
  } else if (typeof observation === "string") {
    if (SILENT_OBSERVATIONS.has(observation) || typeof event.cause !== "number" || event.cause < 0)
      return;
    if (observation === "user_rejected") {
      const text = "The user rejected permission to use this tool.";
      yield result(
        id,
        { callId: `${session}:${event.cause}`, text, isError: true },
        { time, group: id },
      );
      return;
    }
    const code =
      objectOf(objectOf(event.extras).metadata).exit_code ?? objectOf(event.extras).exit_code;
    const isError = observation === "error" || (typeof code === "number" && code > 0);
    yield result(
      id,
      { callId: `${session}:${event.cause}`, text: textOf(event.content), isError },
      { time, group: id },
    );
  } else if (listOf(Object.keys(event)).length > 0)
    notes.unknown("an event without action and observation");
}

const SILENT_ACTIONS = wordSet(
  "system null change_agent_state start pause resume stop recall condensation condensation_request task_tracking",
);
/** Actions of a person beside the conversation. */
const USERS_ACTIONS = wordSet("run read write edit browse browse_interactive run_ipython");
const SILENT_OBSERVATIONS = wordSet(
  "null agent_state_changed recall think agent_condensation success task_tracking",
);
