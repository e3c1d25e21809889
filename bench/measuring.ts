import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** A quantile: 0.5 is the median, 0.99 nearly the maximum. */
function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5);
}

/** Adds a measurement to those of a name. */
export function note(all: Record<string, number[]>, name: string, value: number): void {
  all[name] = [...(all[name] ?? []), value];
}

/** Milliseconds that the work takes. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The same for synchronous work, during which nothing else runs. */
export function timedAtOnce(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/**
 * Measures the time since it was created, background work included, except what it is told to
 * leave out. What it leaves out must be synchronous, so that no other work runs meanwhile.
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

/** What a search takes, in milliseconds. */
export interface SearchTimes {
  readonly p50: number;
  readonly p99: number;
  /** Mean processor time, all threads together: independent of other load on the machine. */
  readonly cpu: number;
}

/**
 * Times questions that are asked in several rounds. Each question's median counts, so
 * p99 is about the hardest questions, not about other load on the machine.
 */
export class SearchWatch {
  readonly #ms: number[][] = [];
  #cpuUs = 0;
  #asked = 0;

  /** Times the question with this number. */
  async time(question: number, search: () => unknown): Promise<void> {
    const cpuBefore = process.cpuUsage();
    const start = performance.now();
    await search();
    const elapsed = performance.now() - start;
    const { user, system } = process.cpuUsage(cpuBefore);
    this.#ms[question] ??= [];
    this.#ms[question].push(elapsed);
    this.#cpuUs += user + system;
    this.#asked += 1;
  }

  times(): SearchTimes {
    const questions = this.#ms.map(median);
    return {
      p50: quantile(questions, 0.5),
      p99: quantile(questions, 0.99),
      cpu: this.#cpuUs / 1000 / Math.max(1, this.#asked),
    };
  }
}

/** Bytes of all files in a folder. */
export function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

/** 0 for none. */
export function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / Math.max(1, numbers.length);
}

/** The part of all that is so, from 0 to 1. */
export function share(all: readonly boolean[]): number {
  return mean(all.map(Number));
}
