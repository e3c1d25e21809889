import { hash } from "node:crypto";
import { withoutBlocks } from "../../text/quoting.ts";
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
import {
  answer,
  call,
  type PartOf,
  prompt,
  type Repeats,
  result,
  summary,
  thinking,
} from "../parts.ts";
import {
  CLINE_TOOLS,
  isMachines,
  resultHead,
  typedIn,
  withoutInjected,
} from "./cline-typed-words.ts";

/** The id of a text in a task: the same in both files of the task, which have other places and times for it. */
export function textId(session: string, kind: string, text: string, repeats: Repeats): string {
  const key = `${session}:${kind}:${hash("sha1", text.trim()).slice(0, 16)}`;
  const times = repeats.next(key);
  return times === 1 ? key : `${key}#${times}`;
}

/** The messages in a message for the model. */
export function* apiParts(
  session: string,
  message: Json,
  line: number,
  repeats: Repeats,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  const of: PartOf = { time: timeOf(message.ts), line, group: `${session}:${line}` };
  if (isMachines(message)) {
    const text = contentText(message.content);
    if (message.isSummary === true && text !== "")
      yield summary(textId(session, "summary", text, repeats), text, of);
    return;
  }
  const blocks =
    typeof message.content === "string"
      ? [{ type: "text", text: message.content }]
      : listOf(message.content).map(objectOf);
  if (message.role === "user") yield* userParts(session, message, blocks, of, repeats);
  else if (message.role === "assistant") yield* assistantParts(session, blocks, of, repeats, notes);
  else if (message.role !== "system")
    notes.unknown(nameOf(message.role) ?? nameOf(message.type) ?? "?");
}

function* userParts(
  session: string,
  message: Json,
  blocks: readonly Json[],
  of: PartOf,
  repeats: Repeats,
): Generator<ImportedMessage> {
  for (const block of blocks) {
    if (block.type !== "tool_result") continue;
    const callId = textOf(block.tool_use_id);
    yield result(
      `${session}:result:${callId}`,
      { callId, text: contentText(block.content), isError: block.is_error === true },
      of,
    );
  }
  for (const [index, block] of blocks.entries()) {
    const text = textOf(block.text);
    if (block.type !== "text" || resultHead(text) === 0) continue;
    const next = blocks[index + 1];
    const body =
      next?.type === "text" && resultHead(textOf(next.text)) === 0 ? textOf(next.text) : "";
    const said = withoutInjected([text, body].filter(Boolean).join("\n"));
    const callId = `${session}:xml:${of.line === undefined ? 0 : of.line - 1}`;
    yield result(textId(session, "result", said, repeats), { callId, text: said }, of);
  }
  for (const typed of typedIn(message))
    yield prompt(textId(session, "user", typed, repeats), typed, of);
}

function* assistantParts(
  session: string,
  blocks: readonly Json[],
  of: PartOf,
  repeats: Repeats,
  notes: ImportNotes,
): Generator<ImportedMessage> {
  for (const block of blocks) {
    const text = textOf(block.text) || textOf(block.thinking);
    switch (block.type) {
      case "text":
        yield* xmlParts(session, text, of, repeats);
        break;
      case "thinking":
      case "reasoning":
        if (text !== "") yield thinking(textId(session, "thinking", text, repeats), text, of);
        break;
      case "tool_use": {
        const callId = textOf(block.id);
        const said = textOf(objectOf(block.input)[SAYS.get(textOf(block.name)) ?? ""]);
        if (said !== "") yield answer(textId(session, "answer", said, repeats), said, of);
        else
          yield call(
            `${session}:call:${callId}`,
            { callId, name: textOf(block.name), args: block.input },
            of,
          );
        break;
      }
      case "redacted_thinking":
      case "image":
      case "document":
        break;
      default:
        notes.unknown(`content.${textOf(block.type) || "?"}`);
    }
  }
}

const CALL = new RegExp(`<(${CLINE_TOOLS})>`);

/** Older versions have their calls as XML in the text: `<read_file><path>a.txt</path></read_file>`. */
function* xmlParts(
  session: string,
  text: string,
  of: PartOf,
  repeats: Repeats,
): Generator<ImportedMessage> {
  const found = CALL.exec(text);
  const name = found?.[1];
  const before = withoutBlocks(found ? text.slice(0, found.index) : text, /<(thinking)>/g).trim();
  if (before !== "") yield answer(textId(session, "answer", before, repeats), before, of);
  if (!found || name === undefined) return;
  const start = found.index + found[0].length;
  const end = text.lastIndexOf(`</${name}>`);
  const inside = text.slice(start, end > start ? end : undefined);
  const field = SAYS.get(name);
  const said = field === undefined ? undefined : inner(inside, field);
  if (said !== undefined) {
    yield answer(textId(session, "answer", said, repeats), said, of);
  } else {
    const callId = `${session}:xml:${of.line ?? 0}`;
    yield call(callId, { callId, name, args: { input: inside.trim() } }, of);
  }
}

/** Calls that are words for the person, by the field that has the words. */
const SAYS: ReadonlyMap<string, string> = new Map([
  ["attempt_completion", "result"],
  ["plan_mode_respond", "response"],
  ["ask_followup_question", "question"],
]);

function inner(text: string, tag: string): string | undefined {
  const start = text.indexOf(`<${tag}>`);
  const end = start < 0 ? -1 : text.indexOf(`</${tag}>`, start);
  return end < 0 ? undefined : text.slice(start + tag.length + 2, end).trim();
}
