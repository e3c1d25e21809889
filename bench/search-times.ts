import { median, quantile } from "./statistics.ts";

/** What a search takes, in milliseconds. */
export interface SearchTimes {
  readonly p50: number;
  readonly p99: number;
  /** Of a processor, on average, all threads together: what else the machine does is not in it. */
  readonly cpu: number;
}

/**
 * Times questions that are asked round after round: each question's median counts,
 * so that p99 is about the hardest questions and not about what else the machine did.
 */
export class SearchWatch {
  readonly #ms: number[][] = [];
  #cpuUs = 0;
  #asked = 0;

  /** Times the question of this number. */
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
