import { jsonText } from "../core/json-values.ts";
import type { AiSdkMessage } from "../models/model-messages.ts";
import { modelOptions, sentOf, type WindowOptions } from "./ai-sdk-requests.ts";
import { aiSdkView } from "./ai-sdk-view.ts";
import { askingAgain, type ChatName, HostChats, type HostMemory, isTooLong } from "./host-chats.ts";
import { requireMessages } from "./host-messages.ts";

/** The fields of a language model's call that are used here: of AI SDK 5, 6 and 7. */
export interface CallParams {
  readonly prompt: readonly AiSdkMessage[];
  readonly abortSignal?: AbortSignal | undefined;
  readonly providerOptions?: { readonly rkat?: { readonly chatId?: unknown } } | undefined;
}

export interface StreamPart {
  readonly type: string;
  readonly error?: unknown;
}

export interface Streamed {
  readonly stream: ReadableStream<StreamPart>;
}

/**
 * Middleware for a model of the AI SDK:
 *
 *     transformParams   the window decides ─► the model answers ─┬─► answer
 *                              ▲                                 │
 *     wrapGenerate/Stream      └── compact more, once ◄── "context too long"
 */
export function middlewareWith(
  { contextWindow, summarize, ...compaction }: WindowOptions,
  stored?: Omit<HostMemory, "tools">,
) {
  // A chat without an id is known by its first user message, which is not enough to store it.
  const chats = new HostChats({ ...compaction, view: aiSdkView }, stored, { storesUnnamed: false });
  const given = new WeakMap<object, CallParams>();

  const compact = async <Params extends CallParams>(
    params: Params,
    model: unknown,
    more: { readonly outgrown?: boolean } = {},
  ): Promise<Params> => {
    const { prompt, abortSignal, providerOptions } = params;
    requireMessages("The AI SDK's prompt", prompt);
    const window = chats.of(chatOf(prompt, providerOptions?.rkat?.chatId));
    const options = {
      ...modelOptions(model, { contextWindow, summarize }),
      ...more,
      ...(abortSignal ? { signal: abortSignal } : {}),
    };
    const compacted = { ...params, prompt: await sentOf(window, prompt, options) };
    given.set(compacted, params);
    return compacted;
  };
  const asking = <Params extends CallParams, Answer>(
    { params, model }: { readonly params: Params; readonly model: unknown },
    ask: () => PromiseLike<Answer>,
    askAgain: (params: Params) => PromiseLike<Answer>,
  ) =>
    askingAgain(ask, async () => {
      const whole = (given.get(params) ?? params) as Params;
      return await askAgain(await compact(whole, model, { outgrown: true }));
    });
  return {
    transformParams: <Params extends CallParams>(call: {
      readonly params: Params;
      readonly model: unknown;
    }): Promise<Params> => compact(call.params, call.model),
    wrapGenerate: <Params extends CallParams, Answer>(call: {
      readonly params: Params;
      readonly model: { doGenerate(params: Params): PromiseLike<Answer> };
      doGenerate(): PromiseLike<Answer>;
    }): Promise<Answer> => asking(call, call.doGenerate, (params) => call.model.doGenerate(params)),
    wrapStream: <Params extends CallParams, Answer extends Streamed>(call: {
      readonly params: Params;
      readonly model: { doStream(params: Params): PromiseLike<Answer> };
      doStream(): PromiseLike<Answer>;
    }): Promise<Answer> =>
      asking(
        call,
        async () => begun(await call.doStream()),
        (params) => call.model.doStream(params),
      ),
    /** With stores, brings memory up to date. Call it before you close them. */
    close: async () => stored?.close(),
  };
}

function chatOf(prompt: readonly AiSdkMessage[], chatId: unknown): ChatName {
  if (chatId !== undefined) return { id: String(chatId) };
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
