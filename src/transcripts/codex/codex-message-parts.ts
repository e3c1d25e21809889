import { isObject } from "../../core/fields.ts";
import { refusalIn } from "../../core/refusal.ts";
import { wordSet } from "../../text/word-set.ts";
import type { ImportedMessage } from "../imported.ts";
import { contentText, type Json, nameOf, objectOf, parsedJson, textOf } from "../json-fields.ts";
import {
  answer,
  call,
  instruction,
  type PartOf,
  prompt,
  result,
  summary,
  thinking,
} from "../parts.ts";
import { ENVELOPES } from "./codex-lines.ts";

/** The message of a line, with a key of its content in the place of its id. */
type Part = ImportedMessage | "unknown" | "none";

const EVENTS =
  wordSet(`user_message agent_message agent_reasoning agent_reasoning_raw_content token_count context_compacted
  thread_rolled_back turn_aborted task_started task_complete turn_started turn_complete entered_review_mode
  exited_review_mode patch_apply_end mcp_tool_call_end web_search_end image_generation_end sub_agent_activity
  thread_goal_updated thread_name_updated item_completed exec_command_end view_image_tool_call error`);

/** Items that have nothing to read: encrypted, repeated elsewhere, or about the program itself. */
const SILENT_ITEMS =
  wordSet(`web_search_call tool_search_call tool_search_output image_generation_call agent_message compaction
  compaction_summary context_compaction additional_tools ghost_snapshot other`);

export function partOf(type: string, payload: Json, typed: string | undefined, of: PartOf): Part {
  if (type === "compacted") {
    const text = textOf(payload.message) || "Codex keeps this summary where only it can read it.";
    return summary(`compacted ${text}`, text, of);
  }
  if (type === "response_item") return itemPart(payload, typed, of);
  if (type === "event_msg" && typed !== undefined) return prompt(`user ${typed}`, typed, of);
  if (type === "event_msg") return EVENTS.has(textOf(payload.type)) ? "none" : "unknown";
  return ENVELOPES.has(type) || type === "state" ? "none" : "unknown";
}

export function unknownName(type: string, payload: Json): string {
  const inner = nameOf(payload.type);
  return type !== "response_item" && type !== "event_msg" ? type : `${type}.${inner ?? "?"}`;
}

function itemPart(item: Json, typed: string | undefined, of: PartOf): Part {
  const type = textOf(item.type);
  const callId = nameOf(item.call_id) ?? nameOf(item.id) ?? "";
  const asked = (name: string, args: unknown) => call(`call ${callId}`, { callId, name, args }, of);
  switch (type) {
    case "message":
      return textPart(item, typed, of);
    case "reasoning": {
      const text = [contentText(item.summary), contentText(item.content)]
        .filter(Boolean)
        .join("\n");
      return text === "" ? "none" : thinking(`reasoning ${text}`, text, of);
    }
    case "function_call":
      return asked(callName(item), item.arguments);
    case "custom_tool_call":
      return asked(textOf(item.name), { input: item.input });
    case "local_shell_call":
      return asked("local_shell", item.action);
    case "function_call_output":
    case "custom_tool_call_output": {
      const { content, isError: hasFailed } = outputOf(item.output);
      const isError = hasFailed || refusalIn(content) !== undefined;
      return result(`result ${callId} ${content}`, { callId, text: content, isError }, of);
    }
    default:
      return SILENT_ITEMS.has(type) ? "none" : "unknown";
  }
}

function textPart(item: Json, typed: string | undefined, of: PartOf): Part {
  const text = contentText(item.content);
  if (text === "") return "none";
  const key = `${textOf(item.role)} ${text}`;
  switch (item.role) {
    case "assistant":
      return answer(key, text, of);
    case "system":
    case "developer":
      return instruction(key, text, of);
    case "user":
      return typed === undefined ? "none" : prompt(key, typed, of);
    default:
      return "unknown";
  }
}

/** A tool of a server has the server's name before its own: `mcp__docs__` and `search`. */
function callName({ name, namespace }: Json): string {
  const before = textOf(namespace);
  return before === "" || before.endsWith("__")
    ? before + textOf(name)
    : `${before}__${textOf(name)}`;
}

/** Older versions put JSON in the text: `{"output": "…", "metadata": {"exit_code": 0}}`. */
function outputOf(output: unknown): { readonly content: string; readonly isError: boolean } {
  if (isObject(output) && output.content !== undefined) {
    return { content: contentText(output.content), isError: output.success === false };
  }
  const content = contentText(output);
  if (!content.startsWith("{")) return { content, isError: false };
  const { output: inner, metadata } = objectOf(parsedJson(content));
  if (typeof inner !== "string" || !isObject(metadata)) return { content, isError: false };
  const code = metadata.exit_code;
  return { content: inner, isError: typeof code === "number" && code !== 0 };
}
