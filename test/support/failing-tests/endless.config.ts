import { defineConfig } from "vitest/config";
import failing from "./vitest.config.ts";

/** A test that goes on until it is stopped. */
export default defineConfig({
  test: { ...failing.test, include: ["test/support/failing-tests/endless.ts"] },
});
