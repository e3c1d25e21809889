import { jsonText } from "../core/json-values.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { AiSdkMessage } from "../models/model-messages.ts";
import { continuedModel } from "./ai-sdk-provider-summary.ts";
import { modelOptions, sentOf, type WindowOptions } from "./ai-sdk-requests.ts";
import {
  isLoopModel,
  notedModel,
  SentRequests,
  ShownCounts,
  type StepUsage,
} from "./ai-sdk-sent-requests.ts";
import { aiSdkView } from "./ai-sdk-view.ts";
import { chatIdOf, HostChats, type HostMemory } from "./host-chats.ts";
import { requireMessages } from "./host-messages.ts";
import { cachedBy, summaryByProvider, WithoutAnswer } from "./provider-summary.ts";

/** The used part of the argument of `prepareStep`, in AI SDK 5, 6 and 7. */
export interface AiSdkStep {
  readonly messages: readonly AiSdkMessage[];
  readonly steps: readonly { readonly usage: StepUsage }[];
  readonly model: unknown;
  readonly instructions?: unknown;
  /** Only in AI SDK 7, where the messages that a step returns are the base of the next. */
  readonly initialMessages?: readonly AiSdkMessage[];
}

/** A `prepareStep`. */
export interface PrepareStep {
  /** The model is the step's own. Where it writes the summaries too, its requests are noted, so that it reads these from its cache. */
  <Step extends AiSdkStep>(
    step: Step,
  ): Promise<{ messages: Step["messages"]; model?: Step["model"] & object }>;
  /** With stores, brings memory up to date. Call it before you close them. */
  close(): Promise<void>;
}

export interface PrepareStepOptions extends WindowOptions {
  /**
   * The chat that a step belongs to. A chat pays for each summary once, over all its requests. Without
   * it, that holds for one call of `generateText` or `streamText`.
   */
  chatId?(step: AiSdkStep): string;
  /** Your own `prepareStep`. It sees the compacted messages, and its result counts. */
  next?(step: AiSdkStep): PromiseLike<object | undefined> | object | undefined;
}

/** A `prepareStep` for `generateText`, `streamText` and `ToolLoopAgent`. */
export function prepareStepWith(options: PrepareStepOptions, memory?: HostMemory): PrepareStep {
  const { chatId, next, ...compaction } = options;
  const { contextWindow, summarize } = compaction;
  const chats = new HostChats({ ...compaction, view: aiSdkView }, memory);
  const requests = new SentRequests();
  const shown = new ShownCounts();
  const without = new WithoutAnswer();
  const prepare = async <Step extends AiSdkStep>(step: Step) => {
    const { messages, steps, model, instructions, initialMessages = messages } = step;
    requireMessages("The AI SDK's step.messages", messages);
    const id = chatIdOf("The chatId of rkatPrepareStep", chatId?.(step));
    const window = chats.of(id === undefined ? { run: initialMessages[0] ?? step } : { id });
    const usage = steps.at(-1)?.usage;
    const { inputTokens: lastInputTokens } = usage ?? {};
    const writer = modelOptions(model, { contextWindow, summarize });
    const { model: name } = writer;
    const last = requests.lastOf(window);
    const itself = summarize ? undefined : continuedModel(model, { id: name, last, without });
    const sent = await sentOf(window, messages, {
      ...writer,
      summarize: summaryByProvider(itself, writer.summarize, without),
      otherTokens: tokensOf(instructions),
      cached: cachedBy(name, last ?? shown.lastOf(window, name, usage)),
      ...(lastInputTokens === undefined ? {} : { lastInputTokens }),
    });
    const compacted = { messages: sent as Step["messages"] };
    const own = await next?.({ ...step, ...compacted });
    // Fields that are there without a value change nothing.
    const changes = Object.entries(own ?? {}).filter(
      ([, value]) => value !== undefined && value !== null,
    );
    const changed = Object.fromEntries(changes);
    if (summarize || "messages" in changed || !isLoopModel(model)) {
      return { ...compacted, ...changed };
    }
    const noted = notedModel(model, requests, (request) =>
      requests.add(window, { ...request, messages: sent, model: name }),
    );
    return { ...compacted, model: noted, ...changed };
  };
  return Object.assign(prepare, { close: async () => memory?.close() });
}

function tokensOf(instructions: unknown): number {
  if (instructions === undefined) return 0;
  const content = typeof instructions === "string" ? instructions : jsonText(instructions);
  return estimateTokens([{ role: "system", content }]);
}
