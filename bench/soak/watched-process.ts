import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** What a process on Linux has now. */
export interface Footprint {
  readonly memory: number;
  readonly descriptors: number;
  readonly database: number;
  readonly log: number;
  /** Files of sessions, and how large they are. */
  readonly files: number;
  readonly otherFiles: number;
  /** Seconds of processor time since its start, all threads together. */
  readonly processor: number;
}

/** Linux counts processor time in hundredths of a second. */
const TICKS = 100;
const MB = 1024 * 1024;

/** The footprint of a server and of the folder of its store, in MB where it is a size. */
export function footprintOf(pid: number, store: string): Footprint {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const times =
    readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ").slice(11) ?? [];
  const sizes = readdirSync(store, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    if (!entry.isFile()) return [];
    const found = statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false });
    return found ? [{ name: entry.name, size: found.size }] : [];
  });
  const sum = (wanted: (name: string) => boolean) =>
    sizes.reduce((total, { name, size }) => total + (wanted(name) ? size : 0), 0) / MB;
  return {
    memory: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    database: sum((name) => name.endsWith(".db")),
    log: sum((name) => name.endsWith(".db-wal")),
    files: sizes.length,
    otherFiles: sum((name) => !/\.db(-\w+)?$/.test(name)),
    processor: (Number(times[0]) + Number(times[1])) / TICKS,
  };
}
