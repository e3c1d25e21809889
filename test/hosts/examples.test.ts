import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { execFile } from "../support/start-process.ts";

const run = promisify(execFile);
const FOLDER = "examples/hosts";

/** What the examples share. */
const PARTS = ["find-again.ts", "local-provider.ts"];

const EXAMPLES = readdirSync(FOLDER).filter(
  (name) => name.endsWith(".ts") && !PARTS.includes(name),
);

/** For a coding agent's own program, which starts slowly. */
const TIMEOUT_MS = 240_000;

test.each(EXAMPLES)("the example %s runs without a key", { timeout: TIMEOUT_MS }, async (name) => {
  const { stdout } = await run(process.execPath, [join(FOLDER, name)]);
  expect(stdout).not.toBe("");
});
