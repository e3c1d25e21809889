import { withoutBlocks } from "../../text/quoting.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  parsedJson,
  textOf,
} from "../json-fields.ts";

/** The tools of Cline and Roo Code. */
export const CLINE_TOOLS =
  "execute_command|read_file|write_to_file|replace_in_file|apply_diff|insert_content|search_and_replace|search_files|list_files|list_code_definition_names|browser_action|use_mcp_tool|access_mcp_resource|ask_followup_question|attempt_completion|new_task|plan_mode_respond|switch_mode|load_mcp_documentation|fetch_instructions|codebase_search|update_todo_list|condense|web_fetch|web_search|new_rule|report_bug|generate_image|run_slash_command|apply_patch|edit_file|search_replace";

const TOOLS = new Set(CLINE_TOOLS.split("|"));

const INJECTED =
  /<(environment_details|explicit_instructions|file_content|folder_content|url_content|mode_notice|hook_context|system-reminder)\b[^>]*>/g;
const NOTE =
  /^(?:# task_progress|\[TASK RESUMPTION\]|\[ERROR\]|\[NOTE\]|# TODO LIST|Task was interrupted|New instructions for task continuation)/;
/** The start of an element with what a person typed. */
const TYPED = /^<(task|feedback|answer|user_message|user_input|user_command)(?:\s[^<>]{0,200})?>/gm;

/** The words that a person typed in a message for the model. */
export function typedIn(message: Json): readonly string[] {
  if (message.role !== "user" || isMachines(message)) return [];
  return textsOf(message).flatMap((text) => typedTexts(text, hasResult(message)));
}

export function isMachines({ metadata, isSummary, isTruncationMarker }: Json): boolean {
  const kind = textOf(objectOf(metadata).kind);
  return (
    isSummary === true || isTruncationMarker === true || /compaction|notice|reminder/.test(kind)
  );
}

/** A text without what the program puts into it. */
export function withoutInjected(text: string): string {
  return withoutBlocks(text, INJECTED).trim();
}

/**
 * The length of the head that a result as text begins with, or 0: `[read_file for 'a.txt'] Result:`. What a tool was
 * called for may have lines.
 */
export function resultHead(text: string): number {
  const [, tool] = /^\[([a-z_]+)[ \]]/.exec(text) ?? [];
  const end = tool === undefined ? -1 : text.indexOf(HEAD_END);
  if (tool === undefined || end < 0) return 0;
  return TOOLS.has(tool) || !text.slice(0, end).includes("\n") ? end + HEAD_END.length : 0;
}

const HEAD_END = "] Result:";

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
    .some(({ type, text }) => type === "tool_result" || resultHead(textOf(text)) > 0);
}

function typedTexts(text: string, isBesideResult: boolean): readonly string[] {
  const body = text.slice(resultHead(text)).trim();
  const inside = wrapped(body, isBesideResult) ?? feedbackIn(body);
  if (inside !== undefined) return [withoutInjected(inside)].filter((typed) => typed !== "");
  const rest = withoutInjected(text);
  return rest === "" || isBesideResult || NOTE.test(rest) ? [] : [rest];
}

/**
 * The content of the element that has a person's words. The output of a tool may quote such elements, and so may the person.
 * The program puts its own at the start of a text, or at its end, behind a sentence about what the user said.
 */
function wrapped(text: string, isBesideResult: boolean): string | undefined {
  const ends = new Map<string, { readonly last: number; readonly isWhole: boolean }>();
  for (const { index, 0: open, 1: tag = "" } of text.matchAll(TYPED)) {
    const close = `</${tag}>`;
    const start = index + open.length;
    const { last, isWhole } = ends.get(tag) ?? endOf(text, close);
    ends.set(tag, { last, isWhole });
    if (last < start) continue;
    // A task is what begins a conversation.
    if (index === 0 && !(tag === "task" && isBesideResult))
      return text.slice(start, isWhole ? last : text.indexOf(close, start));
    if (index > 0 && isWhole && isAnnounced(text.slice(0, index))) return text.slice(start, last);
  }
  return undefined;
}

/** Where a text has the last of these tags, and whether only the program's words are behind it. */
function endOf(text: string, close: string): { readonly last: number; readonly isWhole: boolean } {
  const last = text.lastIndexOf(close);
  return { last, isWhole: withoutInjected(text.slice(last + close.length)) === "" };
}

/** Whether a text ends with a sentence like `The user provided the following feedback:`. */
function isAnnounced(before: string): boolean {
  if (before.startsWith("Command is still running")) return true;
  const text = before.trimEnd();
  const sentence = text.slice(text.lastIndexOf("\n") + 1);
  return /[.:]$/.test(sentence) && /\b(?:user|message|instructions|results)\b/.test(sentence);
}

/** Newer versions of Roo Code answer a call with JSON: `{"status":"denied","feedback":"…"}`. */
function feedbackIn(text: string): string | undefined {
  if (!/^\{"status":"(?:denied|approved|guidance)"/.test(text)) return undefined;
  const [line = ""] = text.split("\n", 1);
  return nameOf(objectOf(parsedJson(line)).feedback);
}
