import { changedJson, type JsonChange } from "../core/json-values.ts";
import { type ContentBlock, FORGOTTEN, type Message, type ToolUse } from "../core/message.ts";
import type { ForgottenPhrases } from "./forgotten-phrases.ts";

/**
 * How much of an event to forget:
 *
 *     message      the words; tool calls stay
 *     everything   the words and the arguments of tool calls
 *     phrases      only the forgotten phrases
 */
export type Extent = "message" | "everything" | "phrases";

/** The message without its words. Only `everything` empties the arguments of its tool calls. */
export function forgottenMessage(message: Message, extent: Extent): Message {
  const args = (call: ToolUse) =>
    extent === "everything" ? { ...call, args: emptiedJson(call.args) } : call;
  switch (message.role) {
    case "assistant":
      return {
        ...message,
        content: FORGOTTEN,
        ...(message.tool_calls ? { tool_calls: message.tool_calls.map(args) } : {}),
      };
    case "block_assistant":
      return {
        ...message,
        blocks: message.blocks.map((block) => {
          if (block.block_type !== "tool_use") return { ...block, data: { text: FORGOTTEN } };
          const { meta: _, ...data } = block.data;
          return { ...block, data: args(data) };
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

/** The message without copies of forgotten texts. What people and models said themselves stays. */
export function messageWithoutCopies(message: Message, phrases: ForgottenPhrases): Message {
  const whole = (text: string) => phrases.removeFrom(text, "whole");
  switch (message.role) {
    case "system":
      return { ...message, content: whole(message.content) };
    case "user":
      if (message.kind === undefined || typeof message.content !== "string") return message;
      return { ...message, content: phrases.removeFrom(message.content, "part") };
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

/** The message without the phrases, in the words of its author too. */
export function messageWithoutPhrases(message: Message, phrases: ForgottenPhrases): Message {
  if (message.role !== "user") return messageWithoutCopies(message, phrases);
  const { content } = message;
  return {
    ...message,
    content:
      typeof content === "string"
        ? phrases.removeFrom(content, "whole")
        : blocksWithout(content, phrases),
  };
}

export function blocksWithout(blocks: readonly ContentBlock[], phrases: ForgottenPhrases) {
  return blocks.map((block) =>
    block.type === "text" ? { ...block, text: phrases.removeFrom(block.text, "whole") } : block,
  );
}

/** JSON with each text changed. A field name counts as a text when it has a space. */
export function inJson(value: unknown, change: (text: string) => string): unknown {
  return changedJson(value, textChange(change));
}

/** The change that `inJson` makes. */
export function textChange(change: (text: string) => string): JsonChange {
  return {
    leaf: (leaf) => (typeof leaf === "string" ? change(leaf) : leaf),
    key: (key) => (/\s/.test(key) ? change(key) : key),
  };
}

/** JSON with every text and number replaced by the marker. Only the structure stays. */
export function emptiedJson(value: unknown): unknown {
  return changedJson(value, {
    leaf: (leaf) => (typeof leaf === "string" || typeof leaf === "number" ? FORGOTTEN : leaf),
    key: (key) => (/\s/.test(key) ? FORGOTTEN : key),
  });
}
