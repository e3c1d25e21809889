import type { Summarize, SummaryRequest } from "../compaction/compact-history.ts";
import type { SentNow } from "../compaction/write-summary.ts";
import type { ProviderItem } from "../core/compactor.ts";
import { cacheMinutes, cacheReadPart, cachesByItself } from "../core/prices.ts";
import { estimateTokens } from "../core/tokens.ts";
import { familyOf } from "../models/model-family.ts";
import type { CachedModel } from "../window/history-window.ts";

/** A provider's count of a request, and its time. */
export interface Counted {
  readonly tokens: number;
  /** Tokens of it that the provider has in its cache. */
  readonly cached: number;
  readonly atMs: number;
}

/** The model, if the last request went to it and its provider has something of that in its cache. */
export function cachedBy(
  model: string,
  last: { readonly model: string; readonly counted: Counted | undefined } | undefined,
): CachedModel | undefined {
  const { counted } = last ?? {};
  return last?.model === model && counted && counted.cached > 0
    ? { model, atMs: counted.atMs }
    : undefined;
}

/** A provider that can be asked for what stands for a history. */
export interface AskedProvider {
  /** The model, as `provider/model`. */
  readonly model: string;
  /** The count of the last request to this model in the chat. */
  readonly counted: Counted | undefined;
  /** The share of a token's price that it takes for one in its cache, and whether it caches by itself, where the host knows. */
  readonly cache?: { readonly read: number; readonly byItself: boolean };
  /**
   * The request that it gets, if that is not the last one again: the next one alone, or the next one without its newest
   * results and with `closing` at its end.
   */
  readonly sends?: "now" | "closing";
  /**
   * Resolves to a text, or to an item that only this model reads; to `undefined` when the answer had none. Returns nothing
   * when it cannot be asked this time.
   */
  ask(
    request: SummaryRequest,
    now: SentNow,
  ): Promise<string | ProviderItem | undefined> | undefined;
}

/** The models that are not asked: those of which an answer had neither, and for a while those that refused. */
export class WithoutAnswer {
  readonly #models = new Set<string>();
  readonly #refused = new Set<string>();

  add(model: string): void {
    this.#models.add(model);
  }

  /** The model is left out the next time: a provider that refuses everything is not asked twice at each compaction. */
  refused(model: string): void {
    this.#refused.add(model);
  }

  /** A summary was written without the model, so it may be asked at the next compaction. */
  written(model: string): void {
    this.#refused.delete(model);
  }

  mayAsk(model: string): boolean {
    return !this.#refused.has(model) && !this.#models.has(model);
  }
}

/**
 * Asks a provider for its own summary of a request, where that costs less: it has most of the request in its cache. Whatever
 * else comes back, or comes of it, `own` is asked as if nothing had happened. A second answer is `own`'s. Without a provider,
 * and where `own` needs no model, `own` is all there is: nothing is cheaper.
 */
export function summaryByProvider<Own extends Summarize | "fallback">(
  provider: AskedProvider | undefined,
  own: Own,
  without: WithoutAnswer,
): Own | Summarize {
  if (!provider || own === "fallback") return own;
  const { model } = provider;
  let isFirst = true;
  return async (request) => {
    const begins = isFirst;
    isFirst = false;
    const mayAsk = begins && isWarm(provider) && without.mayAsk(model);
    const sent = mayAsk ? request.sent?.() : undefined;
    const now = provider.sends === "closing" ? (sent?.withoutNewest ?? sent) : sent;
    const asking =
      now && isCheaper(provider, request, now) ? provider.ask(request, now) : undefined;
    if (!asking) {
      const text = await own(request);
      if (begins) without.written(model);
      return text;
    }
    try {
      const given = await asking;
      if (given !== undefined) return given;
      without.add(model);
    } catch {
      request.signal.throwIfAborted();
      without.refused(model);
    }
    return await own(request);
  };
}

/** Whether the provider still has the last request in its cache. */
function isWarm({ model, counted }: AskedProvider): boolean {
  return counted !== undefined && Date.now() - counted.atMs <= cacheMinutes(model) * 60_000;
}

/** In input tokens that are not cached. The answers cost the same. */
function isCheaper(
  { model, counted, sends, cache }: AskedProvider,
  request: SummaryRequest,
  now: SentNow,
): boolean {
  if (!counted || (sends === "closing" && answerTokens(request, now) === 0)) return false;
  const { tokens } = counted;
  // A provider that found the beginning of a request in its cache has the rest there too now.
  const { read, byItself } = cache ?? {
    read: cacheReadPart(model),
    byItself: cachesByItself(model),
  };
  const cached = byItself && counted.cached > 0 ? tokens : counted.cached;
  const closing = sends === "closing" ? closingTokens(request) : 0;
  const asked = (sends ? Math.max(tokens, now.tokens) : tokens) + closing;
  return asked - cached + read * cached < estimateTokens(request.messages);
}

/** An answer has to have this part of the room that it was meant to have. */
const LEAST_ROOM = 1 / 4;

/** The longest answer to a request that ends with `closing`; 0 when the context window has too little room for one. */
export function answerTokens(request: SummaryRequest, { room = 0 }: SentNow): number {
  const { maxTokens } = request;
  const most = Math.min(maxTokens, Math.floor(room) - closingTokens(request));
  return most < maxTokens * LEAST_ROOM ? 0 : most;
}

function closingTokens({ closing }: SummaryRequest): number {
  return estimateTokens([{ role: "user", content: closing }]);
}

/** Whether so many of a request's tokens came from the cache as were expected, or nearly. */
export function isMet(cached: number, { counted }: Pick<AskedProvider, "counted">): boolean {
  return cached >= (counted?.cached ?? 0) * MET_PART;
}

const MET_PART = 1 / 2;

/** Providers whose own items no other of them reads. */
const APART: ReadonlySet<string> = new Set(["anthropic", "gemini", "open_ai"]);

/**
 * Whether one provider cannot read what the other made for itself: compactions, encrypted reasoning, results of its own tools.
 * Both have the names of the AI SDK, such as `openai.responses`. A provider that is not known may be any.
 */
export function areApart(maker: string | undefined, reader: string | undefined): boolean {
  if (maker === undefined || reader === undefined) return false;
  const [made, read] = [familyOf(maker).metaProvider, familyOf(reader).metaProvider];
  return APART.has(made) && APART.has(read) && made !== read;
}

/** The reader of each window's last history. */
const readers = new WeakMap<object, string | undefined>();

/** Whether a window gets a history for another reader than the last one, so that items far back may be others. */
export function isOtherReader(window: object, reader: string | undefined): boolean {
  const isOther = readers.has(window) && readers.get(window) !== reader;
  readers.set(window, reader);
  return isOther;
}
