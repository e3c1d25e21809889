import { given } from "../../core/fields.ts";
import { type Message, summaryMessage } from "../../core/message.ts";
import {
  answerText,
  answerThinking,
  type ImportedMessage,
  type ImportNotes,
  toolCall,
  toolResult,
} from "../imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  textOf,
  timeOf,
} from "../json-fields.ts";

/** Parts without text of their own: the steps, and the program's bookkeeping. */
const SILENT_PARTS = new Set(
  "step-start step-finish snapshot patch agent retry compaction subtask".split(" "),
);

/** The messages in a message of opencode. Its `summary` of a compaction becomes a boundary. */
export function* messageParts(
  info: Json,
  parts: readonly Json[],
  sourceId: string,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const time = timeOf(objectOf(info.time).created);
  for (const { type } of parts) {
    const isKnown = ["text", "reasoning", "file", "tool"].includes(textOf(type));
    if (!isKnown && !SILENT_PARTS.has(textOf(type))) notes.unknown(`part.${textOf(type) || "?"}`);
  }
  if (info.role === "user") {
    yield* prompt(parts.map(shownText).filter(Boolean).join("\n"), sourceId, time);
  } else if (info.role !== "assistant") {
    notes.unknown(`role.${textOf(info.role) || "?"}`);
  } else if (info.summary === true) {
    yield* summary(parts.map(shownText).filter(Boolean).join("\n"), sourceId, time);
  } else {
    yield* answer(parts, sourceId, time);
  }
}

/** The messages in a record of the newer table `session_message`. */
export function* newMessageParts(
  record: Json,
  sourceId: string,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const time = timeOf(objectOf(record.time).created);
  switch (record.type) {
    case "user": {
      const files = listOf(record.files).map((file) =>
        shownText({ ...objectOf(file), type: "file" }),
      );
      yield* prompt([textOf(record.text), ...files].filter(Boolean).join("\n"), sourceId, time);
      return;
    }
    case "assistant":
      yield* answer(listOf(record.content).map(objectOf), sourceId, time);
      return;
    case "compaction":
      yield* summary(textOf(record.summary), sourceId, time);
      return;
    // Texts of the program for the model, commands that the user ran beside the conversation, and changes of settings.
    case "shell":
    case "synthetic":
    case "system":
    case "agent-switched":
    case "model-switched":
      return;
    default:
      notes.unknown(`session_message.${textOf(record.type) || "?"}`);
  }
}

function shownText(part: Json): string {
  if (part.type === "file") {
    return `[file: ${nameOf(part.filename) ?? nameOf(part.name) ?? textOf(part.mime)}]`;
  }
  const isHidden = part.synthetic === true || part.ignored === true;
  return part.type === "text" && !isHidden ? textOf(part.text) : "";
}

function* prompt(
  content: string,
  sourceId: string,
  time: string | undefined,
): Generator<ImportedMessage> {
  if (content === "") return;
  const origin = given({ author: "user" as const, time });
  yield { sourceId, message: { role: "user", content }, origin };
}

function* summary(
  text: string,
  sourceId: string,
  time: string | undefined,
): Generator<ImportedMessage> {
  if (text === "") return;
  const message = summaryMessage(text);
  yield { sourceId, message, origin: given({ time }), memory: false, boundary: "compaction" };
}

/** The results of the calls of a step follow it. */
function* answer(
  parts: readonly Json[],
  id: string,
  time: string | undefined,
): Generator<ImportedMessage> {
  const part = (sourceId: string, message: Message, more: object = {}): ImportedMessage => ({
    sourceId,
    group: id,
    message,
    origin: given({ time }),
    ...more,
  });
  let results: ImportedMessage[] = [];
  for (const [index, block] of parts.entries()) {
    const place = `${id}:${nameOf(block.id) ?? index}`;
    const text = textOf(block.text);
    if (block.type === "tool") {
      const state = objectOf(block.state);
      // Its arguments are still being written.
      if (state.status === "pending") continue;
      const callId = nameOf(block.callID) ?? nameOf(block.id) ?? place;
      const name = nameOf(block.tool) ?? nameOf(block.name) ?? "unknown_tool";
      yield part(place, toolCall(callId, name, state.input ?? state.raw));
      const result = resultOf(name, callId, state);
      if (result) results.push(part(`${place}:result`, result));
    } else if ((block.type === "text" || block.type === "reasoning") && text !== "") {
      yield* results;
      results = [];
      if (block.type === "reasoning") yield part(place, answerThinking(text), { memory: false });
      else if (shownText(block) !== "") yield part(place, answerText(text));
    }
  }
  yield* results;
}

/** A call that waits or runs has no result yet. */
function resultOf(tool: string, callId: string, state: Json): Message | undefined {
  if (state.status === "error") return toolResult(callId, errorText(state.error), true);
  if (state.status !== "completed") return undefined;
  const { exit } = objectOf(state.metadata);
  const hasFailed = tool === "invalid" || (typeof exit === "number" && exit !== 0);
  return toolResult(callId, contentText(state.output ?? state.content), hasFailed);
}

function errorText(error: unknown): string {
  return typeof error === "string" ? error : textOf(objectOf(error).message);
}
