import { defineConfig } from "vitest/config";
import failing from "./vitest.config.ts";

/** A test that goes on until somebody stops it. */
export default defineConfig({
  test: { ...failing.test, include: ["test/support/failing-tests/endless.ts"] },
});
