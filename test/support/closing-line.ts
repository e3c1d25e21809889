import type { Reporter, TestModule } from "vitest/node";

/** Ends a test run with one plain line that any script can read: `N passed, N failed, N skipped`. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    // A file that does not load, or an error outside of any test, fails the run as a test would.
    const broken = modules.filter((module) => module.state() === "failed" && !module.children.size);
    const failed = count("failed") + broken.length + errors.length;
    process.on("exit", () => {
      console.log(`${count("passed")} passed, ${failed} failed, ${count("skipped")} skipped`);
    });
  }
}
