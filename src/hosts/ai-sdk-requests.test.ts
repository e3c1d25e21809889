import { expect, test } from "vitest";
import type { Message } from "../core/message.ts";
import { modelOptions } from "./ai-sdk-requests.ts";

test("a request for a summary leaves out what the provider refuses, as other requests do", async () => {
  const ids: string[] = [];
  const model = {
    provider: "mistral.chat",
    modelId: "mistral-large",
    async doGenerate({ prompt }: { readonly prompt?: unknown }) {
      const [, id = ""] = /"toolCallId":"([^"]*)"/.exec(JSON.stringify(prompt)) ?? [];
      ids.push(id);
      if (id.length === 9) return { content: [{ type: "text", text: "A summary." }] };
      const message = `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`;
      throw Object.assign(new Error(message), { statusCode: 400 });
    },
  };
  const { summarize } = modelOptions(model, { contextWindow: 32_000, summarize: undefined });
  if (summarize === "fallback") throw new Error("unreachable");
  const messages: Message[] = [
    { role: "user", content: "List the files." },
    {
      role: "block_assistant",
      blocks: [{ block_type: "tool_use", data: { id: "call_of_another", name: "ls", args: {} } }],
      stop_reason: "tool_use",
    },
    {
      role: "tool_results",
      results: [{ tool_use_id: "call_of_another", content: "a.txt", is_error: false }],
    },
    { role: "user", content: "Sum it up." },
  ];
  const ask = () =>
    summarize({
      messages,
      closing: "Sum it up.",
      maxTokens: 100,
      signal: AbortSignal.timeout(5_000),
    });
  expect(await ask()).toBe("A summary.");
  // The next request begins with what the first one learned.
  expect(await ask()).toBe("A summary.");
  expect(ids).toHaveLength(3);
});
