import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { SayProgress } from "../bench.ts";
import { madeUpBatches } from "../data/entries.ts";
import { Fts5Store } from "../fts5-store.ts";
import { bytesIn, Stopwatch, timed, timedAtOnce } from "../measuring.ts";
import { fts5Path, openMemory, storePath } from "./open-memory.ts";

export interface FillInput {
  readonly folder: string;
  readonly size: number;
  readonly vectors: boolean;
}

export interface FillOutput {
  readonly rkat: Filled;
  readonly fts5: Filled;
  readonly textBytes: number;
  /** From the last add to the end of the background work. */
  readonly settlingMs: number;
}

interface Filled {
  /** Background work included. */
  readonly addedPerSecond: number;
  readonly diskBytes: number;
}

const BATCH = 100;

/** Fills rkat's store and FTS5's, alternating, so that the machine's drift affects both. */
export async function fillTask(
  { folder, size, vectors }: FillInput,
  say: SayProgress,
): Promise<FillOutput> {
  mkdirSync(dirname(fts5Path(folder)), { recursive: true });
  const memory = openMemory(folder, vectors);
  const fts5 = new Fts5Store(fts5Path(folder));
  const watch = new Stopwatch();
  const batches = madeUpBatches(0, size, BATCH);
  let fts5Ms = 0;
  let textBytes = 0;
  for (let added = 0; ; ) {
    const batch = watch.leaveOut(() => batches.next().value);
    if (!batch) break;
    await memory.add(batch);
    fts5Ms += watch.leaveOut(() => timedAtOnce(() => fts5.add(batch)));
    for (const { content } of batch) textBytes += Buffer.byteLength(content);
    added += batch.length;
    if (added % 1000 === 0) await say(`adding, ${added} of ${size}`);
  }
  await say("waiting for background work");
  const settlingMs = await timed(async () => {
    await memory.finishEmbedding?.();
    await memory.finishMerging?.();
    await memory.close();
  });
  const rkatMs = watch.ms;
  fts5Ms += timedAtOnce(() => fts5.close());
  return {
    rkat: {
      addedPerSecond: (1000 * size) / rkatMs,
      diskBytes: bytesIn(dirname(storePath(folder))),
    },
    fts5: {
      addedPerSecond: (1000 * size) / fts5Ms,
      diskBytes: bytesIn(dirname(fts5Path(folder))),
    },
    textBytes,
    settlingMs,
  };
}
