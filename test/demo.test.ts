import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "./support/obey.ts";

test("npm start compacts a conversation at least three times and finds what left, in under 20 seconds", async () => {
  const folder = await temporaryFolder();
  const { stdout } = await promisify(execFile)(process.execPath, ["demo/run.ts", folder], {
    timeout: 20_000,
  });
  expect(stdout.match(/ {2}compaction$/gm)?.length).toBeGreaterThanOrEqual(3);
  expect(stdout).toMatch(/the words that answer them are in none of the \d+ messages/);
  expect(stdout.match(/^✓ [01]\.\d\d {2}turn .+$/gm)?.length).toBeGreaterThanOrEqual(5);
  expect(stdout).not.toContain("✗");
  expect(stdout).not.toContain("\u001b");
  expect(stdout).toContain("npx rkat memory search");
  expect(existsSync(join(folder, ".rkat", "rkat.db"))).toBe(true);
});
