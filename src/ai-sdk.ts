/** Models and embedders of the AI SDK's providers, and compaction for arrays of the AI SDK's messages. */
export {
  type AiSdkStep,
  type PrepareStepOptions,
  rkatMiddleware,
  rkatPrepareStep,
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
