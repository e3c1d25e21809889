import type { Bench } from "../bench.ts";
import { madeUpQuestions } from "../data/entries.ts";
import { median } from "../measuring.ts";
import { NODE_FLAGS, programOf, RKAT, timeOfNode } from "../programs.ts";
import { storePath } from "./open-memory.ts";

/** Milliseconds from the start of a process to its end, medians of alternating runs. */
export interface StartTimes {
  /** `node -e 0`. */
  readonly node: number;
  /** A program that opens the store and searches once. */
  readonly firstResult: number;
  /** `rkat memory search`. */
  readonly command: number;
}

/** How long a first result takes from a store that no process has open. */
export async function startTimes(
  { folder, signal, onProgress }: Bench,
  {
    size,
    vectors,
    runs,
  }: { readonly size: number; readonly vectors: boolean; readonly runs: number },
): Promise<StartTimes> {
  const ms = { node: [] as number[], firstResult: [] as number[], command: [] as number[] };
  const program = [...NODE_FLAGS, programOf("memory/first-result-process.js")];
  // The command believes no store that it did not make, and remembers in your own settings what you trust.
  const env = { HOME: folder };
  await timeOfNode([...RKAT, "trust", "--dir", folder], signal, env);
  for (const [run, { text }] of madeUpQuestions(size, runs + 1).entries()) {
    onProgress(`starting, run ${run} of ${runs}`);
    const node = await timeOfNode(["-e", "0"], signal);
    const firstResult = await timeOfNode(
      [...program, storePath(folder), text, ...(vectors ? ["vectors"] : [])],
      signal,
    );
    const search = [...RKAT, "memory", "search", "--dir", folder, text];
    const command = await timeOfNode(search, signal, env);
    // The first run only fills the caches of the system and of Node.
    if (run === 0) continue;
    ms.node.push(node);
    ms.firstResult.push(firstResult);
    ms.command.push(command);
  }
  return {
    node: median(ms.node),
    firstResult: median(ms.firstResult),
    command: median(ms.command),
  };
}
