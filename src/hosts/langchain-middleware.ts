import { given, isObject } from "../core/fields.ts";
import { isPlainJson } from "../core/json-values.ts";
import type { Tool } from "../core/tool.ts";
import { demandsIn } from "../window/demands.ts";
import type {
  ApplyOptions,
  HistoryWindow,
  HistoryWindowOptions,
} from "../window/history-window.ts";
import {
  askingAgain,
  CHATS_MAX,
  type ChatName,
  chatIdOf,
  HostChats,
  type HostMemory,
  outputOf,
  RecentlyUsed,
} from "./host-chats.ts";
import { ANSWERS_TOKENS, alternating, definedTokens, requireMessages } from "./host-messages.ts";
import {
  allAnswered,
  LANG_CHAIN_ROLES,
  type LangChainMessage,
  langChainView,
  readableBy,
  textOf,
  wholeAnswer,
} from "./langchain-messages.ts";
import {
  continuedModel,
  countedIn,
  type ModelRequest,
  type Runtime,
  summaryOf,
} from "./langchain-summary.ts";
import {
  type Counted,
  cachedBy,
  isOtherReader,
  summaryByProvider,
  WithoutAnswer,
} from "./provider-summary.ts";

export interface LangChainMiddlewareOptions
  extends Omit<HistoryWindowOptions<LangChainMessage>, "view"> {}

/** The messages that replace the first ones of the agent's history once the model has answered. */
interface Adopted {
  readonly length: number;
  readonly messages: readonly LangChainMessage[];
}

/** LangGraph's id for "all messages", in a message that removes. */
const REMOVE_ALL = { type: "remove", id: "__remove_all__" } as const;

/**
 * Middleware for LangChain's `createAgent`: compacts the history that the model is sent, and keeps it compacted.
 *
 *     wrapModelCall   the window decides ─► the model answers ─┬─► answer
 *                            ▲                                 │
 *                            └──── compact more, once ◄── "context too long"
 *     afterModel      the agent's history becomes what was sent, and the answer
 */
