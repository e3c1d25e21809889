/** A signal of several sources. Release it when the work that it is for has ended. */
export interface JoinedSignal {
  readonly signal: AbortSignal;
  /** Whether it aborted because the time was up. */
  readonly timedOut: boolean;
  release(): void;
}

/** The most that a timer can count to. It fires at once for a longer time. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * A signal that aborts with the first of its sources, or after `timeoutMs`.
 *
 * `AbortSignal.any` would do the same, but Node keeps a combined signal with a listener as long as
 * its longest source: one listener that a model's client leaves, and a server keeps every request
 * that it ever made. Once released, nothing of this one is held.
 */
export function joinSignals(
  sources: readonly (AbortSignal | undefined)[],
  timeoutMs?: number,
): JoinedSignal {
  const controller = new AbortController();
  const given = sources.filter((source) => source !== undefined);
  let timer: NodeJS.Timeout | undefined;
  let timedOut = false;
  const release = () => {
    clearTimeout(timer);
    for (const source of given) source.removeEventListener("abort", abort);
  };
  function abort(this: AbortSignal): void {
    release();
    controller.abort(this.reason);
  }
  const aborted = given.find((source) => source.aborted);
  if (aborted) controller.abort(aborted.reason);
  else {
    for (const source of given) source.addEventListener("abort", abort);
    if (timeoutMs !== undefined) {
      timer = setTimeout(
        () => {
          timedOut = true;
          release();
          controller.abort(new DOMException(`Not done within ${timeoutMs} ms.`, "TimeoutError"));
        },
        Math.min(timeoutMs, TIMER_MS_MAX),
      );
    }
  }
  return {
    signal: controller.signal,
    get timedOut() {
      return timedOut;
    },
    release,
  };
}
