import { defineConfig } from "vitest/config";
import failing from "./vitest.config.ts";

/** A file that passes, and one that fails. */
export default defineConfig({
  test: { ...failing.test, include: ["test/support/failing-tests/{failing,passing}.ts"] },
});
