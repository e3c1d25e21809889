import { arch, availableParallelism, cpus, platform, totalmem } from "node:os";
import type { Machine } from "./bench-report.ts";

/** What the figures were measured on. */
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
