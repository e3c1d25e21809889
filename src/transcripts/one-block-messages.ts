import { isObject } from "../core/fields.ts";
import type { Message } from "../core/message.ts";
import { parsedJson } from "./json-fields.ts";

/** Messages of one block. Most transcripts have a record for each block of an answer. */
export function answerText(text: string): Message {
  return {
    role: "block_assistant",
    blocks: [{ block_type: "text", data: { text } }],
    stop_reason: "end_turn",
  };
}

export function answerThinking(text: string): Message {
  return {
    role: "block_assistant",
    blocks: [{ block_type: "reasoning", data: { text } }],
    stop_reason: "end_turn",
  };
}

export function toolCall(id: string, name: string, args: unknown): Message {
  return {
    role: "block_assistant",
    blocks: [{ block_type: "tool_use", data: { id, name, args: toolArguments(args) } }],
    stop_reason: "tool_use",
  };
}

export function toolResult(tool_use_id: string, content: string, is_error = false): Message {
  return { role: "tool_results", results: [{ tool_use_id, content, is_error }] };
}

/** OpenAI's arguments are JSON in a text. The model may have made invalid JSON, which is kept as it is. */
export function toolArguments(args: unknown): unknown {
  if (typeof args !== "string") return args ?? {};
  if (args.trim() === "") return {};
  const value = parsedJson(args);
  return isObject(value) || Array.isArray(value) ? value : { arguments: args };
}
