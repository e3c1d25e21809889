import { requestText } from "../compaction/summary-request.ts";
import type { Summarize, SummaryRequest } from "../compaction/write-summary.ts";
import type { Message } from "../core/message.ts";
import { messageOfItem, type OpenAIItem, userItem } from "./openai-items.ts";

/** The part of a `Model` of the Agents SDK that a summary needs. */
export interface OpenAIModel {
  getResponse(request: never): Promise<{ readonly output: readonly OpenAIItem[] }>;
}

/** Asks a model of the Agents SDK for summaries. */
export function summarizeWith(model: OpenAIModel): Summarize {
  return async ({ messages, maxTokens, signal }: SummaryRequest) => {
    const request = {
      input: [userItem(requestText(messages))],
      // The answer is not asked for again.
      modelSettings: { maxTokens, store: false },
      tools: [],
      outputType: "text",
      handoffs: [],
      tracing: false,
      signal,
    };
    const { output } = await model.getResponse(request as never);
    return output.map(messageOfItem).flatMap(answerText).join("\n");
  };
}

function answerText(message: Message | undefined): readonly string[] {
  if (message?.role !== "block_assistant") return [];
  return message.blocks.flatMap((block) => (block.block_type === "text" ? [block.data.text] : []));
}
