import { join } from "node:path";

/** The program of Vitest, for Node to start. Between it and who starts `npx vitest` is `npx`, which passes no signal on. */
export const VITEST = join("node_modules", "vitest", "vitest.mjs");
