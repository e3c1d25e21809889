import { isObject } from "../core/fields.ts";
import type { AiSdkMessage } from "../models/model-messages.ts";
import type { HistoryWindow } from "../window/history-window.ts";
import type { Counted } from "./provider-summary.ts";
import { withMethods } from "./with-methods.ts";

/** The fields of a language model's call that are used here: of AI SDK 5, 6 and 7. */
export interface CallParams {
  readonly prompt: readonly AiSdkMessage[];
  readonly tools?: readonly unknown[] | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly toolChoice?: { readonly type: string } | undefined;
  readonly responseFormat?: { readonly type: string } | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly providerOptions?:
    | {
        readonly rkat?: { readonly chatId?: unknown; readonly isSummary?: unknown };
        readonly anthropic?: object;
        readonly openai?: object;
      }
    | undefined;
}

/** A request of a chat as it was sent, and what its provider counted once it was answered. */
export interface SentRequest {
  readonly params: CallParams;
  /** The messages that its prompt was made of, as a window gave them. */
  readonly messages: readonly AiSdkMessage[];
  /** The model, as `provider/model`. */
  readonly model: string;
  /** Whether its answer is streamed. Some providers get other fields then. */
  readonly isStreamed: boolean;
  readonly counted: Counted | undefined;
}

export interface StreamPart {
  readonly type: string;
  readonly delta?: unknown;
  readonly error?: unknown;
}

export interface Streamed {
  readonly stream: ReadableStream<StreamPart>;
}

/** The last request of each chat. */
export class SentRequests {
  readonly #last = new WeakMap<HistoryWindow<AiSdkMessage>, Omit<SentRequest, "counted">>();
  readonly #counts = new WeakMap<CallParams, Counted>();

  lastOf(window: HistoryWindow<AiSdkMessage>): SentRequest | undefined {
    const last = this.#last.get(window);
    return last && { ...last, counted: this.#counts.get(last.params) };
  }

  add(window: HistoryWindow<AiSdkMessage>, request: Omit<SentRequest, "counted">): void {
    this.#last.set(window, request);
  }

  /** Reads what the provider counted for a request. */
  countIn<Answer>(params: CallParams, answer: Answer): Answer {
    const counted = countedIn(answer);
    if (counted) this.#counts.set(params, counted);
    return answer;
  }

  /** The same for an answer that is streamed: its last part has the count. */
  countInStream<Answer extends Streamed>(params: CallParams, answer: Answer): Answer {
    const counting = new TransformStream<StreamPart, StreamPart>({
      transform: (part, controller) => {
        if (part.type === "finish") this.countIn(params, part);
        controller.enqueue(part);
      },
    });
    return { ...answer, stream: answer.stream.pipeThrough(counting) };
  }
}

/** The text of an answer, and what its provider counted. */
export interface TextAnswer {
  readonly text: string;
  readonly counted: Counted | undefined;
}

/** Reads a streamed answer to its end. @throws the error that the stream has */
export async function wholeAnswer({ stream }: Streamed): Promise<TextAnswer> {
  let text = "";
  let counted: Counted | undefined;
  for await (const part of stream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta" && typeof part.delta === "string") text += part.delta;
    if (part.type === "finish") counted = countedIn(part);
  }
  return { text, counted };
}

/** The count of a step of a loop. */
export interface StepUsage {
  readonly inputTokens?: number | undefined;
  /** In AI SDK 5. */
  readonly cachedInputTokens?: number | undefined;
  /** In 6 and 7. */
  readonly inputTokenDetails?: {
    readonly cacheReadTokens?: number | undefined;
    readonly cacheWriteTokens?: number | undefined;
  };
}

/**
 * The provider's count in an answer or a step of a loop: numbers in AI SDK 5, and several of each in 6 and 7, under other
 * names in steps.
 */
export function countedIn(answer: unknown): Counted | undefined {
  const { usage } = answer as { readonly usage?: Readonly<Record<string, unknown>> };
  const { inputTokens, cachedInputTokens, inputTokenDetails } = usage ?? {};
  const { cacheReadTokens, cacheWriteTokens } = (inputTokenDetails ?? {}) as NonNullable<
    StepUsage["inputTokenDetails"]
  >;
  const input = isObject(inputTokens)
    ? inputTokens
    : {
        total: inputTokens,
        cacheRead: cacheReadTokens ?? cachedInputTokens,
        cacheWrite: cacheWriteTokens,
      };
  if (typeof input.total !== "number") return undefined;
  const cached = Number(input.cacheRead ?? 0) + Number(input.cacheWrite ?? 0);
  return { tokens: input.total, cached, atMs: Date.now() };
}

/** The last count that a loop showed of the requests of each window. Before the first step of a prompt it shows none. */
export class ShownCounts {
  readonly #last = new WeakMap<object, Pick<SentRequest, "model" | "counted">>();

  /** Takes the count of the newest step, if there is one, and returns the last. */
  lastOf(window: object, model: string, usage: StepUsage | undefined) {
    const counted = countedIn({ usage });
    if (counted) this.#last.set(window, { model, counted });
    return this.#last.get(window);
  }
}

/** The part of a model of the AI SDK that its loops call. */
interface LoopModel {
  doGenerate(params: CallParams): PromiseLike<object>;
  doStream(params: CallParams): PromiseLike<Streamed>;
}

export function isLoopModel(model: unknown): model is LoopModel {
  return isObject(model) && "doGenerate" in model && "doStream" in model;
}

/**
 * The same model for one step of a loop that does not show its requests: `note` gets what the model is sent, and what it
 * answers is counted for that.
 */
export function notedModel<Model extends LoopModel>(
  model: Model,
  requests: SentRequests,
  note: (request: Pick<SentRequest, "params" | "isStreamed">) => void,
): Model {
  return withMethods<LoopModel>(model, {
    async doGenerate(params: CallParams) {
      note({ params, isStreamed: false });
      return requests.countIn(params, await model.doGenerate(params));
    },
    async doStream(params: CallParams) {
      note({ params, isStreamed: true });
      return requests.countInStream(params, await model.doStream(params));
    },
  }) as Model;
}
