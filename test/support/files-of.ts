import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** The files of a folder, by their paths in it. SQLite writes the index of a write-ahead log again. */
export function filesOf(folder: string): ReadonlyMap<string, Buffer> {
  const entries = globSync("**/*", { cwd: folder, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith("-shm"));
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return new Map(paths.map((path) => [relative(folder, path), readFileSync(path)]));
}
