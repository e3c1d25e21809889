import { isObject } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import type { Message } from "../core/message.ts";
import { wordSet } from "../text/word-set.ts";
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
  return typeof value.role === "string" && "parts" in value;
}

/** Whether it is an item of the OpenAI Agents SDK, or of OpenAI's responses. */
export function isAgentItem(value: Json): boolean {
  const type = typeof value.type === "string" ? value.type : "";
  return (
    AGENT_ITEMS.has(type) || BUILT_IN_CALL.test(type) || CALL_RESULT.test(type) || isCall(value)
  );
}

const AGENT_ITEMS = wordSet(
  "message reasoning compaction compaction_summary item_reference mcp_list_tools mcp_approval_request mcp_approval_response unknown",
);

/** A call of a tool that a provider or the SDK has: `shell_call`, `mcp_call`. A `function_call` has a name. */
const BUILT_IN_CALL = /^(?!function_)(\w+)_call$/;
/** The output of a call, also of a function: `function_call_result`, and `shell_call_output` in Python. */
const CALL_RESULT = /^\w+_call_(?:result|output)$/;

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

const ANTHROPIC_BLOCKS = wordSet(
  "tool_use tool_result thinking redacted_thinking image document server_tool_use",
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
  if (!Array.isArray(parts)) unknown("parts that are no list");
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
    case "compaction":
    case "compaction_summary":
    case "item_reference":
    // Questions of the SDK for approval. The call and its result say how they were answered.
    case "mcp_list_tools":
    case "mcp_approval_request":
    case "mcp_approval_response":
      return [];
    default:
      return builtInParts(item, id, unknown);
  }
}

/** Calls of tools that a provider or the SDK has, and the results of all calls. */
function builtInParts(item: Json, id: string, unknown: Unknown): readonly MessagePart[] {
  const type = textOf(item.type);
  if (CALL_RESULT.test(type)) {
    const isError = item.status === "incomplete" || item.status === "failed";
    return [{ message: toolResult(id, shownOutput(item.output), isError) }];
  }
  const [, tool] = BUILT_IN_CALL.exec(type) ?? [];
  if (tool === undefined) {
    unknown(`item.${type}`);
    return [];
  }
  const { arguments: given, input, action, operation, queries, code } = item;
  const args = given ?? input ?? action ?? operation ?? (code === undefined ? queries : { code });
  const call = { message: toolCall(id, nameOf(item.name) ?? tool, args) };
  const output = item.output ?? item.outputs ?? item.results ?? item.error;
  // The result of a hosted tool is in the call.
  const isWhole = /^(?:hosted_tool|mcp|code_interpreter|file_search|web_search)$/.test(tool);
  if (!isWhole) return [call];
  const isError = typeof item.error === "string" || item.status === "failed";
  return [call, { message: toolResult(id, shownOutput(output), isError) }];
}

/** `{ type: "text", text }` is its text. Other objects are shown as JSON. */
function shownOutput(output: unknown): string {
  if (typeof output === "string") return output;
  if (isObject(output)) {
    if (/screenshot|image/.test(textOf(output.type))) return "[image]";
    return typeof output.text === "string" ? output.text : jsonText(output);
  }
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
