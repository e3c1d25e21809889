import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const FOLDER = "examples/hosts";

const EXAMPLES = readdirSync(FOLDER).filter(
  (name) => name.endsWith(".ts") && name !== "local-provider.ts",
);

test.each(EXAMPLES)("the example %s runs without a key", async (name) => {
  const { stdout } = await run(process.execPath, [join(FOLDER, name)]);
  expect(stdout).not.toBe("");
});
