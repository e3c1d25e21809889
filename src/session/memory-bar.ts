import type { EventStore } from "../core/event-store.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import { isStillTrue, measureBar } from "../recall/recall-bar.ts";

/** Uses after which a process looks whether the bar is still true, because memory has grown. */
const USES = 256;

/** The checkpoint that has the bar: the entries with which it was measured, and three digits for its score. */
const CHECKPOINT = "recall bar";
const DIGITS = 1_000;

interface Known {
  readonly bar: Promise<number>;
  uses: number;
}

const KNOWN = new WeakMap<MemoryStore, Known>();

/**
 * The score that the best record needs, of all that a memory has, before anything of it comes back by itself. It is
 * measured when it is first needed. The log keeps it, so that the next process need not measure it again.
 */
export function memoryBar(
  memory: MemoryStore,
  events: Pick<EventStore, "checkpoint" | "saveCheckpoint"> | undefined,
): Promise<number> {
  const known = KNOWN.get(memory);
  if (known && known.uses < USES) {
    known.uses += 1;
    return known.bar;
  }
  const fresh = { bar: keptBar(memory, events), uses: 0 };
  KNOWN.set(memory, fresh);
  // A failed measurement is made again.
  fresh.bar.catch(() => KNOWN.get(memory) === fresh && KNOWN.delete(memory));
  return fresh.bar;
}

async function keptBar(
  memory: MemoryStore,
  events: Pick<EventStore, "checkpoint" | "saveCheckpoint"> | undefined,
): Promise<number> {
  const kept = (await events?.checkpoint(CHECKPOINT)) ?? 0;
  const { entries } = await memory.stats();
  if (isStillTrue(Math.floor(kept / DIGITS), entries)) return (kept % DIGITS) / DIGITS;
  const bar = await measureBar(memory);
  await events?.saveCheckpoint(CHECKPOINT, entries * DIGITS + Math.round(bar * DIGITS));
  return bar;
}
