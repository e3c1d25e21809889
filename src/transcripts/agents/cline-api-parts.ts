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
} from "./parts.ts";

/** The id of a text in a task: the same in both files of the task, which have other places and times for it. */
export function textId(session: string, kind: string, text: string, repeats: Repeats): string {
  const key = `${session}:${kind}:${hash("sha1", text.trim()).slice(0, 16)}`;
  const times = repeats.next(key);
  return times === 1 ? key : `${key}#${times}`;
}

const INJECTED =
  /<(environment_details|explicit_instructions|file_content|folder_content|url_content|mode_notice|hook_context|system-reminder)\b[^>]*>/g;
const NOTE =
  /^(?:# task_progress|\[TASK RESUMPTION\]|\[ERROR\]|\[NOTE\]|# TODO LIST|Task was interrupted|New instructions for task continuation)/;
/** `[read_file for 'a.txt'] Result:` */
const RESULT = /^\[[a-z_]+(?: for [^\n]*)?\]\s*Result:?/;
/** The start of an element with what a person typed. */
const TYPED = /<(task|feedback|answer|user_message|user_input|user_command)(?:\s[^<>]{0,200})?>/g;

/** The words that a person typed in a message for the model. */
export function typedIn(message: Json): readonly string[] {
  if (message.role !== "user" || isMachines(message)) return [];
  return textsOf(message).flatMap((text) => typedTexts(text, hasResult(message)));
}

function isMachines({ metadata, isSummary, isTruncationMarker }: Json): boolean {
  const kind = textOf(objectOf(metadata).kind);
  return (
    isSummary === true || isTruncationMarker === true || /compaction|notice|reminder/.test(kind)
  );
}

function textsOf({ content }: Json): readonly string[] {
  if (typeof content === "string") return [content];
  return listOf(content)
    .map(objectOf)
    .flatMap(({ type, text, content: inner }) =>
      type === "text" ? [textOf(text)] : type === "tool_result" ? [contentText(inner)] : [],
    );
}

function hasResult(message: Json): boolean {
  return listOf(message.content)
    .map(objectOf)
    .some(({ type, text }) => type === "tool_result" || RESULT.test(textOf(text)));
}

function typedTexts(text: string, isBesideResult: boolean): readonly string[] {
  const tagged = elementsIn(text).map((inside) => withoutBlocks(inside, INJECTED).trim());
  if (tagged.length > 0) return tagged.filter((typed) => typed !== "");
  const rest = withoutBlocks(text, INJECTED).trim();
  return rest === "" || isBesideResult || NOTE.test(rest) || RESULT.test(rest) ? [] : [rest];
}

/** The content of elements that have a person's words. One that is not closed is none. */
function elementsIn(text: string): readonly string[] {
  const found: string[] = [];
  const unclosed = new Set<string>();
  let from = 0;
  for (const { index, 0: open, 1: tag = "" } of text.matchAll(TYPED)) {
    if (index < from || unclosed.has(tag)) continue;
    const start = index + open.length;
    const end = text.indexOf(`</${tag}>`, start);
    if (end < 0) unclosed.add(tag);
    else {
      found.push(text.slice(start, end));
      from = end;
    }
  }
  return found;
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
    if (block.type !== "text" || !RESULT.test(text)) continue;
    const next = blocks[index + 1];
    const body = next?.type === "text" && !RESULT.test(textOf(next.text)) ? textOf(next.text) : "";
    const said = withoutBlocks([text, body].filter(Boolean).join("\n"), INJECTED).trim();
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
        const said = textOf(objectOf(block.input).result);
        if (block.name === "attempt_completion" && said !== "")
          yield answer(textId(session, "answer", said, repeats), said, of);
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

const TOOLS =
  "execute_command|read_file|write_to_file|replace_in_file|apply_diff|insert_content|search_and_replace|search_files|list_files|list_code_definition_names|browser_action|use_mcp_tool|access_mcp_resource|ask_followup_question|attempt_completion|new_task|plan_mode_respond|switch_mode|load_mcp_documentation|fetch_instructions|codebase_search|update_todo_list|condense|web_fetch|web_search|new_rule|report_bug";
const CALL = new RegExp(`<(${TOOLS})>`);

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
  const said = inner(
    inside,
    name === "attempt_completion"
      ? "result"
      : name === "plan_mode_respond"
        ? "response"
        : "question",
  );
  if (SAYS.has(name) && said !== undefined) {
    yield answer(textId(session, "answer", said, repeats), said, of);
  } else {
    const callId = `${session}:xml:${of.line ?? 0}`;
    yield call(callId, { callId, name, args: { input: inside.trim() } }, of);
  }
}

/** Calls that are words for the person. */
const SAYS = new Set(["attempt_completion", "plan_mode_respond", "ask_followup_question"]);

function inner(text: string, tag: string): string | undefined {
  const start = text.indexOf(`<${tag}>`);
  const end = start < 0 ? -1 : text.indexOf(`</${tag}>`, start);
  return end < 0 ? undefined : text.slice(start + tag.length + 2, end).trim();
}
