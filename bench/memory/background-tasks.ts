import { setTimeout as sleep } from "node:timers/promises";
import type { SayProgress } from "../bench.ts";
import { madeUpBatches } from "../data/entries.ts";
import { openMemory } from "./open-memory.ts";

// These tasks keep a store busy until their process is killed, while another process searches.

export interface ReindexInput {
  readonly folder: string;
}

/** Writes and merges all segments of the index again and again. */
export async function reindexTask({ folder }: ReindexInput, say: SayProgress): Promise<void> {
  const memory = openMemory(folder, false);
  for (;;) {
    await say("searching while another process reindexes");
    await memory.reindex();
  }
}

export interface WriteInput {
  readonly folder: string;
  readonly vectors: boolean;
  /** The first entry that is not there yet. */
  readonly from: number;
  /** Entries per add. */
  readonly batch: number;
  /** Time from one batch to the next; 0 for no pause. */
  readonly everyMs: number;
}

/** How far the writer falls behind its pace before it gives up catching up. */
const BEHIND_MS_MAX = 1000;

/** Adds batch after batch. */
export async function writeTask(
  { folder, vectors, from, batch, everyMs }: WriteInput,
  say: SayProgress,
): Promise<void> {
  const memory = openMemory(folder, vectors);
  let next = performance.now();
  for (const entries of madeUpBatches(from, Number.POSITIVE_INFINITY, batch)) {
    await memory.add(entries);
    await say("searching while another process adds");
    next = Math.max(next + everyMs, performance.now() - BEHIND_MS_MAX);
    await sleep(Math.max(0, next - performance.now()));
  }
}
