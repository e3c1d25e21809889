/** Models and embedders of the AI SDK's providers, and compaction for arrays of the AI SDK's messages. */

import { openHostService } from "./app/host-service.ts";
import { chatMemory } from "./app/host-windows.ts";
import { SessionError } from "./core/errors.ts";
import {
  callback,
  group,
  oneOf,
  PRICED_WINDOW,
  requireOptions,
  stores as storesCheck,
  whole,
} from "./core/options.ts";
import type { Stores } from "./core/stores.ts";
import { type MemoryTools, memoryToolsOf } from "./hosts/ai-sdk-memory.ts";
import { type MiddlewareOptions, middlewareWith } from "./hosts/ai-sdk-middleware.ts";
import {
  type PrepareStep,
  type PrepareStepOptions,
  prepareStepWith,
} from "./hosts/ai-sdk-prepare-step.ts";

export type { AiSdkTool, MemoryTools } from "./hosts/ai-sdk-memory.ts";
export type { AiSdkStep, PrepareStep, PrepareStepOptions } from "./hosts/ai-sdk-prepare-step.ts";
export type { StepUsage } from "./hosts/ai-sdk-sent-requests.ts";
export { aiSdkView } from "./hosts/ai-sdk-view.ts";
export { type AiSdkModelsOptions, aiSdkModels } from "./models/ai-sdk-models.ts";
export {
  type AiSdkEmbedderOptions,
  type AiSdkEmbeddingModel,
  embedderFromAiSdk,
} from "./models/embedder-from-ai-sdk.ts";
export {
  type AiSdkModel,
  type AiSdkModelOptions,
  type AiSdkToolLike,
  type AiSdkToolsOptions,
  aiSdkTools,
  fromAiSdk,
} from "./models/from-ai-sdk.ts";
export {
  type AiSdkMessage,
  fromModelMessages,
  toModelMessages,
} from "./models/model-messages.ts";

export interface RkatPrepareStepOptions extends PrepareStepOptions {
  /** Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`. Needs a `chatId`. */
  readonly stores?: Stores;
  /** Tokens that records of memory may take before a prompt that they are about. Default 1500; 0 for none. */
  readonly recallTokens?: number;
}

/**
 * Compaction for `generateText`, `streamText` and `ToolLoopAgent`, before each step:
 *
 *     const prepareStep = rkatPrepareStep({ contextWindow: 200_000 });
 *     const agent = new ToolLoopAgent({ model, tools, prepareStep });
 *
 * With `stores`, a chat goes on where it was after a restart, and searches find what was compacted.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function rkatPrepareStep(given: RkatPrepareStepOptions = {}): PrepareStep {
  const more = { stores: storesCheck, chatId: callback, next: callback, recallTokens: whole(0) };
  requireOptions("rkatPrepareStep", group({ ...PRICED_WINDOW, ...more }), given);
  const { stores, recallTokens, ...options } = given;
  if (!stores) return prepareStepWith(options);
  if (!options.chatId) {
    throw new SessionError("INVALID_PARAMS", {
      message: "rkatPrepareStep has stores, but no chatId.",
      hint: "Pass `chatId`, a function that returns the id of the chat of a step.",
    });
  }
  return prepareStepWith(options, chatMemory({ stores, recallTokens }));
}

export interface RkatMiddlewareOptions extends MiddlewareOptions {
  /**
   * Keeps the compactions of calls that have a chat's id, and shows what memory has about a prompt before
   * it. Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`.
   */
  readonly stores?: Stores;
  /** Tokens that records of memory may take before a prompt that they are about. Default 1500; 0 for none. */
  readonly recallTokens?: number;
}

/**
 * Compaction for code that you cannot change, as a middleware of the model:
 *
 *     const model = wrapLanguageModel({ model: anthropic("claude-sonnet-4-5"), middleware: rkatMiddleware() });
 *
 * It compacts what the model is sent. When the provider still refuses a request as too long, it makes
 * it smaller and asks once more. `providerOptions.rkat.chatId` tells chats apart; without it, their first
 * user messages do.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function rkatMiddleware(given: RkatMiddlewareOptions = {}) {
  const more = { stores: storesCheck, recallTokens: whole(0), compaction: oneOf("provider") };
  requireOptions("rkatMiddleware", group({ ...PRICED_WINDOW, ...more }), given);
  const { stores, recallTokens, ...options } = given;
  return middlewareWith(options, stores && chatMemory({ stores, recallTokens }));
}

/**
 * `memory_search` and `search_project_history` as tools of the AI SDK, over the stores of a project:
 *
 *     const memory = memoryTools({ stores });
 *     const agent = new ToolLoopAgent({ model, tools: { ...tools, ...memory.tools } });
 *     await memory.close(); // before you close the stores
 */
export function memoryTools(options: { readonly stores: Stores }): {
  readonly tools: MemoryTools;
  close(): Promise<void>;
} {
  requireOptions("memoryTools", group({ stores: storesCheck }, ["stores"]), options);
  const { stores } = options;
  const { service, close } = openHostService(stores);
  return { tools: memoryToolsOf(service), close };
}
