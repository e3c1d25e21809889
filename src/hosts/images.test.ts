import { expect, test } from "vitest";
import { estimateTokens } from "../core/tokens.ts";
import { type AiSdkMessage, fromModelMessages } from "../models/model-messages.ts";
import { prepareStepWith } from "./ai-sdk-prepare-step.ts";

/** A picture of 1024 by 1024 pixels: 765 tokens for gpt-4o. */
const PICTURE = Buffer.concat([
  Buffer.from("89504e470d0a1a0a0000000d494844520000040000000400", "hex"),
  Buffer.alloc(120),
]).toString("base64");

/** A chat of 60 turns with a picture each. Requests are counted as the provider of the turn's model does. */
async function chatWithPictures(modelOf: (turn: number) => { provider: string; modelId: string }) {
  let summaries = 0;
  const prepare = prepareStepWith({
    contextWindow: WINDOW,
    chatId: () => "c1",
    summarize: async () => {
      summaries += 1;
      return "Pictures of the harbour were looked at, and each was described in a sentence.";
    },
  });
  const messages: AiSdkMessage[] = [];
  const requests: number[] = [];
  for (let turn = 0; turn < 60; turn += 1) {
    const parts = [
      { type: "text", text: `What is on picture ${turn}?` },
      { type: "image", image: PICTURE, mediaType: "image/png" },
    ];
    messages.push({ role: "user", content: parts });
    const steps = requests.slice(-1).map((inputTokens) => ({ usage: { inputTokens } }));
    const model = { ...modelOf(turn), doGenerate: async () => ({ content: [] }) };
    const sent = await prepare({ messages, steps, model });
    const name = `${model.provider}/${model.modelId}`;
    requests.push(estimateTokens(fromModelMessages(sent.messages), name));
    messages.push({ role: "assistant", content: `A ship and crane ${turn} in the harbour.` });
  }
  return { summaries, fullest: Math.max(...requests) };
}

const WINDOW = 16_000;
const gpt = { provider: "openai", modelId: "gpt-4o" };
const claude = { provider: "anthropic", modelId: "claude-sonnet-4-5" };

test("pictures are counted as the model of the step counts them, so a chat with many is compacted when it is full", async () => {
  const { summaries, fullest } = await chatWithPictures(() => gpt);
  expect(summaries).toBeLessThanOrEqual(5);
  expect(fullest).toBeGreaterThan(0.7 * WINDOW);
  expect(fullest).toBeLessThanOrEqual(0.8 * WINDOW);
});

test("pictures are counted anew when the model of a chat becomes another", async () => {
  const { fullest } = await chatWithPictures((turn) => (turn % 14 < 13 ? gpt : claude));
  expect(fullest).toBeLessThanOrEqual(0.8 * WINDOW);
  const unknown = await chatWithPictures(() => ({ provider: "mine", modelId: "own-1" }));
  expect(unknown.fullest).toBeLessThanOrEqual(0.8 * WINDOW);
});
