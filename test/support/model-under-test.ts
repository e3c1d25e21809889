import { type AiSdkModelsOptions, aiSdkModels } from "../../src/ai-sdk.ts";
import type { LanguageModel, ModelChunk, ModelRequest } from "../../src/core/language-model.ts";
import type { AssistantBlock, BlockAssistantMessage, Message } from "../../src/core/message.ts";
import type { ProviderServer } from "./provider-server/provider-server.ts";

/** One model of each provider, by the protocol that it is spoken to in. */
export const MODELS = {
  anthropic: "anthropic/claude-opus-4-8",
  openai: "openai/gpt-5.2",
  google: "google/gemini-3-pro-preview",
  "openai-compatible": "openai-compatible/local",
} as const;

export type ModelName = keyof typeof MODELS;

export const MODEL_NAMES = Object.keys(MODELS) as ModelName[];

/** Looks like a key of any provider's; no message may show it. */
export const KEY = "sk-test-0123456789abcdef";

export const KEY_VARIABLES = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  google: "GOOGLE_GENERATIVE_AI_API_KEY",
  "openai-compatible": "OPENAI_COMPATIBLE_API_KEY",
} as const;

/** The resolver of a user whose providers all are the server. */
export function modelsOf(server: ProviderServer, options: AiSdkModelsOptions = {}) {
  const env = Object.fromEntries(Object.values(KEY_VARIABLES).map((name) => [name, KEY]));
  return aiSdkModels({ env, baseUrls: server.urls, ...options });
}

export function user(content: string): Message {
  return { role: "user", content };
}

/** Calls a model and waits for all that it says. */
export async function ask(
  model: LanguageModel,
  messages: readonly Message[],
  request: Partial<ModelRequest> = {},
) {
  const chunks: ModelChunk[] = [];
  const signal = new AbortController().signal;
  for await (const chunk of model.stream({ messages, tools: [], signal, ...request })) {
    chunks.push(chunk);
  }
  const blocks = chunks.flatMap((chunk): AssistantBlock[] =>
    chunk.type === "block" ? [chunk.block] : [],
  );
  const finish = chunks.find((chunk) => chunk.type === "finish");
  if (!finish) throw new Error("The model did not finish.");
  const { stopReason: stop_reason } = finish;
  const message: BlockAssistantMessage = { role: "block_assistant", blocks, stop_reason };
  return { chunks, blocks, finish, message };
}
