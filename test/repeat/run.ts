import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { givenSwitches } from "../support/clean-environment.ts";
import { spawn } from "../support/start-process.ts";
import { VITEST } from "../support/vitest-program.ts";
import { CONDITIONS, type StartedCondition } from "./conditions.ts";
import type { FailureRecord } from "./failures-file.ts";
import { type PlannedRun, repeatPlan } from "./repeat-plan.ts";

// `npm run test:repeat -- --times 20 [--seed N] [--only CONDITION] [FILE…]`: the tests in a random order, again and
// again, as a machine runs them that is busy, small or slow. A test that fails once in twenty runs has a cause.

const names = CONDITIONS.map(({ name }) => name);
const randomSeed = () => Math.floor(Math.random() * 1e9);
const plan = planOrEnd();
const switches = givenSwitches();
const folder = mkdtempSync(join(tmpdir(), "rkat-repeat-"));
let condition: StartedCondition | undefined;
let isStopped = false;
const failures = new Map<string, (FailureRecord & { readonly run: PlannedRun })[]>();

process.on("exit", () => {
  condition?.end();
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    isStopped = true;
  });
}

let done = 0;
for (const [at, run] of plan.runs.entries()) {
  if (isStopped) break;
  await runOnce(run, `Run ${at + 1} of ${plan.runs.length}`);
}
report();

function planOrEnd() {
  try {
    return repeatPlan(process.argv.slice(2), names, randomSeed);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  }
}

async function runOnce(run: PlannedRun, title: string): Promise<void> {
  const startedAt = performance.now();
  condition = CONDITIONS.find(({ name }) => name === run.condition)?.start(folder);
  const { before = [], env = {} } = condition ?? {};
  console.log(`${title}: ${run.condition}, --seed ${run.seed}`);
  const file = join(folder, `failures-${done}.jsonl`);
  const own = ["./test/repeat/failures-file.ts", "./test/support/closing-line.ts"];
  const [program = "", ...args] = [
    ...before,
    ...[process.execPath, VITEST, "run", ...plan.files],
    ...["--sequence.shuffle.files", "--sequence.shuffle.tests", `--sequence.seed=${run.seed}`],
    ...own.map((reporter) => `--reporter=${reporter}`),
  ];
  const child = spawn(program, args, {
    env: {
      ...switches,
      ...env,
      RKAT_FAILURES_FILE: file,
      ...(run.seedsInputs ? { RKAT_SEED: String(run.seed) } : {}),
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const forward = () => void child.kill("SIGINT");
  process.once("SIGINT", forward).once("SIGTERM", forward);
  const [code] = (await once(child, "exit")) as [number | null];
  process.off("SIGINT", forward).off("SIGTERM", forward);
  condition?.end();
  condition = undefined;
  done += 1;
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const found = readFailures(file);
  if (code !== 0 && found.length === 0 && !isStopped) {
    found.push({
      title: "the run itself",
      message: `It ended with ${code}.`,
      command: args.join(" "),
    });
  }
  for (const failure of found) {
    failures.set(failure.title, [...(failures.get(failure.title) ?? []), { ...failure, run }]);
  }
  console.log(`  ${found.length} failed, ${seconds} s`);
}

function readFailures(file: string): FailureRecord[] {
  try {
    const lines = readFileSync(file, "utf8").trimEnd().split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line) as FailureRecord);
  } catch {
    return [];
  }
}

function report(): void {
  for (const [title, times] of failures) {
    console.log(`\n✗ ${title}: failed in ${times.length} of ${done} runs`);
    for (const { run, message, command } of times) {
      console.log(`  ${run.condition}, --seed ${run.seed}: ${message.split("\n", 2).join(" ")}`);
      console.log(`    Repeat: ${command}`);
    }
  }
  const failed = [...failures.values()].reduce((sum, times) => sum + times.length, 0);
  console.log(`\n${done} runs, ${failed} failures${isStopped ? ", stopped" : ""}`);
  process.exitCode = failed > 0 || isStopped ? 1 : 0;
}
