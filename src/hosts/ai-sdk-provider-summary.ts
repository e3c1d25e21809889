import type { Summarize, SummaryRequest } from "../compaction/compact-history.ts";
import { isObject } from "../core/fields.ts";
import { cacheMinutes, cacheReadPart } from "../core/prices.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { AiSdkMessage } from "../models/model-messages.ts";

/** The fields of a language model's call that are used here: of AI SDK 5, 6 and 7. */
export interface CallParams {
  readonly prompt: readonly AiSdkMessage[];
  readonly tools?: readonly unknown[] | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly toolChoice?: { readonly type: string } | undefined;
  readonly responseFormat?: { readonly type: string } | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly providerOptions?:
    | { readonly rkat?: { readonly chatId?: unknown }; readonly anthropic?: object }
    | undefined;
}

/** A provider's count of a request, and its time. */
export interface Counted {
  readonly tokens: number;
  /** Tokens of it that the provider has in its cache. */
  readonly cached: number;
  readonly atMs: number;
}

/** A request of a chat as it was sent, and what its provider counted once it was answered. */
export interface SentRequest {
  readonly params: CallParams;
  /** As `provider/model`. */
  readonly model: string;
  readonly counted: Counted | undefined;
}

/** The part of a model of the AI SDK that is asked. */
interface AskedModel {
  readonly provider: string;
  doGenerate(request: object): PromiseLike<{ readonly content: readonly unknown[] }>;
}

/**
 * Asks Anthropic for its own summary of the last request, where that costs less: it has most of that request in its cache.
 * Whatever else comes back, or comes of it, `own` is asked as if nothing had happened. A second answer is `own`'s.
 */
export function summaryByProvider({
  model: id,
  asked: model,
  before: last,
  summarize: own,
  hasForgotten,
}: {
  readonly model: string;
  readonly asked: unknown;
  readonly before: SentRequest | undefined;
  readonly summarize: Summarize | "fallback";
  readonly hasForgotten: () => Promise<boolean>;
}): Summarize | "fallback" {
  // It costs nothing.
  if (own === "fallback") return own;
  let isFirst = true;
  return async (request) => {
    const mayAsk = isFirst && last?.model === id && maySummarize(last.params);
    isFirst = false;
    if (!mayAsk || !isAnthropics(model) || !isCheaper(last, request) || (await hasForgotten())) {
      return await own(request);
    }
    const summary = await askedFor(model, last.params, request).catch((): undefined => {
      request.signal.throwIfAborted();
    });
    return summary ?? (await own(request));
  };
}

function isAnthropics(model: unknown): model is AskedModel {
  return isObject(model) && /^anthropic(?:\.|$)/.test(String(model.provider));
}

/** Anthropic summarises no request that forces a tool or a form of the answer. */
function maySummarize({ toolChoice, responseFormat }: CallParams): boolean {
  return /^(?:auto|none)$/.test(toolChoice?.type ?? "auto") && responseFormat?.type !== "json";
}

/** In input tokens that are not cached. The answers cost the same. */
function isCheaper({ model, counted }: SentRequest, { messages }: SummaryRequest): boolean {
  if (!counted || Date.now() - counted.atMs > cacheMinutes(model) * 60_000) return false;
  const { tokens, cached } = counted;
  return tokens - cached + cacheReadPart(model) * cached < estimateTokens(messages);
}

async function askedFor(
  model: AskedModel,
  { stopSequences: _, ...params }: CallParams,
  { maxTokens, signal }: SummaryRequest,
): Promise<string | undefined> {
  const { anthropic = {}, ...others } = params.providerOptions ?? {};
  const { content } = await model.doGenerate({
    ...params,
    maxOutputTokens: maxTokens,
    providerOptions: {
      ...others,
      // Neither goes with a summary.
      anthropic: {
        ...anthropic,
        contextManagement: undefined,
        taskBudget: undefined,
        compaction: { type: "summarize" },
      },
    },
    abortSignal: signal,
  });
  const texts = content.flatMap((part) => {
    const { text, providerMetadata } = part as { text?: unknown; providerMetadata?: unknown };
    const { anthropic } = isObject(providerMetadata) ? providerMetadata : {};
    const isSummary = isObject(anthropic) && anthropic.type === "compaction";
    return isSummary && typeof text === "string" ? [text] : [];
  });
  return texts[0];
}
