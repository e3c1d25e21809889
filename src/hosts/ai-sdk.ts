import type { HistoryCompaction, Summarize } from "../compaction/compact-history.ts";
import { SessionError } from "../core/errors.ts";
import type { HostRecord } from "../core/host-record.ts";
import { estimateTokens } from "../core/tokens.ts";
import { contextWindowOf } from "../models/context-windows.ts";
import { familyOf } from "../models/model-family.ts";
import type { AiSdkMessage } from "../models/model-messages.ts";
import { providerFailure } from "../models/provider-failure.ts";
import { toPrompt } from "../models/to-prompt.ts";
import { createHistoryWindow, type HistoryWindow } from "../window/history-window.ts";
import { aiSdkView } from "./ai-sdk-view.ts";

/** The part of what `prepareStep` is given that is used here: in AI SDK 5, 6 and 7. */
export interface AiSdkStep {
  readonly messages: readonly AiSdkMessage[];
  readonly steps: readonly { readonly usage: { readonly inputTokens?: number | undefined } }[];
  readonly model: unknown;
  readonly instructions?: unknown;
  /** Only in AI SDK 7, where the messages that a step returns are the base of the next. */
  readonly initialMessages?: readonly AiSdkMessage[];
}

interface WindowOptions extends HistoryCompaction {
  /** Tokens that the model takes. Known for current models of Anthropic, OpenAI and Google. */
  readonly contextWindow?: number;
  /** Writes summaries. Default: the model of the step. `"fallback"` needs no model. */
  readonly summarize?: Summarize | "fallback";
}

/** Where the compactions of chats are kept. */
export interface Records {
  of(chatId: string): HostRecord;
  close(): Promise<void>;
}

/** A `prepareStep`. */
export interface PrepareStep {
  <Step extends AiSdkStep>(step: Step): Promise<{ messages: Step["messages"] }>;
  /** With stores, brings memory up to date. Call it before you close them. */
  close(): Promise<void>;
}

export interface PrepareStepOptions extends WindowOptions {
  /**
   * The chat that a step belongs to. A chat pays for each summary once, over all its requests. Without
   * it, that holds for one call of `generateText` or `streamText`.
   */
  chatId?(step: AiSdkStep): string;
  /** Your own `prepareStep`. It sees the compacted messages, and what it returns counts. */
  next?(step: AiSdkStep): PromiseLike<object | undefined> | object | undefined;
}

/** A `prepareStep` for `generateText`, `streamText` and `ToolLoopAgent`. */
export function prepareStepWith(options: PrepareStepOptions, records?: Records): PrepareStep {
  const { chatId, next, contextWindow, summarize, ...compaction } = options;
  const windows = new Windows(compaction, records);
  const prepare = async <Step extends AiSdkStep>(step: Step) => {
    const { messages, steps, model, instructions, initialMessages = messages } = step;
    const window = windows.of(chatId?.(step) ?? initialMessages[0] ?? step);
    const lastInputTokens = steps.at(-1)?.usage.inputTokens;
    const applied = await window.apply(messages, {
      ...modelOptions(model, { contextWindow, summarize }),
      otherTokens: tokensOf(instructions),
      ...(lastInputTokens === undefined ? {} : { lastInputTokens }),
    });
    const compacted = { messages: applied.messages as Step["messages"] };
    return { ...compacted, ...(await next?.({ ...step, ...compacted })) };
  };
  return Object.assign(prepare, { close: async () => records?.close() });
}

/** The fields of a language model's call that are used here: of AI SDK 5, 6 and 7. */
interface CallParams {
  readonly prompt: readonly AiSdkMessage[];
  readonly abortSignal?: AbortSignal | undefined;
  readonly providerOptions?: { readonly rkat?: { readonly chatId?: unknown } } | undefined;
}

/**
 * Compaction for code that you cannot change, as a middleware of the model:
 *
 *     const model = wrapLanguageModel({ model: anthropic("claude-sonnet-4-5"), middleware: rkatMiddleware() });
 *
 * It compacts what the model is sent. When the provider still refuses a request as too long, it makes
 * it smaller and asks once more. `providerOptions.rkat.chatId` tells chats apart; without it, their first
 * user messages do.
 */
