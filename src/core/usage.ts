import { isObject } from "./fields.ts";

/** A `Usage` in the results of a service, whose fields are in camelCase. On the wire both are the same. */
export interface TokenUsage {
  /** Tokens read, cached ones included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheCreationTokens: number | null;
  readonly cacheReadTokens: number | null;
}

export function tokenUsage(usage: Usage): TokenUsage {
  return {
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cacheCreationTokens: usage.cache_creation_tokens,
    cacheReadTokens: usage.cache_read_tokens,
  };
}

/**
 * Tokens of a model call, a turn or a session, as the provider counted them. The cache fields stay
 * `null` until a provider reports one.
 */
export interface Usage {
  /** Tokens read, cached ones included. */
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_tokens: number | null;
  readonly cache_read_tokens: number | null;
}

export const NO_USAGE: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_tokens: null,
  cache_read_tokens: null,
};

/** The counts of a provider. What is no count, such as NaN, a text or a negative number, counts as not reported. */
export function exactUsage(usage: unknown): Usage {
  const counts = isObject(usage) ? usage : {};
  const count = (value: unknown) =>
    typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER
      ? Math.round(value)
      : null;
  return {
    input_tokens: count(counts.input_tokens) ?? 0,
    output_tokens: count(counts.output_tokens) ?? 0,
    cache_creation_tokens: count(counts.cache_creation_tokens),
    cache_read_tokens: count(counts.cache_read_tokens),
  };
}

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_creation_tokens: addSeen(a.cache_creation_tokens, b.cache_creation_tokens),
    cache_read_tokens: addSeen(a.cache_read_tokens, b.cache_read_tokens),
  };
}

export function totalTokens(usage: Usage): number {
  return usage.input_tokens + usage.output_tokens;
}

function addSeen(a: number | null, b: number | null): number | null {
  return a === null && b === null ? null : (a ?? 0) + (b ?? 0);
}
