import type {
  LanguageModelV3,
  LanguageModelV3Message,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import type { LanguageModel, ModelChunk, ModelRequest } from "../core/language-model.ts";
import type { Message } from "../core/message.ts";
import {
  type Check,
  callback,
  group,
  object,
  positive,
  record,
  recordOf,
  requireArgument,
  requireOptions,
  text,
} from "../core/options.ts";
import { providerSchema } from "../core/provider-schema.ts";
import {
  isSchema,
  type JsonSchema,
  jsonSchemaOf,
  type Tool,
  type ToolDefinition,
  ToolError,
} from "../core/tool.ts";
import { wellFormed } from "../text/well-formed.ts";
import { AcceptedHistories } from "./accepted-histories.ts";
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
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

// The types of this file that programs see name none of a provider package: with the AI SDK 6, those of 7 are not there.

/** A model of a provider package for the AI SDK 7 (`LanguageModelV4`) or 6 (`LanguageModelV3`). */
export interface AiSdkModel {
  readonly specificationVersion: "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

type VersionedModel = LanguageModelV4 | LanguageModelV3;

/**
 * Makes a model from a model of the AI SDK, 7 or 6, such as `anthropic("claude-sonnet-5-5")`.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkModelOptions = {}): LanguageModel {
  requireArgument("the model of fromAiSdk", aiSdkModel("doStream"), model);
  requireOptions("fromAiSdk", OPTIONS_OF_MODEL, options);
  const id = options.id ?? `${model.provider.split(".")[0]}/${model.modelId}`;
  return makeModel(model as VersionedModel, { ...options, id });
}

const OPTIONS_OF_MODEL = group({ id: text, contextWindow: positive, providerOptions: record });

/** A model of the AI SDK, which can do this. */
export function aiSdkModel(method: "doStream" | "doEmbed"): Check {
  return object({ provider: text, modelId: text, [method]: callback });
}

/** Like `fromAiSdk`, for a caller that knows the model's key. */
export function makeModel(
  model: VersionedModel,
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
  model: VersionedModel,
  request: ModelRequest,
  options: AiSdkModelOptions & FailureContext,
): AsyncGenerator<ModelChunk> {
  const { messages, signal } = request;
  try {
    const family = familyOf(model.provider);
    const ask = async (messages: readonly Message[]) => {
      signal.throwIfAborted();
      const asked = callOptions(model, { ...request, messages }, options);
      const { stream } =
        model.specificationVersion === "v3"
          ? await model.doStream({ ...asked, prompt: asked.prompt.map(toV3) })
          : await model.doStream(asked);
      return begun(readStream(stream, family));
    };
    const { first, chunks } = await HISTORIES.send(options.id, messages, ask, family.metaProvider);
    try {
      if (first) yield first;
      yield* chunks;
    } finally {
      await chunks.return(undefined);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Filtered) return yield error.chunk;
    throw providerFailure(error, options);
  }
}

const HISTORIES = new AcceptedHistories();

/** The first chunk of an answer, and the others. */
async function begun(chunks: AsyncGenerator<ModelChunk>) {
  const { value: first } = await chunks.next();
  // Google and Anthropic refuse a prompt by an answer that says nothing.
  if (first?.type === "finish" && first.stopReason === "content_filter") throw new Filtered(first);
  return { first, chunks };
}

class Filtered extends Error {
  readonly statusCode = 400;
  readonly chunk: ModelChunk;

  constructor(chunk: ModelChunk) {
    super("content_filter");
    this.chunk = chunk;
  }
}

function callOptions(
  model: VersionedModel,
  { messages, tools, maxTokens, signal }: ModelRequest,
  { providerOptions }: AiSdkModelOptions,
): LanguageModelV4CallOptions {
  return {
    prompt: toPrompt(messages, familyOf(model.provider)),
    abortSignal: signal,
    // Checked to be objects; the provider's package checks what is in them.
    providerOptions: providerOptionsFor(model, providerOptions as SharedV4ProviderOptions),
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

function toFunctionTool(tool: ToolDefinition): LanguageModelV4FunctionTool {
  const known = FUNCTION_TOOLS.get(tool);
  if (known) return known;
  const { name, description, input_schema } = tool;
  const inputSchema = providerSchema(input_schema) as LanguageModelV4FunctionTool["inputSchema"];
  const made = wellFormed({ type: "function" as const, name, description, inputSchema });
  FUNCTION_TOOLS.set(tool, made);
  return made;
}

/** Made once for each tool: all are sent with each request. */
const FUNCTION_TOOLS = new WeakMap<ToolDefinition, LanguageModelV4FunctionTool>();

/** Provider options for an engine that keeps and rewrites histories itself. The user's options win. */
function providerOptionsFor(
  model: VersionedModel,
  users: SharedV4ProviderOptions = {},
): SharedV4ProviderOptions {
  const { optionsKey, metaProvider } = familyOf(model.provider);
  const own = OPTIONS[metaProvider]?.(model);
  return own ? { ...users, [optionsKey]: { ...own, ...users[optionsKey] } } : users;
}

type Options = SharedV4ProviderOptions[string];

const OPTIONS: Readonly<Record<string, (model: VersionedModel) => Options>> = {
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

/** The part of a tool of the AI SDK that rkat uses. */
export interface AiSdkToolLike {
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly needsApproval?: unknown;
  readonly execute?: unknown;
}

export interface AiSdkToolsOptions {
  /** Time limit of one call. Default: the agent's limit. */
  readonly timeoutMs?: number;
}

type Validate = (input: unknown) => unknown;

/**
 * Tools of the AI SDK as tools of rkat, by their names:
 *
 *     createSessionService({ model: fromAiSdk(model), tools: aiSdkTools({ refund }) })
 *
 * A tool with `needsApproval` asks before each call, unless its function says `false` at once.
 *
 * @throws SessionError `INVALID_PARAMS` when a tool has no `execute`, or no schema that rkat can read
 */
export function aiSdkTools(
  tools: Readonly<Record<string, AiSdkToolLike>>,
  options: AiSdkToolsOptions = {},
): readonly Tool[] {
  const one = object({ execute: callback });
  requireOptions("aiSdkTools", recordOf(one), tools);
  requireOptions("aiSdkTools", group({ timeoutMs: positive }), options);
  const { timeoutMs } = options;
  return Object.entries(tools).map(([name, tool]) => ({
    ...toolOf(name, tool),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }));
}

function toolOf(name: string, tool: AiSdkToolLike): Tool {
  const { schema, validate } = readSchema(name, tool.inputSchema);
  const execute = tool.execute as (input: unknown, options: object) => unknown;
  const { description, needsApproval } = tool;
  const policy = policyOf(needsApproval);
  return {
    definition: {
      name,
      description: typeof description === "string" ? description : "",
      input_schema: schema,
    },
    ...(policy ? { policy } : {}),
    async execute(args, { toolUseId: toolCallId, signal: abortSignal }) {
      const input = await validate(args);
      const result = await lastOf(execute(input, { toolCallId, abortSignal, messages: [] }));
      return typeof result === "string" ? result : (JSON.stringify(result) ?? "null");
    },
  };
}

/** Anything but exactly `false` needs approval. */
function policyOf(needsApproval: unknown): Tool["policy"] {
  if (needsApproval === undefined || needsApproval === false) return undefined;
  if (typeof needsApproval !== "function") return "ask";
  return (args) =>
    needsApproval(args, { toolCallId: "", messages: [] }) === false ? undefined : "ask";
}

function readSchema(
  name: string,
  given: unknown,
): { readonly schema: JsonSchema; readonly validate: Validate } {
  const schema: unknown = typeof given === "function" ? given() : given;
  if (isSchema(schema)) {
    return { schema: jsonSchemaOf(schema), validate: (input) => checked(schema.safeParse(input)) };
  }
  const { jsonSchema, validate } = isObject(schema) ? schema : {};
  if (isObject(jsonSchema) && typeof jsonSchema.then !== "function") {
    if (typeof validate !== "function") return { schema: jsonSchema, validate: (input) => input };
    return { schema: jsonSchema, validate: async (input) => checked(await validate(input)) };
  }
  throw new SessionError("INVALID_PARAMS", {
    message: `The tool ${name} has an inputSchema that rkat cannot read.`,
    hint: "Give it as a schema of zod 4, or as jsonSchema({ … }) of the AI SDK.",
  });
}

/** The value of a schema's answer. The model reads why there is none. */
function checked(answer: unknown): unknown {
  const { success, value, data, error } = isObject(answer) ? answer : {};
  if (success === true) return value ?? data;
  throw new ToolError("invalid_arguments", error instanceof Error ? error.message : String(error));
}

/** A tool may yield preliminary results. The last one counts. */
async function lastOf(result: unknown): Promise<unknown> {
  const value = await result;
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const each of value as AsyncIterable<unknown>) last = each;
  return last;
}
