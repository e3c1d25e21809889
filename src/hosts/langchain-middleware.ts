import { newId } from "../core/ids.ts";
import type { Message } from "../core/message.ts";
import type { Tool } from "../core/tool.ts";
import { isContextTooLong } from "../models/context-too-long.ts";
import {
  type ApplyOptions,
  createHistoryWindow,
  type HistoryWindow,
  type HistoryWindowOptions,
} from "../window/history-window.ts";
import { type HostMemory, outputOf } from "./host-memory.ts";
import {
  isSummaryOfLangChain,
  type LangChainMessage,
  langChainView,
  textOf,
} from "./langchain-messages.ts";
import { RecentChats } from "./recent-chats.ts";

export interface LangChainMiddlewareOptions
  extends Omit<HistoryWindowOptions<LangChainMessage>, "view"> {
  readonly memory?: HostMemory;
}

export interface Runtime {
  readonly configurable?: { readonly thread_id?: unknown } | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What rkat reads of LangChain's request to a model. */
export interface ModelRequest {
  readonly model: { invoke(messages: never, config?: object): Promise<unknown> };
  readonly messages: readonly LangChainMessage[];
  readonly systemMessage?: { readonly content: unknown } | undefined;
  readonly tools?: readonly unknown[];
  readonly state: { readonly messages: readonly LangChainMessage[] };
  readonly runtime: Runtime;
}

interface Chat {
  /** What memory keeps it under when there is no thread. */
  readonly id: string;
  readonly window: HistoryWindow<LangChainMessage>;
  /** What replaces the beginning of the agent's history once the model has answered. */
  adopted?: { readonly length: number; readonly messages: readonly LangChainMessage[] } | undefined;
}

/** LangGraph's id for "all messages", in a message that removes. */
const REMOVE_ALL = { type: "remove", id: "__remove_all__" } as const;

/** What LangChain tags its own calls with, so that they are not streamed as the agent's. */
const SUMMARY_CALL = { tags: ["nostream"], metadata: { lc_source: "summarization" } } as const;

/**
 * Middleware for LangChain's `createAgent`: compacts what the model is sent, and keeps it compacted.
 *
 *     wrapModelCall   the window decides ─► the model answers ─┬─► answer
 *                            ▲                                 │
 *                            └──── compact more, once ◄── "context too long"
 *     afterModel      the agent's history becomes what was sent, and the answer
 */
export function langChainMiddleware({ memory, ...options }: LangChainMiddlewareOptions) {
  const open = () => createHistoryWindow<LangChainMessage>({ ...options, view: langChainView });
  open(); // Bad settings are refused here, not in the first run.
  const chats = new RecentChats<Chat>(() => ({ id: newId(), window: open() }));

  async function send(request: ModelRequest, chat: Chat, more: ApplyOptions) {
    const { messages: history, state, model, runtime } = request;
    const { signal } = runtime;
    const applied = await chat.window.apply(history, {
      summarize: async ({ messages, signal }) => {
        const sent = messages.map(requestMessage);
        const answer = await model.invoke(sent as never, { ...SUMMARY_CALL, signal });
        return textOf((answer as { readonly content?: unknown }).content ?? answer);
      },
      ...(options.summarize ? { summarize: options.summarize } : {}),
      lastInputTokens: lastInputTokens(history),
      otherTokens: otherTokens(request),
      ...(signal ? { signal } : {}),
      ...more,
    });
    const { messages, discarded, pruned } = applied;
    const session = threadOf(runtime) ?? chat.id;
    await memory?.record(session, recorded(history, [...discarded, ...pruned]));
    const isWhole = history.every((message, index) => message === state.messages[index]);
    chat.adopted =
      messages === history || !isWhole ? undefined : { length: history.length, messages };
    return { ...request, messages };
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
      const chat = chats.of(keyOf(request.state.messages, request.runtime));
      const first = await send(request, chat, {});
      try {
        return await handler(first as Request);
      } catch (error) {
        if (!isTooLong(error)) throw error;
        return await handler((await send(request, chat, { outgrown: true })) as Request);
      }
    },

    afterModel(state: { readonly messages: readonly LangChainMessage[] }, runtime: Runtime) {
      const chat = chats.of(keyOf(state.messages, runtime));
      const { adopted } = chat;
      chat.adopted = undefined;
      if (!adopted) return undefined;
      const messages = [...adopted.messages, ...state.messages.slice(adopted.length)];
      chats.name(chat, keyOf(messages, runtime));
      return { messages: [REMOVE_ALL, ...messages] };
    },
  };
}

function threadOf({ configurable }: Runtime): string | undefined {
  const { thread_id } = configurable ?? {};
  return thread_id === undefined || thread_id === "" ? undefined : String(thread_id);
}

/** A chat is known by its thread; without one, by how it begins. */
function keyOf(messages: readonly LangChainMessage[], runtime: Runtime): string {
  const thread = threadOf(runtime);
  return thread ? `thread ${thread}` : `begins ${textOf(messages[0]?.content)}`;
}

function lastInputTokens(history: readonly LangChainMessage[]): number {
  return history.findLast(({ type }) => type === "ai")?.usage_metadata?.input_tokens ?? 0;
}

/** Estimated tokens of the system prompt and of what tools say about themselves. */
function otherTokens({ systemMessage, tools = [] }: ModelRequest): number {
  const described = tools.map((tool) => {
    const { name, description } = tool as { readonly name?: string; readonly description?: string };
    return { name, description };
  });
  return Math.ceil(JSON.stringify([systemMessage?.content ?? "", described]).length / 4);
}

function recorded(history: readonly LangChainMessage[], positions: readonly number[]) {
  return [...new Set(positions)].flatMap((index) => {
    const from = history[index] as LangChainMessage;
    const { message } = langChainView.read(from);
    if (!message || message.role === "system" || isSummaryOfLangChain(from)) return [];
    return [{ id: from.id ?? `${index}`, message }];
  });
}

/** A request for a summary has texts of users and the system only. */
function requestMessage(message: Message) {
  return { role: message.role, content: "content" in message ? message.content : "" };
}

function isTooLong(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const {
    status,
    code = "",
    message,
    cause,
  } = error as Error & { status?: number; code?: unknown };
  return isContextTooLong(status, `${code} ${message}`) || isTooLong(cause);
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
