import { given } from "../core/fields.ts";
import type { HostMessage } from "../core/host-record.ts";
import type { AssistantBlock, Message, ToolResult } from "../core/message.ts";
import { promptText } from "../transcripts/claude-code/prompt-text.ts";

/** A line of a Claude transcript, as the Claude Agent SDK gives it to a session store. */
export interface ClaudeEntry {
  readonly type: string;
  readonly uuid?: string;
  readonly timestamp?: string;
  readonly [field: string]: unknown;
}

/**
 * The message in an entry: the words that people typed, the model's answers, calls and their results.
 * Reminders, summaries, notices and titles, which the program adds, are left out.
 */
export function saidInEntry(entry: ClaudeEntry): HostMessage | undefined {
  const said = entry.type === "attachment" ? queuedPrompt(entry) : messageOf(entry);
  if (!said) return undefined;
  const author = said.role === "user" ? authorOf(entry) : undefined;
  return { message: said, origin: given({ author, time: entry.timestamp }) };
}

function messageOf(entry: ClaudeEntry): Message | undefined {
  const { type, message, isMeta, isCompactSummary, isApiErrorMessage } = entry;
  if (isMeta === true || isCompactSummary === true) return undefined;
  const content = fieldOf(message, "content");
  if (type === "assistant") {
    const isModels = isApiErrorMessage !== true && fieldOf(message, "model") !== "<synthetic>";
    return isModels ? answer(content) : undefined;
  }
  return type === "user" ? (resultsIn(content) ?? prompt(textOf(content))) : undefined;
}

function answer(content: unknown): Message | undefined {
  const blocks = listOf(content).flatMap((block): AssistantBlock[] => {
    const [text, id, name] = ["text", "id", "name"].map((field) => fieldOf(block, field));
    const type = fieldOf(block, "type");
    if (type === "text" && typeof text === "string")
      return [{ block_type: "text", data: { text } }];
    if (type !== "tool_use" || typeof id !== "string" || typeof name !== "string") return [];
    return [{ block_type: "tool_use", data: { id, name, args: fieldOf(block, "input") ?? {} } }];
  });
  if (blocks.length === 0) return undefined;
  return { role: "block_assistant", blocks, stop_reason: "end_turn" };
}

function resultsIn(content: unknown): Message | undefined {
  const results = listOf(content).flatMap((block): ToolResult[] => {
    const id = fieldOf(block, "tool_use_id");
    if (fieldOf(block, "type") !== "tool_result" || typeof id !== "string") return [];
    const text = textOf(fieldOf(block, "content"));
    return [{ tool_use_id: id, content: text, is_error: fieldOf(block, "is_error") === true }];
  });
  return results.length === 0 ? undefined : { role: "tool_results", results };
}

/** A prompt that was typed while a tool ran. */
function queuedPrompt({ attachment }: ClaudeEntry): Message | undefined {
  if (fieldOf(attachment, "type") !== "queued_command") return undefined;
  return prompt(textOf(fieldOf(attachment, "prompt")));
}

function prompt(text: string): Message | undefined {
  const read = promptText(text);
  return read?.isForMemory ? { role: "user", content: read.text } : undefined;
}

/** Only Claude Code knows whether a person typed a prompt. A prompt through the SDK is a program's. */
function authorOf({ promptSource, type }: ClaudeEntry): "user" | "program" {
  return promptSource === "typed" || promptSource === "queued" || type === "attachment"
    ? "user"
    : "program";
}

/** The text of a message or a tool result. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const texts = listOf(content).map((block) => fieldOf(block, "text"));
  return texts.filter((text) => typeof text === "string").join("\n");
}

/** Blocks of a message. Its content may also be a text. */
function listOf(content: unknown): readonly unknown[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content : [];
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, field) : undefined;
}