export function langChainMiddleware(options: LangChainMiddlewareOptions, memory?: HostMemory) {
  const chats = new HostChats({ ...options, view: langChainView }, memory);
  /** The key is the last of the replaced messages: two runs of a chat may be under way. */
  const adoptions = new WeakMap<LangChainMessage, Adopted>();
  /** The last message of each window's last request. */
  const asked = new WeakMap<HistoryWindow<LangChainMessage>, LangChainMessage>();
  /** The model that each window's last request went to, and its count. */
  const counts = new WeakMap<
    HistoryWindow<LangChainMessage>,
    { readonly model: string; readonly counted: Counted }
  >();
  const without = new WithoutAnswer();

  /** The last history of each thread. An agent that a tool runs begins with what was demanded there. */
  const threads = new RecentlyUsed<readonly LangChainMessage[]>(CHATS_MAX);

  function windowOf({ state: { messages }, runtime }: ModelRequest) {
    const chat = chatOf(messages, runtime);
    const thread = threadOf(runtime);
    if (thread === undefined || !memory) return chats.of(chat);
    if (!("isInner" in chat)) {
      threads.set(thread, messages);
      return chats.of(chat);
    }
    const { sessionId } = memory.memoryFor(thread);
    const demands = () =>
      demandsIn(
        threads.of(thread, () => []),
        langChainView,
        sessionId,
      );
    return chats.of({ ...chat, demands });
  }

  /** The writer of summaries: the agent's model, at the end of the conversation where that costs less. */
  function writerOf(request: ModelRequest, window: HistoryWindow<LangChainMessage>) {
    if (options.summarize) return options.summarize;
    const own = summaryOf(request.model);
    const id = idOf(request.model);
    const last = counts.get(window);
    const counted = last?.model === id ? last.counted : undefined;
    return summaryByProvider(continuedModel(request, { id, counted, without }), own, without);
  }

  async function send(
    request: ModelRequest,
    window: HistoryWindow<LangChainMessage>,
    more: ApplyOptions = {},
  ): Promise<ModelRequest> {
    const { messages: offered, state, runtime } = request;
    const provider = providerOf(request.model);
    const history = allAnswered(offered).flatMap((message) => readableBy(provider, message) ?? []);
    const { signal } = runtime;
    const inputTokens = lastInputTokens(state.messages, asked.get(window));
    const question = state.messages.at(-1);
    if (question) asked.set(window, question);
    const { messages, recalled } = await window.apply(history, {
      summarize: writerOf(request, window),
      ...given({ model: nameOf(request.model) }),
      edited: isOtherReader(window, provider),
      lastInputTokens: inputTokens,
      cached: cachedBy(idOf(request.model), counts.get(window)),
      otherTokens: otherTokens(request) + ANSWERS_TOKENS,
      ...(signal ? { signal } : {}),
      ...more,
    });
    const last = offered.at(-1);
    const isWhole = offered.every((message, index) => message === state.messages[index]);
    const kept = recalled.length === 0 ? messages : withoutAll(messages, recalled);
    if (last && isWhole && !isSameList(kept, history)) {
      adoptions.set(last, { length: offered.length, messages: kept.map(wholeAnswer) });
    }
    return { ...request, messages: alternating(messages, LANG_CHAIN_ROLES) };
  }

  return {
    name: "RkatMiddleware",
    /** Before you close the stores. */
    close: async () => memory?.close(),
    tools: (memory?.tools ?? []).map(langChainTool),

    async wrapModelCall<Request extends ModelRequest, Answer>(
      request: Request,
      handler: (request: Request) => Answer,
    ): Promise<Awaited<Answer>> {
      requireMessages("LangChain's request.messages", request.messages);
      const window = windowOf(request);
      const first = await send(request, window);
      const answer = await askingAgain(
        () => handler(first as Request),
        async () => await handler((await send(request, window, { outgrown: true })) as Request),
      );
      const counted = countedIn(answer);
      if (counted) counts.set(window, { model: idOf(request.model), counted });
      return answer;
    },

    afterModel({ messages }: { readonly messages: readonly LangChainMessage[] }, runtime: Runtime) {
      const last = messages.findLast((message) => adoptions.has(message));
      const adopted = last && adoptions.get(last);
      if (!adopted || messages[adopted.length - 1] !== last) return undefined;
      adoptions.delete(last);
      const shorter = [...adopted.messages, ...messages.slice(adopted.length)];
      chats.name(chats.of(chatOf(messages, runtime)), chatOf(shorter, runtime));
      return { messages: [REMOVE_ALL, ...shorter] };
    },
  };
}

/** Records of memory are only sent. */
function withoutAll<Item>(items: readonly Item[], left: readonly Item[]): readonly Item[] {
  const gone = new Set(left);
  return items.filter((item) => !gone.has(item));
}

