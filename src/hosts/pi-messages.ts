import { type AssistantBlock, type Message, summaryMessage } from "../core/message.ts";
import { contentText, listOf, objectOf, textOf } from "../transcripts/json-fields.ts";
import { ANSWER } from "./host-messages.ts";
import type { PiAnswer, PiMessage, PiUsage } from "./pi-api.ts";

/** pi's messages as rkat's. The prompt of the system is left out: pi sends its own. */
export function fromPiMessages(messages: readonly PiMessage[]): readonly Message[] {
  return messages.flatMap((message): readonly Message[] => {
    const { role, content } = message;
    switch (role) {
      case "user":
      case "custom":
        return user(contentText(content));
      case "bashExecution":
        return message.excludeFromContext === true
          ? []
          : user(`$ ${textOf(message.command)}\n${textOf(message.output)}`);
      case "assistant":
        return answer(content);
      case "toolResult":
        return [result(message)];
      case "branchSummary":
      case "compactionSummary":
        return [summaryMessage(textOf(message.summary))];
      default:
        return [];
    }
  });
}

/** The texts that the user typed. */
export function typedIn(messages: readonly PiMessage[]): readonly string[] {
  return messages.flatMap(({ role, content }) => (role === "user" ? [contentText(content)] : []));
}

/** The text of an answer. */
export function answerText(content: unknown): string {
  const texts = listOf(content)
    .map(objectOf)
    .filter(({ type }) => type === "text");
  return texts.map(({ text }) => textOf(text)).join("\n");
}

function user(content: string): readonly Message[] {
  return content === "" ? [] : [{ role: "user", content }];
}

function result({ toolCallId, content, isError }: PiMessage): Message {
  return {
    role: "tool_results",
    results: [
      {
        tool_use_id: textOf(toolCallId),
        content: contentText(content),
        is_error: isError === true,
      },
    ],
  };
}

function answer(content: unknown): readonly Message[] {
  const blocks = listOf(content).flatMap((value): readonly AssistantBlock[] => {
    const { type, text, id, name, arguments: args } = objectOf(value);
    if (type === "text") return [{ block_type: "text", data: { text: textOf(text) } }];
    if (type !== "toolCall") return [];
    return [
      { block_type: "tool_use", data: { id: textOf(id), name: textOf(name), args: args ?? {} } },
    ];
  });
  return blocks.length === 0 ? [] : [{ role: "block_assistant", blocks, stop_reason: "end_turn" }];
}

export function userMessage(text: string, timestamp: unknown): PiMessage {
  return { role: "user", content: [{ type: "text", text }], timestamp };
}

/** An answer that no model gave. */
export function answerMessage(timestamp: unknown): PiMessage {
  return {
    ...{ role: "assistant", content: [{ type: "text", text: ANSWER }], stopReason: "stop" },
    ...{ api: "rkat", provider: "rkat", model: "rkat", usage: NO_USAGE, timestamp },
  };
}

const NO_USAGE: PiUsage = {
  ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** The text of an answer that ended by itself. */
export function textOfAnswer({ content, stopReason, errorMessage }: PiAnswer): string {
  if (stopReason !== "stop") throw new Error(errorMessage ?? `The summary ended by ${stopReason}.`);
  return answerText(content);
}
