import { appendFileSync, readFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";
import type { Samples } from "../support/running-test.ts";

/** A test file that ran whole and passed: a line of what a long run keeps. */
export interface PassedFile {
  readonly file: string;
  readonly passed: number;
  readonly skipped: number;
  readonly seconds: number;
  readonly samples: Samples;
}

/** Adds each file that passes to the one that `RKAT_PASSED_FILES` names, as soon as it has ended. */
export default class PassedFiles implements Reporter {
  onTestModuleEnd(module: TestModule): void {
    const path = process.env.RKAT_PASSED_FILES;
    if (path === undefined || !module.ok()) return;
    const tests = [...module.children.allTests()];
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const record: PassedFile = {
      file: module.relativeModuleId,
      passed: count("passed"),
      skipped: count("skipped"),
      seconds: Math.round(module.diagnostic().duration / 1000),
      samples: module.meta().samples ?? {},
    };
    appendFileSync(path, `${JSON.stringify(record)}\n`);
  }
}

/** What passed before. A run that was killed may have left half a line. */
export function readPassed(path: string): PassedFile[] {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as PassedFile);
}
