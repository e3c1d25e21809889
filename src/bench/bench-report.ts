export const SUITES = ["recall", "memory", "vectors", "turns", "surfaces"] as const;

export type SuiteName = (typeof SUITES)[number];

export interface BenchOptions {
  readonly suites: readonly SuiteName[];
  /** Entries of the stores that are measured. */
  readonly size: number;
  /** Fewer questions and runs: figures that are there soon, and rough. */
  readonly quick: boolean;
  /** Conversations to measure recall with, instead of made-up ones. */
  readonly data?: string;
}

/** How measuring is watched and stopped. */
export interface BenchWatch {
  readonly signal: AbortSignal;
  onProgress(text: string): void;
}

/** What was measured, on what, and how. */
export interface BenchReport {
  readonly machine: Machine;
  readonly tables: readonly BenchTable[];
}

export interface Machine {
  readonly rkat: string;
  readonly node: string;
  readonly sqlite: string;
  readonly system: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memory_gb: number;
}

export interface BenchTable {
  readonly suite: SuiteName;
  /** Such as `recall, one store per conversation`. */
  readonly title: string;
  /** How it was measured, in sentences. */
  readonly method: string;
  readonly figures: readonly Figure[];
  /** What could not be measured here, and why. */
  readonly skipped?: readonly string[];
}

export type Unit = "ms" | "µs" | "/s" | "MB" | "KB" | "%" | "×";

export interface Figure {
  readonly name: string;
  readonly unit: Unit;
  readonly value: number;
  /** The same of something else, measured in the same run. */
  readonly against?: { readonly name: string; readonly value: number };
  /** The value divided by that. */
  readonly ratio?: number;
}

/** A figure, with its ratio to what it is compared with. */
export function figure(
  name: string,
  unit: Unit,
  value: number,
  against?: Figure["against"],
): Figure {
  if (against === undefined) return { name, unit, value: rounded(value) };
  const ratio = against.value === 0 ? {} : { ratio: rounded(value / against.value) };
  return {
    name,
    unit,
    value: rounded(value),
    against: { name: against.name, value: rounded(against.value) },
    ...ratio,
  };
}

/** Three digits that mean something are more than a machine's noise leaves. */
function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
