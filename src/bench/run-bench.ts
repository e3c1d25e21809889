import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench } from "./bench.ts";
import type {
  BenchOptions,
  BenchReport,
  BenchTable,
  BenchWatch,
  SuiteName,
} from "./bench-report.ts";
import { thisMachine } from "./machine.ts";

type Suite = (bench: Bench) => Promise<readonly BenchTable[]>;

const LOAD: Readonly<Record<SuiteName, () => Promise<Suite>>> = {
  recall: async () => (await import("./recall/recall-suite.ts")).recallSuite,
  memory: async () => (await import("./memory/memory-suite.ts")).memorySuite,
  vectors: async () => (await import("./vectors/vectors-suite.ts")).vectorsSuite,
  turns: async () => (await import("./turns/turns-suite.ts")).turnsSuite,
  surfaces: async () => (await import("./surfaces/surfaces-suite.ts")).surfacesSuite,
};

/**
 * Measures rkat on this machine, one suite after the other. Everything is made
 * in a temporary folder, which goes when it ends, however it ends.
 *
 * @throws SessionError `INVALID_PARAMS` when `data` is not a folder of conversations.
 */
export async function runBench(
  options: BenchOptions & { readonly version: string },
  watch: BenchWatch & Pick<Bench, "rkat">,
): Promise<BenchReport> {
  const tables: BenchTable[] = [];
  for (const name of options.suites) {
    const suite = await LOAD[name]();
    const onProgress = (text: string) => watch.onProgress(`${name}: ${text}`);
    tables.push(...(await inFolder((folder) => suite({ ...watch, onProgress, options, folder }))));
  }
  return { machine: thisMachine(options.version), tables };
}

async function inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "rkat-bench-"));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  // Whoever interrupts twice ends the process at once.
  process.once("exit", remove);
  try {
    return await work(folder);
  } finally {
    process.off("exit", remove);
    remove();
  }
}
