import type { Summarize } from "../compaction/compact-history.ts";
import type { HistoryCompaction } from "../compaction/compact-history-options.ts";
import { SessionError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { PriceTable } from "../core/prices.ts";
import { estimateTokens } from "../core/tokens.ts";
import { AcceptedHistories } from "../models/accepted-histories.ts";
import { contextWindowOf, familyOf } from "../models/model-family.ts";
import { type AiSdkMessage, fromModelMessages } from "../models/model-messages.ts";
import { toPrompt } from "../models/to-prompt.ts";
import type { ApplyOptions, HistoryWindow } from "../window/history-window.ts";
import { AI_SDK_ROLES, isOnlySent, readableBy } from "./ai-sdk-view.ts";
import { ANSWERS_TOKENS, alternating } from "./host-messages.ts";
import { isOtherReader } from "./provider-summary.ts";

export interface WindowOptions extends HistoryCompaction {
  /** Tokens that the model takes. Known for current models of Anthropic, OpenAI and Google. */
  readonly contextWindow?: number;
  /** Estimated tokens of your tools, which `prepareStep` does not show before the first answer. */
  readonly otherTokens?: number;
  /** Writes summaries. Default: the model of the step. `"fallback"` needs no model. */
  readonly summarize?: Summarize | "fallback";
  /** Prices of models that rkat does not know, and instead of those it knows, by `provider/model`. */
  readonly prices?: PriceTable;
}

/**
 * The part of a prompt to send. System messages at its beginning are sent as they are and are no part of the history:
 * many programs write new ones for each request, with the time in them.
 */
export async function sentOf(
  window: HistoryWindow<AiSdkMessage>,
  prompt: readonly AiSdkMessage[],
  { otherTokens = 0, provider, ...options }: ApplyOptions & { readonly provider?: string },
): Promise<readonly AiSdkMessage[]> {
  const system = systemOf(prompt);
  const history = prompt.slice(system.length).flatMap((message) => {
    const own = isOnlySent(message) ? undefined : readableBy(provider, message);
    return own ?? [];
  });
  const { messages } = await window.apply(history, {
    ...options,
    edited: isOtherReader(window, provider),
    otherTokens: otherTokens + estimateTokens(fromModelMessages(system)) + ANSWERS_TOKENS,
  });
  return promptOf(prompt, messages);
}

/** The prompt with the messages that a window sends. */
export function promptOf(
  prompt: readonly AiSdkMessage[],
  messages: readonly object[],
): readonly AiSdkMessage[] {
  return [...systemOf(prompt), ...alternating(messages as readonly AiSdkMessage[], AI_SDK_ROLES)];
}

function systemOf(prompt: readonly AiSdkMessage[]): readonly AiSdkMessage[] {
  const start = prompt.findIndex(({ role }) => role !== "system");
  return start < 0 ? prompt : prompt.slice(0, start);
}

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
  const provider = own?.provider;
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
    ...(provider === undefined ? {} : { provider }),
    model: id,
    summarize: summarize ?? summaryOf(own as Model),
  };
}

function isModel(model: unknown): model is Model {
  return typeof model === "object" && model !== null && "doGenerate" in model;
}

const HISTORIES = new AcceptedHistories();

function summaryOf(model: Model): Summarize {
  return async ({ messages, maxTokens, signal }) => {
    const ask = (accepted: readonly Message[]) =>
      model.doGenerate({
        prompt: toPrompt(accepted, familyOf(model.provider)),
        maxOutputTokens: maxTokens,
        // OpenAI's own models store requests, unless they are told not to.
        providerOptions: { openai: { store: false } },
        abortSignal: signal,
      });
    const { content } = await HISTORIES.send(
      `${model.provider}/${model.modelId}`,
      messages,
      async (accepted) => await ask(accepted),
    );
    return content.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join("");
  };
}
