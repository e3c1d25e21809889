import { setTimeout as sleep } from "node:timers/promises";
import type { SayProgress } from "../bench.ts";
import { madeUpBatches } from "../data/entries.ts";
import { openMemory } from "./open-memory.ts";

export interface WriteInput {
  readonly folder: string;
  readonly vectors: boolean;
  /** The first entry that is not there yet. */
  readonly from: number;
  /** Entries that are added at once. */
  readonly batch: number;
  /** From one batch to the next; 0 for no pause. */
  readonly everyMs: number;
}

/** Adds batch after batch until its process is ended. */
export async function writeTask(
  { folder, vectors, from, batch, everyMs }: WriteInput,
  say: SayProgress,
): Promise<void> {
  const memory = openMemory(folder, vectors);
  let next = performance.now();
  for (const entries of madeUpBatches(from, Number.POSITIVE_INFINITY, batch)) {
    await memory.add(entries);
    await say("searching while another process adds");
    next = Math.max(next + everyMs, performance.now() - CATCHES_UP_MS);
    await sleep(Math.max(0, next - performance.now()));
  }
}

/** What a pause of the machine has held up is made up for, unless it was a long one. */
const CATCHES_UP_MS = 1000;
