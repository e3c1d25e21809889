import { isObject } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import type { AiSdkMessage } from "../models/model-messages.ts";
import type { HistoryWindow } from "../window/history-window.ts";
import { askedProvider, continuedModel, readerOf, withoutItem } from "./ai-sdk-provider-summary.ts";
import { modelOptions, sentOf, type WindowOptions } from "./ai-sdk-requests.ts";
import {
  type CallParams,
  SentRequests,
  type Streamed,
  type StreamPart,
} from "./ai-sdk-sent-requests.ts";
import { aiSdkView } from "./ai-sdk-view.ts";
import {
  askingAgain,
  type ChatName,
  chatIdOf,
  HostChats,
  type HostMemory,
  isTooLong,
} from "./host-chats.ts";
import { definedTokens, requireMessages } from "./host-messages.ts";
import { cachedBy, summaryByProvider, WithoutAnswer } from "./provider-summary.ts";

export interface MiddlewareOptions extends WindowOptions {
  /**
   * `"provider"`: Anthropic's own summary or OpenAI's own item is asked for where it costs less than a summary of `summarize`,
   * because the provider has the last request in its cache. Anthropic's text is checked and kept as any summary. OpenAI's item
   * stands beside a summary that needs no model.
   */
  readonly compaction?: "provider";
}

/**
 * Middleware for a model of the AI SDK:
 *
 *     transformParams   the window decides ─► the model answers ─┬─► answer
 *                              ▲                                 │
 *     wrapGenerate/Stream      └── compact more, once ◄── "context too long"
 */
export function middlewareWith(
  { compaction: way, ...compaction }: MiddlewareOptions,
  stored?: Omit<HostMemory, "tools">,
) {
  const { contextWindow, summarize } = compaction;
  // A chat without an id is known by its first user message, which is not enough to store it.
  const chats = new HostChats({ ...compaction, view: aiSdkView }, stored, { storesUnnamed: false });
  const given = new WeakMap<object, Given>();
  const without = new WithoutAnswer();
  const withoutCache = new WithoutAnswer();
  /** Chats in which a provider refused its item. */
  const refused = new WeakSet<HistoryWindow<AiSdkMessage>>();
  const requests = new SentRequests();

  const compact = async <Params extends CallParams>(
    params: Params,
    model: unknown,
    { isStreamed, ...more }: { readonly isStreamed: boolean; readonly outgrown?: boolean },
  ): Promise<Params> => {
    const { prompt, tools, abortSignal, providerOptions } = params;
    requireMessages("The AI SDK's prompt", prompt);
    const chat = chatOf(prompt, providerOptions?.rkat?.chatId);
    const window = chats.of(chat);
    const own = modelOptions(model, { contextWindow, summarize });
    const last = requests.lastOf(window);
    // Where the user took turns back, the last count is of a history with those.
    const before = last && given.get(last.params)?.params.prompt.length;
    const counted = prompt.length > (before ?? 0) ? last?.counted?.tokens : undefined;
    const mayAsk = way !== undefined && !refused.has(window);
    const provider = mayAsk ? askedProvider(model, { id: own.model, params, last }) : undefined;
    const itself = summarize
      ? undefined
      : continuedModel(model, { id: own.model, last, without: withoutCache });
    const asked = provider ?? itself;
    const reader = mayAsk ? readerOf(model, own.model, params) : undefined;
    const options = {
      ...own,
      summarize: summaryByProvider(asked, own.summarize, provider ? without : withoutCache),
      ...more,
      otherTokens: tools ? definedTokens(tools) : 0,
      lastInputTokens: counted ?? 0,
      cached: cachedBy(own.model, last),
      ...(reader === undefined ? {} : { reader }),
      ...(abortSignal ? { signal: abortSignal } : {}),
    };
    const compacted = { ...params, prompt: await sentOf(window, prompt, options) };
    given.set(compacted, { params, window });
    requests.add(window, {
      params: compacted,
      messages: compacted.prompt,
      model: own.model,
      isStreamed,
    });
    return compacted;
  };
  /** Asks, and once more without an item that the provider refuses: nothing of rkat's makes a call fail. */
  const refusable = async <Params extends CallParams, Answer>(
    params: Params,
    ask: (params: Params) => Promise<Answer>,
  ): Promise<Answer> => {
    try {
      return await ask(params);
    } catch (error) {
      const { window } = given.get(params) ?? {};
      const prompt = withoutItem(params.prompt);
      if (!window || prompt.length === params.prompt.length || !isRefusal(error)) throw error;
      const rest = { ...params, prompt };
      const answer = await ask(rest);
      refused.add(window);
      const sent = requests.lastOf(window);
      if (sent?.params === params) {
        requests.add(window, { ...sent, params: rest, messages: prompt });
      }
      return answer;
    }
  };
  const asking = <Params extends CallParams, Answer>(
    {
      params,
      model,
      isStreamed,
    }: { readonly params: Params; readonly model: unknown; readonly isStreamed: boolean },
    ask: (params?: Params) => PromiseLike<Answer>,
    countIn: (sent: Params, answer: Awaited<Answer>) => Awaited<Answer>,
  ) => {
    const counted = async (sent: Params) =>
      countIn(sent, await (sent === params ? ask() : ask(sent)));
    if (isForSummary(params)) return counted(params);
    return askingAgain(
      () => refusable(params, counted),
      async () => {
        const whole = (given.get(params)?.params ?? params) as Params;
        return await refusable(
          await compact(whole, model, { isStreamed, outgrown: true }),
          counted,
        );
      },
    );
  };
  return {
    // The types of AI SDK 6 want it; 7 takes any.
    specificationVersion: "v3" as const,
    transformParams: <Params extends CallParams>(call: {
      readonly params: Params;
      readonly model: unknown;
      readonly type?: string;
    }): Promise<Params> =>
      isForSummary(call.params)
        ? Promise.resolve(call.params)
        : compact(call.params, call.model, { isStreamed: call.type === "stream" }),
    wrapGenerate: <Params extends CallParams, Answer>(call: {
      readonly params: Params;
      readonly model: { doGenerate(params: Params): PromiseLike<Answer> };
      doGenerate(): PromiseLike<Answer>;
    }) =>
      asking(
        { ...call, isStreamed: false },
        (params) => (params ? call.model.doGenerate(params) : call.doGenerate()),
        (sent, answer) => requests.countIn(sent, answer),
      ),
    wrapStream: <Params extends CallParams, Answer extends Streamed>(call: {
      readonly params: Params;
      readonly model: { doStream(params: Params): PromiseLike<Answer> };
      doStream(): PromiseLike<Answer>;
    }) =>
      asking(
        { ...call, isStreamed: true },
        async (params) =>
          params ? await call.model.doStream(params) : await begun(await call.doStream()),
        (sent, answer) => requests.countInStream(sent, answer),
      ),
    /** With stores, brings memory up to date. Call it before you close them. */
    close: async () => stored?.close(),
  };
}

