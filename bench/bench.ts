export const SUITES = [
  "recall",
  "finding",
  "coherence",
  "memory",
  "vectors",
  "turns",
  "import",
  "surfaces",
  "hostile",
] as const;

export type SuiteName = (typeof SUITES)[number];

export interface BenchOptions {
  readonly suites: readonly SuiteName[];
  /** How many entries the measured stores have. */
  readonly size: number;
  /** Fewer questions and runs: rough figures, soon. */
  readonly quick: boolean;
  /** A folder of conversations to measure recall and coherence with, instead of the usual ones. */
  readonly data?: string;
  /** Tokens of the windows that coherence is measured in. */
  readonly windows: readonly number[];
}

/** How a caller watches a measurement, and stops it. */
export interface BenchWatch {
  readonly signal: AbortSignal;
  onProgress(text: string): void;
}

/** What a suite works with. */
export interface Bench extends BenchWatch {
  readonly options: BenchOptions;
  /** An empty folder for this suite. It is removed when the suite is done. */
  readonly folder: string;
}

/**
 * How a task reports its progress. Awaiting it also lets the task's process notice
 * that its parent is gone.
 */
export type SayProgress = (text: string) => Promise<void>;

/** What the caller asked for cannot be measured; the message says why. */
export class UsageError extends Error {}
