import type { RebuildResult } from "../core/compactor.ts";
import type { CompactionPlan } from "../core/event.ts";
import { amount, flag, group } from "../core/options.ts";
import { type PriceTable, priceOf } from "../core/prices.ts";
import type { PromptCache } from "../core/prompt-cache.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { MeasuredHistory } from "./measure-history.ts";

/**
 * What is known of the rest of a session and of its provider's cache. Prices are parts of the price of an input token
 * that is not cached.
 */
export interface CostOutlook {
  /** For a token that the provider reads from its cache. */
  readonly read: number;
  /** For a token that it writes into its cache. */
  readonly write: number;
  /** For a token of an answer. */
  readonly output: number;
  /** Whether the last request is in the cache now. */
  readonly isWarm: boolean;
  /** Tokens by which each call makes the history longer. */
  readonly growth: number;
  /** Calls that are expected to come. */
  readonly calls: number;
}

export const OUTLOOK = group(
  { read: amount, write: amount, output: amount, isWarm: flag, growth: amount, calls: amount },
  ["read", "write", "output", "isWarm", "growth", "calls"],
);

/** The expected cost of the rest of a session, if its model has a price and the provider says what it has cached. */
export function outlookOf(
  cache: PromptCache,
  session: {
    /** The model, as `provider/model`. */
    readonly model: string;
    readonly prices?: PriceTable;
    /** Estimated tokens of the history. */
    readonly tokens: number;
    /** Calls of the model so far. */
    readonly calls: number;
  },
): CostOutlook | undefined {
  const { model, prices, tokens, calls } = session;
  const price = priceOf(model, prices);
  if (!price || price.input === 0 || cache.model !== model) return undefined;
  return {
    read: price.cacheRead / price.input,
    write: price.cacheWrite / price.input,
    output: price.output / price.input,
    isWarm: cache.isWarm(model, Date.now()),
    growth: cache.growth(tokens),
    // A session that has had as many calls is expected to have as many more.
    calls: Math.max(1, calls),
  };
}

/** A change of the history, as far as its cost goes. */
export interface Change {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Tokens after the first change. */
  readonly rewritten: number;
  /** The price of a summary, in tokens that are not cached. */
  readonly summary: number;
}

/**
 * The expected cost of the rest of the session when the history is changed like this now, and again each time it
 * reaches the threshold, in tokens that are not cached:
 *
 *     once      the summary, and what the provider has to write into its cache again
 *     a call    the history, which grows to the threshold, at the price of the cache
 */
function expectedCost(
  { tokensAfter, rewritten, summary }: Change,
  threshold: number,
  { read, write, isWarm, growth, calls }: CostOutlook,
): number {
  // A history that is not in the cache is written again as a whole, whatever was changed.
  const fresh = isWarm ? rewritten : tokensAfter;
  const once = summary + fresh * Math.max(0, write - read);
  const until = Math.max(1, (threshold - tokensAfter) / Math.max(1, growth));
  if (until >= calls) return once + read * calls * (tokensAfter + (growth * calls) / 2);
  return (calls / until) * (once + (read * until * (tokensAfter + threshold)) / 2);
}

/** A compaction by a summary, as far as its cost goes: a summary as long as it may be. */
export function summarising(
  { weights, weight }: MeasuredHistory,
  { messages, discardedAt, summaryBytesMax }: RebuildResult,
  {
    continues,
    outlook,
    most,
  }: {
    readonly continues?: { readonly toolTokens: number };
    readonly outlook: CostOutlook;
    /** Tokens of the longest summary. */
    readonly most: number;
  },
): Change {
  const sum = (some: readonly number[]) => some.reduce((total, each) => total + each, 0);
  const left = sum(discardedAt.map((at) => weights[at] ?? 0)) / 4;
  const before = sum(weights.slice(0, discardedAt[0])) / 4;
  const summaryTokens = Math.min(most, summaryBytesMax / 4);
  const tokensAfter = Math.min(weight / 4, estimateTokens(messages) + summaryBytesMax / 4);
  const asked = continues ? outlook.read * (weight / 4 + continues.toolTokens) : left;
  return {
    tokensBefore: weight / 4,
    tokensAfter,
    rewritten: Math.max(0, tokensAfter - before),
    summary: asked + outlook.output * summaryTokens,
  };
}

/** The change that makes the rest of the session cheaper. */
export function cheaperChange({
  outlook,
  threshold,
  prune,
  summarise,
}: {
  readonly outlook: CostOutlook;
  readonly threshold: number;
  readonly prune: Change | undefined;
  readonly summarise: Change | undefined;
}): { readonly way: "prune" | "summarise"; readonly plan: CompactionPlan } | undefined {
  if (!prune) return undefined;
  const pruning = expectedCost(prune, threshold, outlook);
  const summary = summarise && expectedCost(summarise, threshold, outlook);
  const way = summary !== undefined && summary < pruning ? "summarise" : "prune";
  const [cost, other] = way === "prune" ? [pruning, summary] : [summary ?? 0, pruning];
  const plan = {
    expected_calls: Math.round(outlook.calls),
    expected_tokens: Math.round(cost),
    other_tokens: other === undefined ? null : Math.round(other),
  };
  return { way, plan };
}