function isSameList<Item>(one: readonly Item[], other: readonly Item[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}

/** Integrations call it `model` or, before that, `modelName`. */
function nameOf(model: object | undefined): string | undefined {
  const names = [Reflect.get(model ?? {}, "model"), Reflect.get(model ?? {}, "modelName")];
  return names.find((name) => typeof name === "string" && name !== "");
}

/** A model as `provider/model`. */
function idOf(model: object): string {
  return `${providerOf(model)}/${nameOf(model)}`;
}

/** The provider of a model, if it says so: integrations have a name of their kind, and a model by its name has settings. */
function providerOf(model: object | undefined): string | undefined {
  const { _llmType, _defaultConfig } = (model ?? {}) as {
    readonly _llmType?: unknown;
    readonly _defaultConfig?: { readonly modelProvider?: unknown };
  };
  const named = _defaultConfig?.modelProvider;
  const kind: unknown = typeof _llmType === "function" ? _llmType.call(model) : undefined;
  const name = typeof named === "string" ? named : kind;
  // "azure_openai", "google-genai"
  return typeof name === "string" ? name.replace(/[_-]/, ".") : undefined;
}

function threadOf({ configurable }: Runtime): string | undefined {
  const { thread_id } = configurable ?? {};
  return thread_id === "" ? undefined : chatIdOf("configurable.thread_id", thread_id);
}

/** A chat is known by its thread; without one, by how it begins. An agent that a tool runs has its parent's thread. */
function chatOf(messages: readonly LangChainMessage[], runtime: Runtime): ThreadChat {
  const id = threadOf(runtime);
  if (!id) return { begins: textOf(messages[0]?.content) };
  const call = toolCallAround(runtime);
  return call === undefined ? { id } : { id: `${id}/${call}`, isInner: true };
}

type ThreadChat = Exclude<ChatName, { readonly run: object }>;

/**
 * The call of a tool that runs this agent. LangGraph's namespace has the steps around one, such as
 * `tools:ID|model_request:ID`. An agent that is another step of a graph is in the conversation of that.
 */
function toolCallAround({ configurable }: Runtime): string | undefined {
  const { checkpoint_ns } = configurable ?? {};
  const around = typeof checkpoint_ns === "string" ? checkpoint_ns.split("|").slice(0, -1) : [];
  const last = around.findLastIndex((step) => step.startsWith("tools:"));
  return last < 0 ? undefined : around.slice(0, last + 1).join("/");
}

/**
 * The provider's count of the last request, whose last message is given. When the user took turns back,
 * the answer to it is gone, and the count of an older answer says nothing about it: 0.
 */
function lastInputTokens(
  history: readonly LangChainMessage[],
  asked: LangChainMessage | undefined,
): number {
  const from = asked ? history.findLastIndex((message) => isSame(message, asked)) : 0;
  const after = from < 0 ? [] : history.slice(from);
  return after.findLast(({ type }) => type === "ai")?.usage_metadata?.input_tokens ?? 0;
}

/** A checkpointer gives copies of messages, with their ids. */
function isSame(one: LangChainMessage, other: LangChainMessage): boolean {
  return one === other || (one.id !== undefined && one.id === other.id);
}

/** Estimated tokens of the system prompt and of the tools' definitions. */
function otherTokens({ systemMessage, tools = [] }: ModelRequest): number {
  const described = tools.map((tool) => {
    const { name, description, schema } = tool as Readonly<Record<string, unknown>>;
    return { name, description, schema: jsonSchemaOf(schema) };
  });
  return definedTokens(systemMessage?.content ?? "", described);
}

/** The JSON Schemas of Zod's schemas, each made once. */
const jsonSchemas = new WeakMap<object, unknown>();

/** A tool has its schema as JSON or as one of Zod's, which writes itself as JSON since version 4. */
function jsonSchemaOf(schema: unknown): unknown {
  if (!isObject(schema) || isPlainJson(schema)) return schema;
  if (jsonSchemas.has(schema)) return jsonSchemas.get(schema);
  let json: unknown;
  try {
    if (typeof schema.toJSONSchema === "function") json = schema.toJSONSchema();
  } catch {
    // Some schemas cannot be written. The provider's count has them.
  }
  jsonSchemas.set(schema, json);
  return json;
}

/** A tool of rkat with what `createAgent` and the models ask of a tool. */
function langChainTool(tool: Tool) {
  const { name, description, input_schema: schema } = tool.definition;
  return {
    lc_runnable: true,
    lc_namespace: ["rkat"],
    name,
    description,
    schema,
    async invoke(call: unknown, config: Runtime = {}) {
      const { args = call, id = "" } = call as { readonly args?: unknown; readonly id?: string };
      const chatId = String(config.configurable?.thread_id ?? "");
      return (await outputOf(tool, args, { chatId, id, signal: config.signal })).content;
    },
  };
}
