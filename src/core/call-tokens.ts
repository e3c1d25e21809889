import type { Cost } from "./operations/cost.ts";
import { dollars, type FullPrice, type PriceTable, priceOf } from "./prices.ts";
import { tokenUsage, type Usage } from "./usage.ts";

/** Tokens of calls, as far as they have a price of their own. */
export interface Tokens {
  readonly calls: number;
  readonly input: number;
  /** Input that neither came from the provider's cache nor was written into it. */
  readonly fresh: number;
  readonly read: number;
  readonly written: number;
  readonly output: number;
  /** Calls whose provider reported nothing read, and nothing written. */
  readonly unread: number;
  readonly unwritten: number;
}

export const NO_TOKENS: Tokens = {
  calls: 0,
  input: 0,
  fresh: 0,
  read: 0,
  written: 0,
  output: 0,
  unread: 0,
  unwritten: 0,
};

export function tokensOf(usage: Usage): Tokens {
  const { input_tokens: input, cache_read_tokens, cache_creation_tokens } = usage;
  const [read, written] = [cache_read_tokens ?? 0, cache_creation_tokens ?? 0];
  return {
    calls: 1,
    input,
    fresh: Math.max(0, input - read - written),
    read,
    written,
    output: usage.output_tokens,
    unread: Number(cache_read_tokens === null),
    unwritten: Number(cache_creation_tokens === null),
  };
}

export function plus(one: Tokens, other: Tokens, sign: 1 | -1 = 1): Tokens {
  const sum: { -readonly [Key in keyof Tokens]: number } = { ...one };
  for (const key of keysOf(other)) sum[key] += sign * other[key];
  return sum;
}

export function minus(one: Tokens, other: Tokens): Tokens {
  return plus(one, other, -1);
}

export function sumOf(all: readonly Tokens[]): Tokens {
  return all.reduce((sum, each) => plus(sum, each), NO_TOKENS);
}

/** Billionths of a dollar; undefined when no call has a price. */
export function paidFor(models: ReadonlyMap<string, Tokens>, own: PriceTable): number | undefined {
  let paid: number | undefined;
  for (const [model, tokens] of models) {
    const price = priceOf(model, own);
    if (price && tokens.calls > 0) paid = (paid ?? 0) + priceOfTokens(tokens, price);
  }
  return paid;
}

function priceOfTokens({ fresh, read, written, output }: Tokens, price: FullPrice): number {
  const cached = read * price.cacheRead + written * price.cacheWrite;
  return Math.round(1000 * (fresh * price.input + cached + output * price.output));
}

export function costOf(tokens: Tokens, billionths: number | undefined): Cost {
  const { calls, input, output, read, written, unread, unwritten } = tokens;
  const usage: Usage = {
    input_tokens: input,
    output_tokens: output,
    cache_creation_tokens: unwritten === calls ? null : written,
    cache_read_tokens: unread === calls ? null : read,
  };
  return {
    usage: tokenUsage(usage),
    costUsd: billionths === undefined ? null : dollars(billionths),
  };
}

export function keysOf<Value extends object>(value: Value): readonly (keyof Value)[] {
  return Object.keys(value) as (keyof Value)[];
}
