import { stripVTControlCharacters } from "node:util";
import type {
  Reporter,
  SerializedError,
  TestCase,
  TestModule,
  TestSpecification,
  Vitest,
} from "vitest/node";
import { orderSeed, runFailures } from "./run-failures.ts";
import {
  renderFailure,
  renderProgress,
  renderSamples,
  renderSkipped,
  renderSlowest,
} from "./run-report.ts";
import type { Samples } from "./running-test.ts";

declare module "vitest" {
  interface TaskMeta {
    /** Why a test is skipped. */
    skipReason?: string;
    /** What a file says to the person who runs it. */
    notes?: readonly string[];
    /** What it runs a part of: how many, and how many there are. */
    samples?: Samples;
  }
}

const STEP = 10;

/** Prints what a person wants to know of a run: how far it is, what was skipped and why, what is slow, what failed. */
export default class RunReporter implements Reporter {
  #vitest: Vitest | undefined;
  #startedAt = 0;
  #files = 0;
  #filesInAll = 0;
  #tests = 0;
  #failed = 0;
  #step = 0;
  readonly #isTerminal = process.stdout.isTTY && !process.env.CI;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#startedAt = performance.now();
    this.#filesInAll = specifications.length;
    this.#files = this.#tests = this.#failed = this.#step = 0;
    const seed = this.#vitest && orderSeed(this.#vitest);
    if (seed !== undefined) print(`In a random order: --sequence.seed=${seed}`);
  }

  onTestCaseResult(test: TestCase): void {
    this.#tests += 1;
    if (test.result().state === "failed") this.#failed += 1;
    if (this.#isTerminal && this.#tests % 10 === 0) this.#showProgress();
  }

  onTestModuleEnd(): void {
    this.#files += 1;
    const step = Math.floor((STEP * this.#files) / this.#filesInAll);
    if (!this.#isTerminal && step > this.#step) print(this.#progress());
    this.#step = step;
    if (this.#isTerminal) this.#showProgress();
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    if (this.#isTerminal) process.stdout.write("\r\x1b[K");
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const skipped = tests.filter((test) => test.result().state === "skipped");
    const timed = tests.map((test) => ({
      file: test.module.relativeModuleId,
      name: test.fullName,
      ms: test.diagnostic()?.duration ?? 0,
    }));
    const notes = new Set(modules.flatMap((module) => module.meta().notes ?? []));
    const failures = this.#vitest ? runFailures(this.#vitest, modules, errors) : [];
    for (const line of [
      ...notes,
      ...renderSamples(modules.flatMap((module) => module.meta().samples ?? [])),
      ...renderSkipped(skipped.map((test) => ({ name: test.name, reason: this.#reason(test) }))),
      ...renderSlowest(timed.filter(({ ms }) => ms > 0)),
      "",
      ...failures.flatMap(renderFailure),
    ]) {
      print(process.stdout.isTTY ? line : stripVTControlCharacters(line));
    }
  }

  #progress(): string {
    return renderProgress({
      ...{ tests: this.#tests, failed: this.#failed },
      ...{ files: this.#files, filesInAll: this.#filesInAll },
      ms: performance.now() - this.#startedAt,
    });
  }

  #showProgress(): void {
    process.stdout.write(`\r${this.#progress()}\x1b[K`);
  }

  #reason(test: TestCase): string {
    const { note = "" } = test.result() as { readonly note?: string };
    if (note !== "") return note;
    if (this.#vitest?.getGlobalTestNamePattern()) return "not named by -t";
    return (
      test.meta().skipReason ??
      /\(cannot: (.*)\)$/.exec(test.name)?.[1] ??
      "it does not run on this system"
    );
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
