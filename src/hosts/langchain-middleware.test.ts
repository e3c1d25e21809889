import { expect, test } from "vitest";
import type { LangChainMessage } from "./langchain-messages.ts";
import { langChainMiddleware } from "./langchain-middleware.ts";
import type { ModelRequest } from "./langchain-summary.ts";

const user = (id: string, words: number): LangChainMessage => ({
  type: "human",
  id,
  content: `${id} ${"harbour ship cargo ".repeat(words)}`,
});

const answer = (id: string, words: number, input_tokens: number): LangChainMessage => ({
  ...user(id, words),
  type: "ai",
  usage_metadata: { input_tokens },
});

/** Offers histories to an agent of LangChain. Returns what its model is sent. */
function offering() {
  const { wrapModelCall } = langChainMiddleware({
    contextWindow: 8_000,
    minTurnsBetweenCompactions: 0,
    summarize: async () => "The user asked about the harbour, ship and cargo.",
  });
  const model = { invoke: async () => "" };
  const runtime = { configurable: { thread_id: "one" } };
  return (messages: readonly LangChainMessage[]) => {
    const request: ModelRequest = { model, messages, state: { messages }, runtime };
    return wrapModelCall(request, async (sent) => sent.messages);
  };
}

test("after a turn was taken back, the count of an older answer says nothing about the last request", async () => {
  const offer = offering();
  const turns = Array.from({ length: 10 }, (_, index) => [
    user(`u${index}`, 60),
    answer(`a${index}`, 60, 600 * (index + 1)),
  ]).flat();
  expect(await offer(turns.slice(0, -1))).toEqual(turns.slice(0, -1));
  const compacted = await offer([...turns, user("taken back", 300)]);
  expect(compacted.length).toBeLessThan(turns.length);
  const kept = [...compacted.slice(0, -1), user("instead", 400)];
  expect(kept.at(-2)).toBe(turns.at(-1));
  expect(await offer(kept)).toEqual(kept);
});
