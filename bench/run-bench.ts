import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench, BenchOptions, BenchWatch, SuiteName } from "./bench.ts";
import { packageFile } from "./programs.ts";
import { type BenchReport, type BenchTable, thisMachine } from "./report.ts";

type Suite = (bench: Bench) => Promise<readonly BenchTable[]>;

const LOAD: Readonly<Record<SuiteName, () => Promise<Suite>>> = {
  recall: async () => (await import("./recall/recall-suite.ts")).recallSuite,
  finding: async () => (await import("./finding/finding-suite.ts")).findingSuite,
  coherence: async () => (await import("./coherence/coherence-suite.ts")).coherenceSuite,
  memory: async () => (await import("./memory/store-suites.ts")).memorySuite,
  vectors: async () => (await import("./memory/store-suites.ts")).vectorsSuite,
  turns: async () => (await import("./turns/turns-suite.ts")).turnsSuite,
  import: async () => (await import("./import/import-suite.ts")).importSuite,
  surfaces: async () => (await import("./surfaces/surfaces-suite.ts")).surfacesSuite,
  hostile: async () => (await import("./hostile/hostile-suite.ts")).hostileSuite,
};

/**
 * Measures rkat on this machine, one suite after the other. All files are in a
 * temporary folder, which is removed however the run ends.
 *
 * @throws UsageError when `data` is not a folder of conversations.
 */
export async function runBench(options: BenchOptions, watch: BenchWatch): Promise<BenchReport> {
  const tables: BenchTable[] = [];
  for (const name of options.suites) {
    const suite = await LOAD[name]();
    const onProgress = (text: string) => watch.onProgress(`${name}: ${text}`);
    tables.push(...(await inFolder((folder) => suite({ ...watch, onProgress, options, folder }))));
  }
  const { version } = JSON.parse(readFileSync(packageFile("package.json"), "utf8"));
  return { machine: thisMachine(version), tables };
}

async function inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "rkat-bench-"));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  // A second Ctrl-C ends the process at once.
  process.once("exit", remove);
  try {
    return await work(folder);
  } finally {
    process.off("exit", remove);
    remove();
  }
}
