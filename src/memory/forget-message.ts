import { FORGOTTEN } from "../core/forgotten.ts";
import type { Message } from "../core/message.ts";
import { inJson } from "./in-json.ts";
import type { TellingTexts } from "./telling-texts.ts";

/** A message of which nothing is left but the calls of tools. */
export function forgottenMessage(message: Message): Message {
  switch (message.role) {
    case "block_assistant":
      return {
        ...message,
        blocks: message.blocks.map((block) => {
          if (block.block_type !== "tool_use") return { ...block, data: { text: FORGOTTEN } };
          const { meta: _, ...data } = block.data;
          return { ...block, data };
        }),
      };
    case "tool_results":
      return {
        ...message,
        results: message.results.map((result) => ({ ...result, content: FORGOTTEN })),
      };
    default:
      return { ...message, content: FORGOTTEN };
  }
}

/** A message without copies of forgotten texts; what somebody said stays as it is. */
export function messageWithoutCopies(message: Message, texts: TellingTexts): Message {
  const whole = (text: string) => texts.outOf(text, "whole");
  switch (message.role) {
    case "system":
      return { ...message, content: whole(message.content) };
    case "user":
      if (message.kind === undefined || typeof message.content !== "string") return message;
      return { ...message, content: texts.outOf(message.content, "part") };
    case "assistant":
      if (!message.tool_calls) return message;
      return {
        ...message,
        tool_calls: message.tool_calls.map((call) => ({ ...call, args: inJson(call.args, whole) })),
      };
    case "block_assistant":
      return {
        ...message,
        blocks: message.blocks.map((block) => {
          if (block.block_type === "text") return block;
          if (block.block_type === "tool_use") {
            return { ...block, data: { ...block.data, args: inJson(block.data.args, whole) } };
          }
          const text = whole(block.data.text);
          return text === block.data.text ? block : { ...block, data: { text } };
        }),
      };
    case "tool_results":
      return {
        ...message,
        results: message.results.map((result) => ({ ...result, content: whole(result.content) })),
      };
  }
}
