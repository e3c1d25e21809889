import { defineConfig } from "vitest/config";

/** Tests that fail on purpose: `test/test-run.test.ts` reads what is printed of them. */
export default defineConfig({
  test: {
    include: ["test/support/failing-tests/failing.ts"],
    setupFiles: ["./test/support/fail-on-stray-output.ts", "./test/support/same-inputs.ts"],
    reporters: ["./test/support/run-reporter.ts", "./test/support/closing-line.ts"],
    isolate: false,
    provide: { long: false, seed: process.env.RKAT_SEED, path: process.env.RKAT_PATH },
  },
});
