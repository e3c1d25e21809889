import { once } from "node:events";
import { globSync, mkdirSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { givenSwitches } from "../support/clean-environment.ts";
import { execFileSync, spawn } from "../support/start-process.ts";
import { VITEST } from "../support/vitest-program.ts";
import { readPassed } from "./passed-files.ts";

// `npm run test:long [-- --afresh] [FILE…]`: all tests in their long form. It takes hours, so it goes on where it was
// stopped: a file that passed on this commit does not run again. `--done FILE` keeps elsewhere what passed.

const { values, positionals } = argumentsOrEnd();
const FOLDER = "node_modules/.cache/rkat-long";
const commit = unchangedCommit();
const done = values.done ?? (commit && join(FOLDER, `${commit}.jsonl`));
if (done === undefined) {
  console.log("Not at a commit without changes: what passes now will run again the next time.");
} else {
  if (values.afresh) rmSync(done, { force: true });
  if (values.done === undefined) forgetOthers(done);
  mkdirSync(dirname(done), { recursive: true });
}
const before = done === undefined ? [] : readPassed(done);
if (before.length > 0)
  console.log(`Files that passed before, and do not run again: ${before.length}`);

const reporters = ["./test/support/run-reporter.ts", "./test/long/passed-files.ts"];
const child = spawn(
  process.execPath,
  [
    ...[VITEST, "run", "--mode", "long", "--config", values.config],
    // All of them may have passed before.
    ...(before.length > 0 ? ["--passWithNoTests"] : []),
    ...[...reporters, "./test/support/closing-line.ts"].map((path) => `--reporter=${path}`),
    ...before.map(({ file }) => `--exclude=${file}`),
    ...positionals,
  ],
  {
    env: {
      ...givenSwitches(),
      ...(done === undefined ? {} : { RKAT_PASSED_FILES: resolve(done) }),
    },
    stdio: ["ignore", "inherit", "inherit"],
  },
);
// Vitest ends its tests for this one.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill("SIGINT"));
const [code] = (await once(child, "exit")) as [number | null];
if (before.length > 0 && done !== undefined) {
  const all = readPassed(done);
  const sum = (count: "passed" | "skipped" | "seconds") =>
    all.reduce((total, each) => total + each[count], 0);
  const kinds = Object.groupBy(
    all.flatMap(({ samples }) => Object.entries(samples)),
    ([kind]) => kind,
  );
  for (const [kind, samples = []] of Object.entries(kinds)) {
    console.log(`  ${kind}: ${samples.reduce((total, [, { run }]) => total + run, 0)}`);
  }
  console.log(
    `All files that passed on this commit, ${all.length}: ${sum("passed")} passed, ${sum("skipped")} skipped, ${sum("seconds")} s`,
  );
}
process.exitCode = code ?? 1;

function argumentsOrEnd() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        afresh: { type: "boolean", default: false },
        done: { type: "string" },
        config: { type: "string", default: "vitest.config.ts" },
      },
    });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    console.error("To run one test, use `npx vitest run --mode long FILE -t NAME`.");
    process.exit(2);
  }
}

/** The commit that is checked out, if the files are as they are in it. */
function unchangedCommit(): string | undefined {
  const git = (...args: string[]) =>
    execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  try {
    return git("status", "--porcelain") === "" ? git("rev-parse", "HEAD") : undefined;
  } catch {
    // Not a checkout of git.
    return undefined;
  }
}

/** What passed on other commits says nothing of this one. */
function forgetOthers(kept: string): void {
  for (const file of globSync(`${FOLDER}/*.jsonl`)) {
    if (basename(file) !== basename(kept)) rmSync(file);
  }
}
