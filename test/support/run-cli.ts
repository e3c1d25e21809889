import { runCli } from "../../src/cli.ts";

/** The `rkat` command as `bin/rkat.js` starts it, without a build. */
await runCli();
