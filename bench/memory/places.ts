import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Where a suite keeps its stores: rkat's where the command finds it. */
export function storePath(folder: string): string {
  return join(folder, ".rkat", "rkat.db");
}

export function fts5Path(folder: string): string {
  return join(folder, "fts5", "fts5.db");
}

/** Bytes of all files in a folder. */
export function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
