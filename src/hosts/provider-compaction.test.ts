import { expect, test } from "vitest";
import { createHistoryWindow } from "../window/create-history-window.ts";
import type { MessageView } from "../window/message-view.ts";
import { aiSdkView } from "./ai-sdk-view.ts";
import { langChainView } from "./langchain-messages.ts";
import { itemView } from "./openai-items.ts";

const WORDS = "and so on, word by word, ".repeat(40);

/** A history of turns with an item of a provider early in it, and whether that is still in what is sent. */
async function stays<Message extends object>(
  view: MessageView<Message>,
  item: Message,
  turn: (index: number) => readonly Message[],
): Promise<boolean> {
  const turns = Array.from({ length: 30 }, (_, index) => turn(index));
  const messages = [...turns.slice(0, 3).flat(), item, ...turns.slice(3).flat()];
  const window = createHistoryWindow<Message>({
    view,
    contextWindow: 8_000,
    summarize: async () => "They talked about words.",
  });
  const { messages: sent, outcome } = await window.apply(messages);
  expect(outcome).toBe("compacted");
  expect(sent.length).toBeLessThan(messages.length / 2);
  const again = await window.apply([...messages, ...turn(31)]);
  return sent.includes(item) && again.messages.includes(item);
}

const aiSdkTurn = (index: number) =>
  [
    { role: "user", content: `Question ${index}: ${WORDS}` },
    { role: "assistant", content: [{ type: "text", text: `Answer ${index}: ${WORDS}` }] },
  ] as never;

test("AI SDK: what OpenAI or Anthropic put in the place of earlier messages never leaves", async () => {
  const providerOptions = { openai: { type: "compaction", encryptedContent: "opaque" } };
  const marked = { anthropic: { type: "compaction" } };
  for (const content of [
    [{ type: "custom", kind: "openai.compaction", providerOptions }],
    [{ type: "text", text: "Earlier, they talked.", providerOptions: marked }],
  ]) {
    const item = { role: "assistant", content } as never;
    expect(await stays(aiSdkView, item, aiSdkTurn)).toBe(true);
  }
});

test("OpenAI Agents: an item of the type compaction never leaves", async () => {
  const item = { type: "compaction", encrypted_content: "opaque" } as never;
  const turn = (index: number) =>
    [
      { type: "message", role: "user", content: `Question ${index}: ${WORDS}` },
      {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: `Answer ${index}: ${WORDS}` }],
      },
    ] as never;
  expect(await stays(itemView, item, turn)).toBe(true);
});

test("LangChain: a block of the type compaction never leaves", async () => {
  const item = {
    type: "ai",
    content: [{ type: "compaction", content: "Earlier, they talked." }],
  } as never;
  const turn = (index: number) =>
    [
      { type: "human", content: `Question ${index}: ${WORDS}` },
      { type: "ai", content: `Answer ${index}: ${WORDS}` },
    ] as never;
  expect(await stays(langChainView, item, turn)).toBe(true);
});
