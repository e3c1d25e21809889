import type { BenchOptions, BenchWatch } from "./bench-report.ts";

/** What a suite has to work with. */
export interface Bench extends BenchWatch {
  readonly options: BenchOptions;
  /** An empty folder of its own, which goes when the suite is done. */
  readonly folder: string;
  /** The arguments for Node that start `rkat` as it was started just now. */
  readonly rkat: readonly string[];
}
