/** The value that a share of the numbers does not exceed: 0.5 is the median, 0.99 nearly the worst. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5);
}

/** Milliseconds that the work takes. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The same of work that waits for nothing: nobody else works meanwhile. */
export function timedAtOnce(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/**
 * Measures all that happens from its making on, in the background too, but what it is told to leave out.
 * That must not wait for anything: others would work meanwhile.
 */
export class Stopwatch {
  readonly #startedAt = performance.now();
  #leftOut = 0;

  leaveOut<Result>(work: () => Result): Result {
    const start = performance.now();
    const result = work();
    this.#leftOut += performance.now() - start;
    return result;
  }

  get ms(): number {
    return performance.now() - this.#startedAt - this.#leftOut;
  }
}
