import { arch, availableParallelism, cpus, platform, totalmem } from "node:os";
import type { SuiteName } from "./bench.ts";

/** What was measured, on which machine, and how. */
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
  /** What could not be measured on this machine, and why. */
  readonly skipped?: readonly string[];
}

export type Unit = "ms" | "µs" | "/s" | "MB/s" | "MB" | "KB" | "%" | "×" | "tokens" | "times";

export interface Figure {
  readonly name: string;
  readonly unit: Unit;
  readonly value: number;
  /** The baseline, measured in the same run. */
  readonly against?: { readonly name: string; readonly value: number };
  /** The value divided by the baseline's. */
  readonly ratio?: number;
}

/** A figure, with its ratio to the baseline. */
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

/** A machine's noise leaves fewer than three significant digits. */
function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

/** The machine that the figures were measured on. */
export function thisMachine(version: string): Machine {
  return {
    rkat: version,
    node: process.versions.node,
    sqlite: process.versions.sqlite ?? "unknown",
    system: `${platform()} ${arch()}`,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memory_gb: Math.round(totalmem() / 2 ** 30),
  };
}