export function rkatMiddleware({ contextWindow, summarize, ...compaction }: WindowOptions = {}) {
  const windows = new Windows(compaction);
  const compact = async <Params extends CallParams>(
    params: Params,
    model: unknown,
    more: { readonly outgrown?: boolean } = {},
  ): Promise<Params> => {
    const { prompt, abortSignal, providerOptions } = params;
    const first = prompt.find(({ role }) => role === "user");
    const window = windows.of(String(providerOptions?.rkat?.chatId ?? JSON.stringify(first)));
    const { messages } = await window.apply(prompt, {
      ...modelOptions(model, { contextWindow, summarize }),
      ...more,
      ...(abortSignal ? { signal: abortSignal } : {}),
    });
    return { ...params, prompt: messages };
  };
  /** Asks again, with less, when a provider refuses what it is asked as too long. */
  const asking = async <Params extends CallParams, Answer>(
    { params, model }: { readonly params: Params; readonly model: unknown },
    ask: () => PromiseLike<Answer>,
    askAgain: (params: Params) => PromiseLike<Answer>,
  ): Promise<Answer> => {
    try {
      return await ask();
    } catch (error) {
      if (!isOverflow(error)) throw error;
      return await askAgain(await compact(params, model, { outgrown: true }));
    }
  };
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
    wrapStream: <Params extends CallParams, Answer>(call: {
      readonly params: Params;
      readonly model: { doStream(params: Params): PromiseLike<Answer> };
      doStream(): PromiseLike<Answer>;
    }): Promise<Answer> => asking(call, call.doStream, (params) => call.model.doStream(params)),
  };
}

/** Windows of chats. Those that were not used for longest are closed first. */
class Windows {
  readonly #compaction: HistoryCompaction;
  readonly #records: Records | undefined;
  readonly #byName = new Map<string, HistoryWindow<AiSdkMessage>>();
  readonly #byRun = new WeakMap<object, HistoryWindow<AiSdkMessage>>();

  constructor(compaction: HistoryCompaction, records?: Records) {
    this.#compaction = compaction;
    this.#records = records;
    this.#open();
  }

  of(chat: string | object): HistoryWindow<AiSdkMessage> {
    if (typeof chat === "object") {
      const known = this.#byRun.get(chat) ?? this.#open();
      this.#byRun.set(chat, known);
      return known;
    }
    const known = this.#byName.get(chat) ?? this.#open(this.#records?.of(chat));
    this.#byName.delete(chat);
    this.#byName.set(chat, known);
    const [oldest] = this.#byName.keys();
    if (this.#byName.size > WINDOWS_MAX && oldest !== undefined) this.#byName.delete(oldest);
    return known;
  }

  #open(record?: HostRecord): HistoryWindow<AiSdkMessage> {
    const stored = record ? { record } : {};
    return createHistoryWindow({ ...this.#compaction, ...stored, view: aiSdkView });
  }
}

const WINDOWS_MAX = 200;

interface Model {
  readonly provider: string;
  readonly modelId: string;
  doGenerate(request: object): PromiseLike<{
    readonly content: readonly { readonly type: string; readonly text?: string }[];
  }>;
}

/** The window's size and the writer of summaries, where the caller left them to the model. */
export function modelOptions(
  model: unknown,
  {
    contextWindow,
    summarize,
  }: {
    readonly contextWindow: number | undefined;
    readonly summarize: Summarize | "fallback" | undefined;
  },
) {
  const own = isModel(model) ? model : undefined;
  const id = own ? `${own.provider.split(".")[0]}/${own.modelId}` : String(model);
  const size = contextWindow ?? contextWindowOf(id);
  if (summarize === undefined && !own) {
    throw new SessionError("INVALID_PARAMS", {
      message: `The model ${JSON.stringify(model)} is a name, which cannot be asked for a summary.`,
      hint: "Pass the model as an object, or pass `summarize`.",
    });
  }
  return {
    ...(size === undefined ? {} : { contextWindow: size }),
    summarize: summarize ?? summaryOf(own as Model),
  };
}

function isModel(model: unknown): model is Model {
  return typeof model === "object" && model !== null && "doGenerate" in model;
}

function summaryOf(model: Model): Summarize {
  return async ({ messages, maxTokens, signal }) => {
    const { content } = await model.doGenerate({
      prompt: toPrompt(messages, familyOf(model.provider)),
      maxOutputTokens: maxTokens,
      abortSignal: signal,
    });
    return content.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join("");
  };
}

function tokensOf(instructions: unknown): number {
  if (instructions === undefined) return 0;
  const content = typeof instructions === "string" ? instructions : JSON.stringify(instructions);
  return estimateTokens([{ role: "system", content }]);
}

function isOverflow(error: unknown): boolean {
  return providerFailure(error, { id: "" }).code === "CONTEXT_WINDOW_EXCEEDED";
}
