import type { Bench } from "../bench.ts";
import { inOwnProcess } from "../own-process.ts";
import type { TaskInput } from "../tasks.ts";

/** What has no end, and is killed when the work beside it is done. */
type EndlessTask = "write" | "reindex";

/** Works while another process does a task that has no end. */
export async function meanwhile<Name extends EndlessTask, Result>(
  bench: Bench,
  name: Name,
  input: TaskInput<Name>,
  work: () => Promise<Result>,
): Promise<Result> {
  const done = new AbortController();
  const signal = AbortSignal.any([bench.signal, done.signal]);
  const other = inOwnProcess(name, input, { ...bench, signal }).catch((error) => {
    if (!done.signal.aborted) throw error;
  });
  const working = work().finally(() => done.abort());
  // Both have ended before anybody removes what they work on.
  await Promise.allSettled([other, working]);
  await other;
  return await working;
}
