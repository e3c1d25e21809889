import type { Summarize, SummaryRequest } from "../compaction/compact-history.ts";
import type { SentNow } from "../compaction/write-summary.ts";
import { cacheMinutes, cacheReadPart } from "../core/prices.ts";
import type { ProviderItem } from "../core/provider-item.ts";
import { estimateTokens } from "../core/tokens.ts";

/** A provider's count of a request, and its time. */
export interface Counted {
  readonly tokens: number;
  /** Tokens of it that the provider has in its cache. */
  readonly cached: number;
  readonly atMs: number;
}

/** A provider that can be asked for what stands for a history. */
export interface AskedProvider {
  /** As `provider/model`. */
  readonly model: string;
  /** The count of the last request to this model in the chat. */
  readonly counted: Counted | undefined;
  /** Whether it is asked with what would be sent now, and not with the last request again. */
  readonly sendsNow?: true;
  /** A text, or an item that only this model reads; `undefined`: the answer had none. */
  ask(request: SummaryRequest, now: SentNow): Promise<string | ProviderItem | undefined>;
}

/** The models of which an answer had neither. They are not asked again. */
export type WithoutAnswer = Set<string>;

/**
 * Asks a provider for its own summary of a request, where that costs less: it has most of the request in its cache. Whatever
 * else comes back, or comes of it, `own` is asked as if nothing had happened. A second answer is `own`'s.
 */
export function summaryByProvider(
  provider: AskedProvider,
  own: Summarize,
  without: WithoutAnswer,
): Summarize {
  const { model } = provider;
  let isFirst = true;
  return async (request) => {
    const now = isFirst && !without.has(model) ? request.sent?.() : undefined;
    isFirst = false;
    if (!now || !isCheaper(provider, request, now)) return await own(request);
    try {
      const given = await provider.ask(request, now);
      if (given !== undefined) return given;
      without.add(model);
    } catch {
      request.signal.throwIfAborted();
    }
    return await own(request);
  };
}

/** In input tokens that are not cached. The answers cost the same. */
function isCheaper(
  { model, counted, sendsNow }: AskedProvider,
  { messages }: SummaryRequest,
  now: SentNow,
): boolean {
  if (!counted || Date.now() - counted.atMs > cacheMinutes(model) * 60_000) return false;
  const { tokens, cached } = counted;
  const asked = sendsNow ? Math.max(tokens, now.tokens) : tokens;
  return asked - cached + cacheReadPart(model) * cached < estimateTokens(messages);
}
