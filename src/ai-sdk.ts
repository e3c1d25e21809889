/** Models and embedders of the AI SDK's providers, and compaction for arrays of the AI SDK's messages. */
import { SessionError } from "./core/errors.ts";
import type { Stores } from "./core/stores.ts";
import { type PrepareStep, type PrepareStepOptions, prepareStepWith } from "./hosts/ai-sdk.ts";
import { type MemoryTools, memoryToolsOf } from "./hosts/ai-sdk-memory-tools.ts";
import { chatRecords } from "./session/chat-records.ts";
import { LocalSessionService } from "./session/local-session-service.ts";
import { readWindowItem } from "./window/window-record.ts";

export {
  type AiSdkStep,
  type PrepareStep,
  type PrepareStepOptions,
  rkatMiddleware,
} from "./hosts/ai-sdk.ts";
export { aiSdkView } from "./hosts/ai-sdk-view.ts";
export { type AiSdkModelsOptions, aiSdkModels } from "./models/ai-sdk-models.ts";
export { type AiSdkEmbedderOptions, embedderFromAiSdk } from "./models/embedder-from-ai-sdk.ts";
export { type AiSdkModelOptions, fromAiSdk } from "./models/from-ai-sdk.ts";
export {
  type AiSdkMessage,
  fromModelMessages,
  toModelMessages,
} from "./models/model-messages.ts";

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
export function rkatPrepareStep({ stores, ...options }: RkatPrepareStepOptions = {}): PrepareStep {
  if (!stores) return prepareStepWith(options);
  if (!options.chatId) {
    throw new SessionError("INVALID_PARAMS", {
      message: "rkatPrepareStep has stores, but no chatId.",
      hint: "Pass `chatId`, a function that returns the id of the chat of a step.",
    });
  }
  return prepareStepWith(options, chatRecords(stores, readWindowItem));
}

/**
 * `memory_search` and `search_project_history` as tools of the AI SDK, over the stores of a project:
 *
 *     const memory = memoryTools({ stores });
 *     const agent = new ToolLoopAgent({ model, tools: { ...tools, ...memory.tools } });
 *     await memory.close(); // before you close the stores
 */
export function memoryTools({ stores }: { readonly stores: Stores }): {
  readonly tools: MemoryTools;
  close(): Promise<void>;
} {
  const service = new LocalSessionService({
    model: "none",
    stores,
    builtinTools: false,
    persistent: true,
  });
  return { tools: memoryToolsOf(service), close: () => service.close() };
}
