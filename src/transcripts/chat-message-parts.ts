import { isObject } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import type { Message } from "../core/message.ts";
import { chatFormat } from "./chat-format.ts";
import {
  answerText,
  answerThinking,
  type RecordedMessage,
  toolCall,
  toolResult,
} from "./imported.ts";
import { contentText, type Json, listOf, nameOf, objectOf, textOf } from "./json-fields.ts";

/** A part of a message that a library wrote, in the order of the parts. */
export interface MessagePart {
  readonly message: Message;
  readonly origin?: RecordedMessage["origin"];
  readonly memory?: false;
}

type Unknown = (type: string) => void;

/** Whether it is a `UIMessage` of the AI SDK: `{ role, parts: […] }`. */
export function isUiMessage(value: Json): boolean {
  return typeof value.role === "string" && Array.isArray(value.parts);
}

/** Whether it is an item of the OpenAI Agents SDK, or of OpenAI's responses. */
export function isAgentItem(value: Json): boolean {
  return typeof value.type === "string" && (AGENT_ITEMS.has(value.type) || isCall(value));
}

const AGENT_ITEMS = new Set(
  `message reasoning function_call_result function_call_output hosted_tool_call computer_call computer_call_result
  shell_call shell_call_output apply_patch_call apply_patch_call_output compaction item_reference unknown`.split(
    /\s+/,
  ),
);

function isCall({ type, name }: Json): boolean {
  return type === "function_call" && typeof name === "string";
}

/** The parts of a message of any of these libraries. Throws for other values. */
export function partsOfMessage(value: Json, unknown: Unknown): readonly MessagePart[] {
  if (isUiMessage(value)) return uiParts(value, unknown);
  const { content, role, type } = value;
  const blocks = listOf(content).map(objectOf);
  if (blocks.some((block) => ANTHROPIC_BLOCKS.has(textOf(block.type)))) {
    return blockParts(textOf(role), blocks, unknown);
  }
  if (typeof type === "string" && (role === undefined || isAgentItem(value))) {
    return itemParts(value, unknown);
  }
  const read = chatFormat.reader()(value);
  return read
    ? [{ ...read, message: withoutImages(read.message), ...systemMemory(read.message) }]
    : [];
}

const ANTHROPIC_BLOCKS = new Set(
  "tool_use tool_result thinking redacted_thinking image document server_tool_use".split(" "),
);

/** Content in Anthropic's blocks, which have results among the user's texts. */
export function blockParts(
  role: string,
  blocks: readonly Json[],
  unknown: Unknown,
): readonly MessagePart[] {
  const said: string[] = [];
  const parts = blocks.flatMap((block): readonly MessagePart[] => {
    const text = textOf(block.text);
    switch (block.type) {
      case "text":
        if (role === "assistant") return text === "" ? [] : [{ message: answerText(text) }];
        said.push(text);
        return [];
      case "image":
      case "document":
        said.push(`[${block.type}]`);
        return [];
      case "thinking":
        return [{ message: answerThinking(textOf(block.thinking)), memory: false }];
      case "redacted_thinking":
        return [];
      case "tool_use":
      case "server_tool_use":
        return [{ message: toolCall(textOf(block.id), textOf(block.name), block.input) }];
      case "tool_result": {
        const content = contentText(block.content);
        return [
          { message: toolResult(textOf(block.tool_use_id), content, block.is_error === true) },
        ];
      }
      default:
        unknown(`content.${textOf(block.type) || "?"}`);
        return [];
    }
  });
  const content = said.filter((text) => text !== "").join("\n");
  if (role === "assistant" || content === "") return parts;
  const message: Message =
    role === "user" ? { role: "user", content } : { role: "system", content };
  return [...parts, { message, ...systemMemory(message) }];
}

