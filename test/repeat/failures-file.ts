import { appendFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule, Vitest } from "vitest/node";
import { runFailures } from "../support/run-failures.ts";

/** A line of the file. */
export interface FailureRecord {
  readonly title: string;
  readonly message: string;
  /** The command that repeats it. */
  readonly command: string;
}

/** Writes what failed into the file that `RKAT_FAILURES_FILE` names, for the program that counts over many runs. */
export default class FailuresFile implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const path = process.env.RKAT_FAILURES_FILE;
    if (!this.#vitest || path === undefined) return;
    for (const { title, errors: found, command } of runFailures(this.#vitest, modules, errors)) {
      const message = found.map((error) => error.message).join("\n");
      const record: FailureRecord = { title, message, command };
      appendFileSync(path, `${JSON.stringify(record)}\n`);
    }
  }
}
