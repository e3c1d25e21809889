import { wordSet } from "../../text/word-set.ts";
import type { ImportedMessage, ImportNotes } from "../imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  textOf,
  timeOf,
} from "../json-fields.ts";
import { answer, call, type PartOf, prompt, result, summary, thinking } from "../parts.ts";

/** Parts without text of their own: the steps, and the program's bookkeeping. */
const SILENT_PARTS = wordSet(
  "step-start step-finish snapshot patch agent retry compaction subtask",
);

/** The messages in a message of opencode. Its `summary` of a compaction becomes a boundary. */
export function* messageParts(
  info: Json,
  parts: readonly Json[],
  sourceId: string,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const of = partOf(info, sourceId);
  const said = parts.map(shownText).filter(Boolean).join("\n");
  for (const { type } of parts) {
    const isKnown = ["text", "reasoning", "file", "tool"].includes(textOf(type));
    if (!isKnown && !SILENT_PARTS.has(textOf(type))) notes.unknown(`part.${textOf(type) || "?"}`);
  }
  if (info.role === "user") {
    if (said !== "") yield prompt(sourceId, said, of);
  } else if (info.role !== "assistant") {
    notes.unknown(`role.${textOf(info.role) || "?"}`);
  } else if (info.summary === true) {
    if (said !== "") yield summary(sourceId, said, of);
  } else {
    yield* answerParts(parts, sourceId, of);
  }
}

/** The messages in a record of the newer table `session_message`. */
export function* newMessageParts(
  record: Json,
  sourceId: string,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const of = partOf(record, sourceId);
  switch (record.type) {
    case "user": {
      const files = listOf(record.files).map((file) =>
        shownText({ ...objectOf(file), type: "file" }),
      );
      const text = [textOf(record.text), ...files].filter(Boolean).join("\n");
      if (text !== "") yield prompt(sourceId, text, of);
      return;
    }
    case "assistant":
      yield* answerParts(listOf(record.content).map(objectOf), sourceId, of);
      return;
    case "compaction":
      if (nameOf(record.summary)) yield summary(sourceId, textOf(record.summary), of);
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

function partOf({ time }: Json, group: string): PartOf {
  return { time: timeOf(objectOf(time).created), group };
}

/** The results of the calls of a step follow it. */
function* answerParts(parts: readonly Json[], id: string, of: PartOf): Generator<ImportedMessage> {
  let results: ImportedMessage[] = [];
  for (const [index, block] of parts.entries()) {
    const place = `${id}:${nameOf(block.id) ?? index}`;
    const text = textOf(block.text);
    if (block.type === "tool") {
      const state = objectOf(block.state);
      // Its arguments are still being written.
      if (state.status === "pending") continue;
      const callId = nameOf(block.callID) ?? nameOf(block.id) ?? place;
      const name = textOf(block.tool) || textOf(block.name);
      yield call(place, { callId, name, args: state.input ?? state.raw }, of);
      const done = outputOf(name, state);
      if (done) results.push(result(`${place}:result`, { callId, ...done }, of));
    } else if ((block.type === "text" || block.type === "reasoning") && text !== "") {
      yield* results;
      results = [];
      if (block.type === "reasoning") yield thinking(place, text, of);
      else if (shownText(block) !== "") yield answer(place, text, of);
    }
  }
  yield* results;
}

/** A call that waits or runs has no result yet. */
function outputOf(tool: string, state: Json): { text: string; isError: boolean } | undefined {
  if (state.status === "error") return { text: errorText(state.error), isError: true };
  if (state.status !== "completed") return undefined;
  const { exit } = objectOf(state.metadata);
  const isError = tool === "invalid" || (typeof exit === "number" && exit !== 0);
  return { text: contentText(state.output ?? state.content), isError };
}

function errorText(error: unknown): string {
  return typeof error === "string" ? error : textOf(objectOf(error).message);
}
