import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Files below a folder that have one of the texts, each with that text. */
export async function filesWithTraces(
  folder: string,
  traces: readonly string[],
): Promise<string[]> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const file of files.filter((entry) => entry.isFile())) {
    const bytes = await readFile(join(file.parentPath, file.name));
    for (const trace of traces) if (bytes.includes(trace)) found.push(`${file.name}: ${trace}`);
  }
  return found;
}
