import type {
  LanguageModelV3,
  LanguageModelV3Message,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { LanguageModel, ModelChunk, ModelRequest } from "../core/language-model.ts";
import {
  type Check,
  callback,
  group,
  positive,
  record,
  requireArgument,
  requireOptions,
  text,
  withFields,
} from "../core/options.ts";
import type { ToolDefinition } from "../core/tool.ts";
import { contextWindowOf, familyOf } from "./model-family.ts";
import { type FailureContext, providerFailure } from "./provider-failure.ts";
import { readStream } from "./read-stream.ts";
import { toPrompt } from "./to-prompt.ts";

export interface AiSdkModelOptions {
  /** `provider/model`. Default: from the model's own names. */
  readonly id?: string;
  /** The context window in tokens. Known for current models of Anthropic, OpenAI and Google. */
  readonly contextWindow?: number;
  /** Sent to the provider with every request, such as `{ anthropic: { effort: "low" } }`. */
  readonly providerOptions?: SharedV4ProviderOptions;
}

/** A model of a provider package for the AI SDK 7 (`LanguageModelV4`) or 6 (`LanguageModelV3`). */
export type AiSdkModel = LanguageModelV4 | LanguageModelV3;

/**
 * Makes a model from a model of the AI SDK, 7 or 6, such as `anthropic("claude-sonnet-5-5")`.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkModelOptions = {}): LanguageModel {
  requireArgument("the model of fromAiSdk", aiSdkModel("doStream"), model);
  requireOptions("fromAiSdk", OPTIONS_OF_MODEL, options);
  const id = options.id ?? `${model.provider.split(".")[0]}/${model.modelId}`;
  return makeModel(model, { ...options, id });
}

const OPTIONS_OF_MODEL = group({ id: text, contextWindow: positive, providerOptions: record });

/** A model of the AI SDK, which can do this. */
export function aiSdkModel(method: "doStream" | "doEmbed"): Check {
  return withFields({ provider: text, modelId: text, [method]: callback }, [
    "provider",
    "modelId",
    method,
  ]);
}

/** Like `fromAiSdk`, for a caller that knows the model's key. */
export function makeModel(
  model: AiSdkModel,
  options: AiSdkModelOptions & FailureContext,
): LanguageModel {
  const contextWindow = options.contextWindow ?? contextWindowOf(options.id);
  return {
    id: options.id,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    stream: (request) => streamModel(model, request, options),
  };
}

async function* streamModel(
  model: AiSdkModel,
  request: ModelRequest,
  options: AiSdkModelOptions & FailureContext,
): AsyncGenerator<ModelChunk> {
  const asked = callOptions(model, request, options);
  try {
    const { stream } =
      model.specificationVersion === "v3"
        ? await model.doStream({ ...asked, prompt: asked.prompt.map(toV3) })
        : await model.doStream(asked);
    yield* readStream(stream, familyOf(model.provider));
  } catch (error) {
    request.signal.throwIfAborted();
    throw providerFailure(error, options);
  }
}

function callOptions(
  model: AiSdkModel,
  { messages, tools, maxTokens, signal }: ModelRequest,
  { providerOptions }: AiSdkModelOptions,
): LanguageModelV4CallOptions {
  return {
    prompt: toPrompt(messages, familyOf(model.provider)),
    abortSignal: signal,
    providerOptions: providerOptionsFor(model, providerOptions),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(tools.length === 0 ? {} : { tools: tools.map(toFunctionTool) }),
  };
}

/** A message as the AI SDK 6 has it: the data of a file is the address or the bytes themselves. */
function toV3(message: LanguageModelV4Message): LanguageModelV3Message {
  if (message.role !== "user") return message as LanguageModelV3Message;
  const content = message.content.map((part) => {
    if (part.type !== "file") return part;
    const { data } = part;
    if (data.type === "url") return { ...part, data: data.url };
    return data.type === "data" ? { ...part, data: data.data } : part;
  });
  return { ...message, content } as LanguageModelV3Message;
}

function toFunctionTool({ name, description, input_schema }: ToolDefinition) {
  const inputSchema = input_schema as LanguageModelV4FunctionTool["inputSchema"];
  return { type: "function" as const, name, description, inputSchema };
}

/** Provider options for an engine that keeps and rewrites histories itself. The user's options win. */
function providerOptionsFor(
  model: AiSdkModel,
  users: SharedV4ProviderOptions = {},
): SharedV4ProviderOptions {
  const { optionsKey, metaProvider } = familyOf(model.provider);
  const own = OPTIONS[metaProvider]?.(model);
  return own ? { ...users, [optionsKey]: { ...own, ...users[optionsKey] } } : users;
}

type Options = SharedV4ProviderOptions[string];

const OPTIONS: Readonly<Record<string, (model: AiSdkModel) => Options>> = {
  anthropic: ({ provider, modelId }) => ({
    // Each call of a turn repeats the last one and adds a little, so caching pays. Other clouds
    // with these models refuse the field.
    ...(provider.startsWith("anthropic") ? { cacheControl: { type: "ephemeral" } } : {}),
    // These models bind thinking to everything before it. Compaction changes that, and by default
    // the provider would refuse the whole request.
    ...(/claude-(fable-5-[12]|opus-5-5|sonnet-5-5)/.test(modelId)
      ? { thinking: { blockBinding: { prefixMismatchBehavior: "drop_block" } } }
      : {}),
  }),
  // Nothing is stored at OpenAI. Encrypted reasoning is part of the history.
  open_ai: () => ({ store: false }),
};
