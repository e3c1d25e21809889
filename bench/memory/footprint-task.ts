import { openMemory } from "./open-memory.ts";

export interface FootprintInput {
  readonly folder: string;
  readonly vectors: boolean;
  readonly questions: readonly string[];
}

/** Bytes of memory that the process takes: before anything, and after searching the store. */
export interface FootprintOutput {
  readonly before: number;
  readonly after: number;
}

/** Opens the store and searches it, in a process that does nothing else. */
export async function footprintTask(input: FootprintInput): Promise<FootprintOutput> {
  const before = process.memoryUsage.rss();
  const memory = openMemory(input.folder, input.vectors);
  for (const query of input.questions) await memory.search({ query, limit: 10 });
  const after = process.memoryUsage.rss();
  await memory.close();
  return { before, after };
}
