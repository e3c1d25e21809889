import { madeUpBatches } from "../data/entries.ts";
import type { SayProgress } from "../tasks.ts";
import { openMemory } from "./open-memory.ts";

export interface WriteInput {
  readonly folder: string;
  readonly vectors: boolean;
  /** The first entry that is not there yet. */
  readonly from: number;
}

const BATCH = 100;

/** Adds batch after batch without a pause, until its process is ended. */
export async function writeTask(
  { folder, vectors, from }: WriteInput,
  say: SayProgress,
): Promise<void> {
  const memory = openMemory(folder, vectors);
  for (const batch of madeUpBatches(from, Number.POSITIVE_INFINITY, BATCH)) {
    await memory.add(batch);
    await say("searching while another process adds");
  }
}
