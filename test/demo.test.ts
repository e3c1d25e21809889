import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { RKAT } from "./support/built-package.ts";
import { temporaryFolder } from "./support/obey.ts";
import { execFile } from "./support/start-process.ts";

// Takes over two seconds: it is the demo, a long conversation in a process of its own.
test("npm start compacts a conversation at least three times and finds what left, and keeps what a person typed", async () => {
  const folder = await temporaryFolder();
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, args, {
      timeout: 60_000,
      env: { HOME: join(folder, "home") },
    });
  const { stdout } = await run("demo/run.ts", folder);
  expect(stdout.match(/ {2}compaction$/gm)?.length).toBeGreaterThanOrEqual(3);
  expect(stdout.match(/^✓ in the window: “.+”$/gm)?.length).toBeGreaterThanOrEqual(3);
  expect(stdout).toContain("the words that answer them are in none of those messages");
  expect(stdout.match(/^✓ [01]\.\d\d {2}turn .+$/gm)?.length).toBeGreaterThanOrEqual(4);
  expect(stdout).not.toContain("✗");
  expect(stdout).not.toContain("\u001b");
  const asked = "why not raise the statement timeout";
  expect(stdout).toContain(`npx rkat memory search "${asked}" --dir ${folder}\n`);
  const search = await run(RKAT, "memory", "search", asked, "--dir", folder);
  expect(search.stdout).toMatch(/statement/);
  expect(stdout).toContain(`npx rkat sessions show last --dir ${folder}\n`);
  const shown = await run(RKAT, "sessions", "show", "last", "--dir", folder);
  expect(shown.stdout).toMatch(/\[Context compacted\]/);
  expect(existsSync(join(folder, ".rkat", "rkat.db"))).toBe(true);
});
