import type { Cost } from "./operations/cost.ts";
import { tokenUsage, type Usage } from "./usage.ts";

/** The price of a model: US dollars for a million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** For input that came from the provider's cache. Default: the provider's usual share of `input`. */
  readonly cacheRead?: number;
  /** For input that was written into the provider's cache. Default: the provider's usual share of `input`. */
  readonly cacheWrite?: number;
}

/** Prices by `provider/model`. A key is also the start of names: the longest one that fits counts. */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

export type FullPrice = Required<ModelPrice>;

/** How a provider keeps the beginnings of requests. */
interface Cache {
  /** Shares of `input` that it takes for tokens that it reads and writes. */
  readonly read: number;
  readonly write: number;
  /** How long it keeps a request at least after the last call. */
  readonly minutes: number;
}

/** A provider that is not here has no discount that we know. */
const CACHES: Readonly<Record<string, Cache>> = {
  anthropic: { read: 0.1, write: 1.25, minutes: 5 },
  openai: { read: 0.1, write: 1, minutes: 5 },
  google: { read: 0.1, write: 1, minutes: 5 },
  deepseek: { read: 0.1, write: 1, minutes: 60 },
};

const UNKNOWN_CACHE: Cache = { read: 1, write: 1, minutes: 5 };

function cacheOf(id: string): Cache {
  return CACHES[id.slice(0, id.indexOf("/"))] ?? UNKNOWN_CACHE;
}

/** The share of a token's price that a provider takes when it has the token in its cache. */
export function cacheReadPart(id: string): number {
  return cacheOf(id).read;
}

/** Whether a provider takes each request into its cache by itself, for nothing. */
export function cachesByItself(id: string): boolean {
  const { read, write } = cacheOf(id);
  return write === 1 && read < 1;
}

/** How long a provider keeps a request in its cache at least. */
export function cacheMinutes(id: string): number {
  return cacheOf(id).minutes;
}

/** The day that the public price tables are of, from which the list prices below were taken. */
export const PRICES_OF = "2026-07-20";

/**
 * List prices of each provider, for requests of usual size without batches. A model without a certain price is not
 * listed: no price is better than a wrong one.
 */
const LIST_PRICES: Readonly<Record<string, PriceTable>> = {
  anthropic: {
    "claude-fable-5": { input: 10, output: 50 },
    "claude-opus-4-8": { input: 5, output: 25 },
    "claude-opus-4-7": { input: 5, output: 25 },
    "claude-opus-4-6": { input: 5, output: 25 },
    "claude-opus-4-5": { input: 5, output: 25 },
    "claude-opus-4-1": { input: 15, output: 75 },
    "claude-opus-4": { input: 15, output: 75 },
    "claude-sonnet-5": { input: 3, output: 15 },
    "claude-sonnet-4-6": { input: 3, output: 15 },
    "claude-sonnet-4-5": { input: 3, output: 15 },
    "claude-sonnet-4": { input: 3, output: 15 },
    "claude-haiku-4-5": { input: 1, output: 5 },
  },
  openai: {
    "gpt-5.4": { input: 2.5, output: 15 },
    "gpt-5.2": { input: 1.75, output: 14 },
    "gpt-5.1": { input: 1.25, output: 10 },
    "gpt-5": { input: 1.25, output: 10 },
    "gpt-5-mini": { input: 0.25, output: 2 },
    "gpt-5-nano": { input: 0.05, output: 0.4 },
    "gpt-4.1": { input: 2, output: 8, cacheRead: 0.5 },
    "gpt-4.1-mini": { input: 0.4, output: 1.6, cacheRead: 0.1 },
    "gpt-4o": { input: 2.5, output: 10, cacheRead: 1.25 },
    "gpt-4o-mini": { input: 0.15, output: 0.6, cacheRead: 0.075 },
  },
  google: {
    "gemini-3.5-flash": { input: 1.5, output: 9 },
    "gemini-3.1-pro-preview": { input: 2, output: 12 },
    "gemini-3-pro-preview": { input: 2, output: 12 },
    "gemini-3-flash-preview": { input: 0.5, output: 3 },
    "gemini-2.5-pro": { input: 1.25, output: 10 },
    "gemini-2.5-flash": { input: 0.3, output: 2.5 },
  },
};

/** The end that a listed name may have: the day of a version. Anything else may be another model, with another price. */
const VERSION = /^(?:-\d{8}|-\d{4}-\d{2}-\d{2}|-latest)?$/;

/** The price of a `provider/model`, if there is one. `own` wins over the list. */
export function priceOf(id: string, own: PriceTable = {}): FullPrice | undefined {
  const slash = id.indexOf("/");
  const provider = id.slice(0, slash);
  const model = id.slice(slash + 1);
  const price = byStart(own, id) ?? listed(LIST_PRICES[provider], model);
  if (!price) return undefined;
  const { read, write } = cacheOf(id);
  return { cacheRead: read * price.input, cacheWrite: write * price.input, ...price };
}

function byStart(table: PriceTable, name: string): ModelPrice | undefined {
  const keys = Object.keys(table).filter((key) => name.startsWith(key));
  const [longest] = keys.sort((a, b) => b.length - a.length);
  return longest === undefined ? undefined : table[longest];
}

function listed(table: PriceTable = {}, model: string): ModelPrice | undefined {
  const key = Object.keys(table).find(
    (name) => model.startsWith(name) && VERSION.test(model.slice(name.length)),
  );
  return key === undefined ? undefined : table[key];
}

/** Billionths of a dollar, whole ones, so that sums are exact. */
export function costOf(usage: Usage, price: FullPrice): number {
  const read = usage.cache_read_tokens ?? 0;
  const written = usage.cache_creation_tokens ?? 0;
  const fresh = Math.max(0, usage.input_tokens - read - written);
  return Math.round(
    1000 *
      (fresh * price.input +
        read * price.cacheRead +
        written * price.cacheWrite +
        usage.output_tokens * price.output),
  );
}

/** The price as a caller is told it. */
export function dollars(billionths: number): number {
  return billionths / 1e9;
}

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

export function costOfTokens(tokens: Tokens, billionths: number | undefined): Cost {
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
