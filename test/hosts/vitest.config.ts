import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

const RKAT = resolve("examples/hosts/node_modules/rkat/dist");

// Vitest keeps a token there, before any test starts. It is not to be in your home.
process.env.XDG_DATA_HOME = resolve("node_modules/.cache");

// The frameworks start rkat with the environment that they have. There, these would be settings that it does not know.
const { RKAT_SEED: seed, RKAT_PATH: path } = process.env;
delete process.env.RKAT_SEED;
delete process.env.RKAT_PATH;

/** `npm run test:hosts`: the adapters with the frameworks' own packages. `npm test` has none of these. */
export default defineConfig(({ mode }) => ({
  // From here, "rkat" is the checkout itself. These tests take the package beside the frameworks.
  resolve: {
    alias: [
      // One of the frameworks brings a copy, which would not have the inputs that a run is given.
      { find: /^fast-check$/, replacement: resolve("node_modules/fast-check/lib/fast-check.js") },
      { find: /^rkat$/, replacement: `${RKAT}/index.js` },
      { find: /^rkat\/(.+)$/, replacement: `${RKAT}/$1.js` },
    ],
  },
  test: {
    include: ["test/hosts/*.test.ts", "test/hosts/bundlers/*.test.ts"],
    globalSetup: "./test/support/own-environment.ts",
    setupFiles: ["./test/support/clean-environment.ts", "./test/support/same-inputs.ts"],
    // Files share the frameworks, whose packages take seconds to load. Tests wait for processes: more workers than cores keep these busy.
    isolate: false,
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    reporters: ["./test/support/run-reporter.ts", "./test/support/closing-line.ts"],
    // In one test, a framework has four whole conversations, each with many processes. Beside other work that takes minutes.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    provide: {
      long: mode === "long",
      seed,
      path,
    },
  },
}));
