import type { SayProgress } from "../bench.ts";
import { openMemory } from "./open-memory.ts";

export interface ReindexInput {
  readonly folder: string;
}

/** Writes and merges all segments of the index anew, again and again, until its process is ended. */
export async function reindexTask({ folder }: ReindexInput, say: SayProgress): Promise<void> {
  const memory = openMemory(folder, false);
  for (;;) {
    await say("searching while another process reindexes");
    await memory.reindex();
  }
}
