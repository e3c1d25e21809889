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

test.each(EXAMPLES)("the example %s runs without a key", async (name) => {
  const { stdout } = await run(process.execPath, [join(FOLDER, name)]);
  expect(stdout).not.toBe("");
});
