import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

const RKAT = resolve("examples/hosts/node_modules/rkat/dist");

/** `npm run test:hosts`: the adapters with the frameworks' own packages. `npm test` has none of these. */
export default defineConfig(({ mode }) => ({
  // From here, "rkat" is the checkout itself. These tests take the package beside the frameworks.
  resolve: {
    alias: [
      { find: /^rkat$/, replacement: `${RKAT}/index.js` },
      { find: /^rkat\/(.+)$/, replacement: `${RKAT}/$1.js` },
    ],
  },
  test: {
    include: ["test/hosts/*.test.ts"],
    setupFiles: "./test/support/same-inputs.ts",
    reporters: ["default", "./test/support/closing-line.ts"],
    testTimeout: 60_000,
    provide: { long: mode === "long" },
  },
}));