/** Whether `rkatPrepareStep` asks for a summary of what it sends to the same model. */
function isForSummary({ providerOptions }: CallParams): boolean {
  return providerOptions?.rkat?.isSummary === true;
}

/** The request that a compacted one was made of. */
interface Given {
  readonly params: CallParams;
  readonly window: HistoryWindow<AiSdkMessage>;
}

/** Whether a provider says that something in a request is wrong. */
function isRefusal(error: unknown): boolean {
  const status = isObject(error) ? error.statusCode : undefined;
  return [400, 404, 422].some((each) => each === status) && !isTooLong(error);
}

function chatOf(prompt: readonly AiSdkMessage[], chatId: unknown): ChatName {
  const id = chatIdOf("providerOptions.rkat.chatId", chatId);
  if (id !== undefined) return { id };
  return { begins: jsonText(prompt.find(({ role }) => role === "user")) };
}

/** Parts of a stream that come before the model's answer. */
const PREFACE = new Set(["stream-start", "response-metadata", "raw"]);

/**
 * Waits until an answer begins, so that a refusal inside the stream can still be answered by asking
 * again: the caller has seen nothing.
 */
async function begun<Answer extends Streamed>(answer: Answer): Promise<Answer> {
  const reader = answer.stream.getReader();
  const start: StreamPart[] = [];
  let isPreface = true;
  while (isPreface) {
    const { done, value } = await reader.read();
    if (value?.type === "error" && isTooLong(value.error)) {
      await reader.cancel();
      throw value.error;
    }
    if (value) start.push(value);
    isPreface = !done && PREFACE.has(value.type);
  }
  const stream = new ReadableStream<StreamPart>({
    async pull(controller) {
      const first = start.shift();
      const { done, value } = first ? { done: false, value: first } : await reader.read();
      if (done) controller.close();
      else controller.enqueue(value as StreamPart);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { ...answer, stream };
}
