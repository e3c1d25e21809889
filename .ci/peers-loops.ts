// Compiled and run beside the packages that are installed here: both ways into the AI SDK's loop keep a chat in its window.
import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type ModelMessage, wrapLanguageModel } from "ai";
import { ephemeralStores, type LanguageModel } from "rkat";
import {
  aiSdkModels,
  embedderFromAiSdk,
  fromAiSdk,
  memoryTools,
  rkatMiddleware,
  rkatPrepareStep,
} from "rkat/ai-sdk";

// What takes a model takes those of the installed packages.
export const models: readonly LanguageModel[] = [
  fromAiSdk(createAnthropic({ apiKey: "key" })("claude-opus-4-8"), {
    providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 2_000 } } },
  }),
];
export const embedder = embedderFromAiSdk(
  createOpenAI({ apiKey: "key" }).embeddingModel("text-embedding-3-small"),
);
export const named = aiSdkModels({ providerOptions: { openai: { store: false } } });

const { REPOSITORY: repository } = process.env;
const { startProviderServer } = await import(
  `${repository}/test/support/provider-server/provider-server.ts`
);

const words = "harbour ship cargo crane ledger ".repeat(40);
const messages: ModelMessage[] = Array.from({ length: 41 }, (_, at) => ({
  role: at % 2 === 0 ? "user" : "assistant",
  content: `${at} ${words}`,
}));
const stores = ephemeralStores();
const memory = memoryTools({ stores });
const middleware = rkatMiddleware({ contextWindow: 4_000, summarize: "fallback", stores });
const provider = await startProviderServer(["One.", "Two."]);
const model = createOpenAI({ apiKey: "key", baseURL: provider.urls.openai })("gpt-5.2");

const step = await generateText({
  model,
  messages,
  tools: memory.tools,
  providerOptions: { openai: { store: false } },
  prepareStep: rkatPrepareStep({ contextWindow: 4_000, summarize: "fallback" }),
});
const wrapped = await generateText({
  model: wrapLanguageModel({ model, middleware }),
  messages,
  providerOptions: { rkat: { chatId: "peers" }, openai: { store: false } },
});
assert.deepEqual([step.text, wrapped.text], ["One.", "Two."]);
const whole = JSON.stringify(messages).length;
for (const { body } of provider.requests) {
  assert.ok(JSON.stringify(body).length < whole / 2, "a request is as long as the chat");
  assert.ok(JSON.stringify(body).includes(`40 ${words}`), "the last message is missing");
}
assert.equal(provider.requests.length, 2);
assert.deepEqual(provider.problems, []);
await middleware.close();
await memory.close();
await stores.close();
await provider.close();
