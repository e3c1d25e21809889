import { isDeepStrictEqual } from "node:util";
import { requestText } from "../compaction/summary-request.ts";
import type { SentNow, Summarize, SummaryRequest } from "../compaction/write-summary.ts";
import { SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import { shown } from "../core/options.ts";
import { askingAgain, CHATS_MAX } from "./host-chats.ts";
import { isAlike } from "./host-messages.ts";
import {
  alikeInEachTurn,
  messageOfItem,
  type OpenAIItem,
  userItem,
  userText,
} from "./openai-items.ts";
import {
  type AskedProvider,
  answerTokens,
  type Counted,
  isMet,
  type WithoutAnswer,
} from "./provider-summary.ts";
import { withMethods } from "./with-methods.ts";

/** The part of a `Model` of the Agents SDK that is asked. */
export interface OpenAIModel {
  getResponse(request: never): Promise<{ readonly output: readonly OpenAIItem[] }>;
}

/** The same with the fields that are used here. */
interface AskedModel {
  getResponse(request: object): Promise<Answer>;
  getStreamedResponse(request: object): AsyncIterable<StreamEvent>;
}

interface Answer {
  readonly output: readonly OpenAIItem[];
  readonly usage?: unknown;
}

interface StreamEvent {
  readonly type: string;
  readonly response?: Pick<Answer, "usage">;
}

/** The part of a request to a model that is used here. */
export interface ModelRequest {
  readonly input: string | readonly OpenAIItem[];
  readonly tools?: readonly unknown[];
  readonly handoffs?: readonly unknown[];
  readonly modelSettings?: { readonly toolChoice?: unknown };
  readonly outputType?: unknown;
  readonly previousResponseId?: unknown;
  readonly conversationId?: unknown;
  readonly prompt?: unknown;
}

/** The items that a filter returned, for the model that the SDK asks next. */
interface Sending {
  readonly items: readonly OpenAIItem[];
  /** How many items the SDK offered. */
  readonly offered: number;
  /** Fewer items, for a provider that calls these too long. */
  less(): Promise<readonly OpenAIItem[]>;
}

/** A request as the model got it, and what its provider counted once it was answered. */
export interface LastRequest extends Pick<Sending, "items" | "offered"> {
  readonly request: ModelRequest;
  /** The model, as `provider/model`. */
  readonly model: string;
  readonly counted: Counted | undefined;
}

/** The requests to a model whose chats are known. */
export interface NotedRequests {
  readonly model: AskedModel;
  /** Its name as `provider/model`. */
  readonly id: string;
  lastOf(chat: object): LastRequest | undefined;
  /** Says what the SDK is about to ask for a chat. */
  sends(chat: object, sending: Sending): void;
}

const NOTED = new WeakMap<object, NotedRequests>();

/** The requests of a model that notes them. */
export function requestsOf(model: unknown): NotedRequests | undefined {
  return isObject(model) ? NOTED.get(model) : undefined;
}

/** Whether both are one model, noted or not. */
export function isSameModel(one: unknown, other: unknown): boolean {
  return (requestsOf(one)?.model ?? one) === (requestsOf(other)?.model ?? other);
}

/**
 * A model that notes its requests. The Agents SDK gives it copies of the items that a filter returned, so they are known by
 * their content:
 *
 *     filter ─► items ─► the SDK ─► copies, tools, settings ─► the model ─┬─► answer, with the provider's count
 *                                                                ▲        │
 *                                                                └─ once more, less ◄── "context too long"
 */
export function notedModel<Model extends OpenAIModel>(given: Model): Model {
  if (NOTED.has(given)) return given;
  const model = requireModel(given) as unknown as AskedModel;
  const sending = new Map<object, Sending>();
  const last = new WeakMap<object, LastRequest>();
  const id = idOf(model);
  /** The chat that a request is of. Requests of runs without a filter are of none, even where they end with the same words. */
  const chatOf = ({ input }: ModelRequest) =>
    [...sending].findLast(
      ([, { items }]) =>
        items.length === input.length &&
        isDeepStrictEqual(items.at(-1), input.at(-1)) &&
        isDeepStrictEqual(items, input),
    );
  /** Notes a request with these items. Returns it as it is sent, and what takes the count in its answer. */
  const note = (
    given: ModelRequest,
    [chat, { items: all, offered }]: readonly [object, Sending],
    less?: readonly OpenAIItem[],
  ) => {
    const items = (less ?? all).map(alikeInEachTurn);
    // A model may change what it is given, so it gets copies.
    const request = { ...given, input: less ? structuredClone(items) : inputOf(given) };
    const noted = { request, model: id, items, offered };
    last.set(chat, { ...noted, counted: undefined });
    const count = ({ usage }: Pick<Answer, "usage">) =>
      last.set(chat, { ...noted, counted: countedIn(usage) });
    return { request, count };
  };
  const methods: AskedModel = {
    async getResponse(request) {
      const asked = request as ModelRequest;
      const found = chatOf(asked);
      if (!found) return await model.getResponse(request);
      const ask = async (less?: readonly OpenAIItem[]) => {
        const { request, count } = note(asked, found, less);
        const answer = await model.getResponse(request);
        count(answer);
        return answer;
      };
      return await askingAgain(
        () => ask(),
        async () => await ask(await found[1].less()),
      );
    },
    async *getStreamedResponse(request) {
      const asked = request as ModelRequest;
      const found = chatOf(asked);
      if (!found) {
        yield* model.getStreamedResponse(request);
        return;
      }
      const begin = async (less?: readonly OpenAIItem[]) => {
        const { request, count } = note(asked, found, less);
        const events = model.getStreamedResponse(request)[Symbol.asyncIterator]();
        return { count, events, first: await events.next() };
      };
      // A refusal comes before the first event.
      const { count, events, first } = await askingAgain(
        () => begin(),
        async () => await begin(await found[1].less()),
      );
      try {
        for (let at = first; !at.done; at = await events.next()) {
          const { type, response } = at.value;
          if (type === "response_done" && response) count(response);
          yield at.value;
        }
      } finally {
        await events.return?.();
      }
    },
  };
  const noted = withMethods(model, methods);
  NOTED.set(noted, {
    model,
    id,
    lastOf: (chat) => last.get(chat),
    sends(chat, next) {
      sending.delete(chat);
      sending.set(chat, next);
      for (const oldest of sending.keys()) {
        if (sending.size <= CHATS_MAX) return;
        sending.delete(oldest);
      }
    },
  });
  return noted as unknown as Model;
}

/** @throws SessionError `INVALID_PARAMS` */
function requireModel(model: unknown): OpenAIModel {
  if (isObject(model) && typeof model.getResponse === "function") return model as never;
  throw new SessionError("INVALID_PARAMS", {
    message: `The model is ${shown(model)}, which cannot be asked: it has no getResponse().`,
    hint: 'Pass a `Model` of the Agents SDK, such as `new OpenAIResponsesModel(client, "gpt-5")`.',
  });
}

/** A model as `provider/model`. The SDK's own classes speak to OpenAI, or to servers that speak as it does. */
function idOf(model: object): string {
  const name: unknown = Reflect.get(model, "_model");
  return `openai/${typeof name === "string" ? name : model.constructor.name}`;
}

function inputOf({ input }: ModelRequest): ModelRequest["input"] {
  return typeof input === "string" ? input : input.map(alikeInEachTurn);
}

function countedIn(usage: unknown): Counted | undefined {
  if (!isObject(usage) || !(Number(usage.inputTokens) > 0)) return undefined;
  const details = [usage.inputTokensDetails].flat().filter(isObject);
  const cached = details.reduce((sum, { cached_tokens = 0 }) => sum + Number(cached_tokens), 0);
  return { tokens: Number(usage.inputTokens), cached, atMs: Date.now() };
}

/** Asks a model of the Agents SDK for summaries. */
export function summarizeWith(model: OpenAIModel): Summarize {
  return async ({ messages, maxTokens, signal }: SummaryRequest) => {
    const request = {
      input: [userItem(requestText(messages))],
      // The answer is not asked for again.
      modelSettings: { maxTokens, store: false },
      tools: [],
      outputType: "text",
      handoffs: [],
      tracing: false,
      signal,
    };
    return textOf(await model.getResponse(request as never));
  };
}

/** The model of a chat itself, asked for a summary at the end of the conversation: it has the last request in its cache. */
export function continuedModel(
  model: AskedModel,
  last: LastRequest | undefined,
  without: WithoutAnswer,
): AskedProvider | undefined {
  if (!last || !mayAnswer(last.request)) return undefined;
  const { request, items, model: id, counted } = last;
  const ask = async (now: readonly OpenAIItem[], asked: SummaryRequest, sent: SentNow) => {
    const answer = await model.getResponse({
      ...request,
      input: [...now, userItem(asked.closing)],
      modelSettings: {
        ...request.modelSettings,
        maxTokens: answerTokens(asked, sent),
        store: false,
      },
      tracing: false,
      signal: asked.signal,
    });
    if (!isMet(countedIn(answer.usage)?.cached ?? 0, { counted })) without.add(id);
    return textOf(answer).trim() || undefined;
  };
  return {
    model: id,
    counted,
    sends: "closing",
    ask(asked, sent) {
      const now = (sent.messages as readonly OpenAIItem[]).map(alikeInEachTurn);
      if (!items.every((item, at) => isAlike(item, now[at]))) return undefined;
      // The prompt that has no answer yet is not summarised.
      return ask(now.slice(0, now.findLastIndex((item) => userText(item) === "") + 1), asked, sent);
    },
  };
}

/** A request that forces a tool or a form of the answer is answered by no summary, and one may lack what OpenAI keeps itself. */
function mayAnswer({ modelSettings, outputType, ...request }: ModelRequest): boolean {
  const { toolChoice = "auto" } = modelSettings ?? {};
  const isKept = request.previousResponseId ?? request.conversationId ?? request.prompt;
  return /^(?:auto|none)$/.test(String(toolChoice)) && outputType === "text" && !isKept;
}

function textOf({ output }: Pick<Answer, "output">): string {
  return output
    .map(messageOfItem)
    .flatMap((message) => (message?.role === "block_assistant" ? message.blocks : []))
    .flatMap((block) => (block.block_type === "text" ? [block.data.text] : []))
    .join("\n");
}
