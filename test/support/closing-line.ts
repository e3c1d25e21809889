import type { Reporter, TestModule } from "vitest/node";

/** Ends a test run with one plain line that any script can read: `N passed, N failed, N skipped`. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    // A file that does not load, a hook that fails, or an error outside of any test fails the run as a test would.
    const around = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const broken = around.filter((suite) => suite.errors().length > 0);
    const failed = count("failed") + broken.length + errors.length;
    process.on("exit", () => {
      console.log(`${count("passed")} passed, ${failed} failed, ${count("skipped")} skipped`);
    });
  }
}
