import { SessionError } from "../core/errors.ts";

/** How often and how long a failed model call is tried again. */
export interface RetryPolicy {
  /** Retries after the first attempt. */
  readonly maxRetries: number;
  readonly initialDelayMs: number;
  /** Longest wait, and the longest `retry-after` that is waited for. */
  readonly maxDelayMs: number;
  readonly multiplier: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  maxRetries: 3,
  initialDelayMs: 500,
  maxDelayMs: 30_000,
  multiplier: 2,
};

/**
 * How long to wait before retry `attempt` (from 1): `initial · multiplier^(attempt-1)`,
 * give or take a tenth so that clients do not come back in step, or what the
 * provider asked for when that is longer. `undefined`: do not try again.
 */
export function retryDelay(
  error: unknown,
  attempt: number,
  policy: RetryPolicy,
  random: () => number = Math.random,
): number | undefined {
  if (!SessionError.is(error) || !error.retry || attempt > policy.maxRetries) return undefined;
  const asked = error.retry.afterMs ?? 0;
  if (asked > policy.maxDelayMs) return undefined;
  const backoff = policy.initialDelayMs * policy.multiplier ** (attempt - 1);
  const jittered = backoff * (0.9 + 0.2 * random());
  return Math.round(Math.max(asked, Math.min(jittered, policy.maxDelayMs)));
}

/** Waits, unless the signal aborts first; then it throws the signal's reason. */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal.addEventListener("abort", abort, { once: true });
  });
}
