/** Models and embedders of the AI SDK's providers, and compaction for arrays of the AI SDK's messages. */

import { openHostService } from "./app/host-service.ts";
import { chatMemory } from "./app/host-windows.ts";
import { SessionError } from "./core/errors.ts";
import {
  anything,
  callback,
  group,
  requireOptions,
  stores as storesCheck,
  WINDOW,
} from "./core/options.ts";
import type { Stores } from "./core/stores.ts";
import type { Tool } from "./core/tool.ts";
import { type MemoryTools, memoryToolsOf, type Recall } from "./hosts/ai-sdk-memory.ts";
import { middlewareWith } from "./hosts/ai-sdk-middleware.ts";
import {
  type PrepareStep,
  type PrepareStepOptions,
  prepareStepWith,
} from "./hosts/ai-sdk-prepare-step.ts";
import type { WindowOptions } from "./hosts/ai-sdk-requests.ts";

export type { AiSdkTool, MemoryTools } from "./hosts/ai-sdk-memory.ts";
export type { AiSdkStep, PrepareStep, PrepareStepOptions } from "./hosts/ai-sdk-prepare-step.ts";
export { aiSdkView } from "./hosts/ai-sdk-view.ts";
export { type AiSdkModelsOptions, aiSdkModels } from "./models/ai-sdk-models.ts";
export { type AiSdkEmbedderOptions, embedderFromAiSdk } from "./models/embedder-from-ai-sdk.ts";
export { type AiSdkModelOptions, fromAiSdk } from "./models/from-ai-sdk.ts";
export {
  type AiSdkMessage,
  fromModelMessages,
  toModelMessages,
} from "./models/model-messages.ts";
export {
  type AiSdkToolLike,
  type AiSdkToolsOptions,
  aiSdkTools,
} from "./models/tools-from-ai-sdk.ts";

export interface RkatPrepareStepOptions extends PrepareStepOptions {
  /** Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`. Needs a `chatId`. */
  readonly stores?: Stores;
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
  const more = { stores: storesCheck, chatId: callback, next: callback };
  requireOptions("rkatPrepareStep", group({ ...WINDOW, ...more }), given);
  const { stores, ...options } = given;
  if (!stores) return prepareStepWith(options);
  if (!options.chatId) {
    throw new SessionError("INVALID_PARAMS", {
      message: "rkatPrepareStep has stores, but no chatId.",
      hint: "Pass `chatId`, a function that returns the id of the chat of a step.",
    });
  }
  return prepareStepWith(options, chatMemory(stores));
}

export interface RkatMiddlewareOptions extends WindowOptions {
  /**
   * Keeps the compactions of calls that have a chat's id, and adds what memory has for a user message
   * to it. Such as `sqliteStores({ path })`; for one user of many, `stores.forUser(name)`.
   */
  readonly stores?: Stores;
  /** Tokens of memory for one user message. Default 1 000; 0 adds nothing. */
  readonly memoryTokens?: number;
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
  const more = { stores: storesCheck, memoryTokens: anything };
  requireOptions("rkatMiddleware", group({ ...WINDOW, ...more }), given);
  const { stores, memoryTokens = MEMORY_TOKENS, ...options } = given;
  if (!Number.isInteger(memoryTokens) || memoryTokens < 0) {
    throw new SessionError("INVALID_PARAMS", {
      message: `memoryTokens is ${memoryTokens}; it has to be a whole number, 0 or more.`,
    });
  }
  if (!stores) return middlewareWith(options);
  const { recordOf, tools, close } = chatMemory(stores);
  const recall = recallWith(tools, memoryTokens);
  return middlewareWith(options, { recordOf, close, ...(memoryTokens > 0 ? { recall } : {}) });
}

const MEMORY_TOKENS = 1_000;

/** The results of `memory_search` for a text, in the form that the model gets. */
function recallWith(tools: readonly Tool[], maxTokens: number): Recall {
  const search = tools.find(({ definition }) => definition.name === "memory_search");
  return async (query, signal = new AbortController().signal) => {
    const args = { query, max_tokens: maxTokens };
    const found = await search?.execute(args, { sessionId: "", toolUseId: "", signal });
    const text = typeof found === "string" ? found : found?.content;
    return text === "[]" ? undefined : text;
  };
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
