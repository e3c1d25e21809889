import { jsonText } from "../core/json-values.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { AiSdkMessage } from "../models/model-messages.ts";
import { modelOptions, sentOf, type WindowOptions } from "./ai-sdk-requests.ts";
import { aiSdkView } from "./ai-sdk-view.ts";
import { HostChats, type HostMemory } from "./host-chats.ts";
import { requireMessages } from "./host-messages.ts";

/** The used part of the argument of `prepareStep`, in AI SDK 5, 6 and 7. */
export interface AiSdkStep {
  readonly messages: readonly AiSdkMessage[];
  readonly steps: readonly { readonly usage: { readonly inputTokens?: number | undefined } }[];
  readonly model: unknown;
  readonly instructions?: unknown;
  /** Only in AI SDK 7, where the messages that a step returns are the base of the next. */
  readonly initialMessages?: readonly AiSdkMessage[];
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
  /** Your own `prepareStep`. It sees the compacted messages, and its result counts. */
  next?(step: AiSdkStep): PromiseLike<object | undefined> | object | undefined;
}

/** A `prepareStep` for `generateText`, `streamText` and `ToolLoopAgent`. */
export function prepareStepWith(options: PrepareStepOptions, memory?: HostMemory): PrepareStep {
  const { chatId, next, contextWindow, summarize, ...compaction } = options;
  const chats = new HostChats({ ...compaction, view: aiSdkView }, memory);
  const prepare = async <Step extends AiSdkStep>(step: Step) => {
    const { messages, steps, model, instructions, initialMessages = messages } = step;
    requireMessages("The AI SDK's step.messages", messages);
    const id = chatId?.(step);
    const window = chats.of(id === undefined ? { run: initialMessages[0] ?? step } : { id });
    const lastInputTokens = steps.at(-1)?.usage.inputTokens;
    const sent = await sentOf(window, messages, {
      ...modelOptions(model, { contextWindow, summarize }),
      otherTokens: tokensOf(instructions),
      ...(lastInputTokens === undefined ? {} : { lastInputTokens }),
    });
    const compacted = { messages: sent as Step["messages"] };
    const own = await next?.({ ...step, ...compacted });
    // Fields that are there without a value change nothing.
    const changed = Object.entries(own ?? {}).filter(([, value]) => value !== undefined);
    return { ...compacted, ...Object.fromEntries(changed) };
  };
  return Object.assign(prepare, { close: async () => memory?.close() });
}

function tokensOf(instructions: unknown): number {
  if (instructions === undefined) return 0;
  const content = typeof instructions === "string" ? instructions : jsonText(instructions);
  return estimateTokens([{ role: "system", content }]);
}
