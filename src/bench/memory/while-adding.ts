import type { Bench } from "../bench.ts";
import { inOwnProcess } from "../own-process.ts";
import type { TaskInput } from "../tasks.ts";

/** Works while another process adds without a pause, which is killed when the work is done. */
export async function whileAdding<Result>(
  bench: Bench,
  input: TaskInput<"write">,
  work: () => Promise<Result>,
): Promise<Result> {
  const done = new AbortController();
  const signal = AbortSignal.any([bench.signal, done.signal]);
  const writing = inOwnProcess("write", input, { ...bench, signal }).catch((error) => {
    if (!done.signal.aborted) throw error;
  });
  const working = work().finally(() => done.abort());
  // Both have ended before anybody removes what they work on.
  await Promise.allSettled([writing, working]);
  await writing;
  return await working;
}
