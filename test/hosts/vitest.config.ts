import { defineConfig } from "vitest/config";

/** `npm run test:hosts`: the adapters with the frameworks' own packages. `npm test` has none of these. */
export default defineConfig({
  test: {
    include: ["test/hosts/*.test.ts"],
    setupFiles: "./test/support/same-inputs.ts",
    reporters: ["default", "./test/support/closing-line.ts"],
    testTimeout: 60_000,
  },
});