function uiParts({ role, parts, content }: Json, unknown: Unknown): readonly MessagePart[] {
  const all = listOf(parts).map(objectOf);
  if (role !== "assistant") {
    const shown = all.filter(({ type }) => type === "text" || type === "file");
    const text = contentText(shown) || textOf(content);
    if (text === "") return [];
    const message: Message =
      role === "user" ? { role: "user", content: text } : { role: "system", content: text };
    return [{ message, ...systemMemory(message) }];
  }
  let results: MessagePart[] = [];
  const read = all.flatMap((part): readonly MessagePart[] => {
    const type = textOf(part.type);
    const text = textOf(part.text);
    const call = uiCall(part);
    if (call) {
      if (call.result) results.push({ message: call.result });
      return [{ message: call.message }];
    }
    if (type === "text" || type === "reasoning") {
      const before = results;
      results = [];
      if (text === "") return before;
      return type === "text"
        ? [...before, { message: answerText(text) }]
        : [...before, { message: answerThinking(text), memory: false }];
    }
    if (type === "file") return [{ message: answerText(contentText([part])) }];
    if (!/^(?:step-start|source-url|source-document|source|data-.*)$/s.test(type))
      unknown(`part.${type || "?"}`);
    return [];
  });
  return [...read, ...results];
}

/** `tool-search`, `dynamic-tool`, or `tool-invocation` of earlier versions. */
function uiCall(
  part: Json,
): { readonly message: Message; readonly result: Message | undefined } | undefined {
  const type = textOf(part.type);
  if (type !== "dynamic-tool" && !type.startsWith("tool-")) return undefined;
  const call = type === "tool-invocation" ? objectOf(part.toolInvocation) : part;
  const name = nameOf(call.toolName) ?? type.slice("tool-".length);
  const id = textOf(call.toolCallId);
  const message = toolCall(id, name, call.input ?? call.args);
  if (call.state === "output-error") {
    return { message, result: toolResult(id, textOf(call.errorText), true) };
  }
  if (call.state === "output-denied") {
    const { reason } = objectOf(call.approval);
    const because = nameOf(reason) === undefined ? "." : ` with the following feedback: ${reason}`;
    return {
      message,
      result: toolResult(id, `The user rejected permission to use this tool${because}`, true),
    };
  }
  const output = call.output ?? call.result;
  const isDone = call.state === "output-available" || call.state === "result";
  return { message, result: isDone ? toolResult(id, shownOutput(output)) : undefined };
}

function itemParts(item: Json, unknown: Unknown): readonly MessagePart[] {
  const id = nameOf(item.callId) ?? nameOf(item.call_id) ?? textOf(item.id);
  switch (item.type) {
    case "message": {
      const text = contentText(item.content);
      if (text === "") return [];
      if (item.role === "assistant") return [{ message: answerText(text) }];
      const message: Message =
        item.role === "user" ? { role: "user", content: text } : { role: "system", content: text };
      return [{ message, ...systemMemory(message) }];
    }
    case "reasoning": {
      const text = contentText(item.content) || contentText(item.summary);
      return text === "" ? [] : [{ message: answerThinking(text), memory: false }];
    }
    case "function_call":
      return [{ message: toolCall(id, textOf(item.name), item.arguments) }];
    case "function_call_result":
    case "function_call_output":
      return [{ message: toolResult(id, shownOutput(item.output), item.status === "incomplete") }];
    case "hosted_tool_call": {
      const call = { message: toolCall(id, textOf(item.name), item.arguments) };
      return [call, { message: toolResult(id, shownOutput(item.output)) }];
    }
    case "compaction":
    case "item_reference":
      return [];
    default:
      unknown(`item.${textOf(item.type)}`);
      return [];
  }
}

/** `{ type: "text", text }` is its text. Other objects are shown as JSON. */
function shownOutput(output: unknown): string {
  if (typeof output === "string") return output;
  if (isObject(output)) return typeof output.text === "string" ? output.text : jsonText(output);
  const isParts = Array.isArray(output) && output.every((part) => isObject(part) && "type" in part);
  if (isParts) return contentText(output);
  return output === undefined || output === null ? "" : jsonText(output);
}

/** System prompts are of no use in memory. */
function systemMemory(message: Message): Pick<MessagePart, "memory"> {
  return message.role === "system" ? { memory: false } : {};
}

function withoutImages(message: Message): Message {
  if (message.role !== "user" || typeof message.content === "string") return message;
  return { role: "user", content: contentText(message.content) };
}
