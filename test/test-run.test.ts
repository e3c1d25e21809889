import { once } from "node:events";
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { temporaryFolder } from "./support/obey.ts";
import { spawn } from "./support/start-process.ts";
import { LONG } from "./support/trials.ts";

/** Runs a command of a shell, and returns what it prints. */
async function shell(command: string): Promise<string> {
  const child = spawn("sh", ["-c", `${command} 2>&1`], { stdio: ["ignore", "pipe", "ignore"] });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  expect(code).toBe(1);
  return printed;
}

const FILE = "test/support/failing-tests/failing.ts";
const RUN = "npx vitest run --config test/support/failing-tests/vitest.config.ts";

// Takes over two seconds: it is a run of Vitest.
test("a red run ends with each failure and the command that repeats it, then the closing line", async () => {
  const printed = await shell(RUN);
  const blocks = printed.split(/\n(?=✗ )/);
  const [before = "", ...failures] = blocks;
  expect(before).toContain("Skipped: 1\n  1 this is not that machine (a test of another machine)");
  expect(before).toContain("Slowest:\n");
  expect(printed.trimEnd().split("\n").at(-1)).toBe("2 passed, 7 failed, 1 skipped");
  const found = (title: string) =>
    failures.find((block) => block.startsWith(`✗ ${FILE}${title}\n`));
  expect(found(` > it's a group > a "difference" of $HOME`)).toMatch(
    /port.: 2.*failing.ts:12:\d+/s,
  );
  const property = found(" > it's a group > a property") ?? "";
  expect(property).toContain("Counterexample: [100]");
  expect(found(" > a line on the console")).toContain("A line.");
  expect(found(" > a warning that nothing expects")).toMatch(/Mind the gap.*failing.ts:19:\d+/s);
  expect(found(" > a warning that does not come")).toContain("/the train/");
  expect(found(" > a child that prints where the tests print")).toContain("A child fell.");
  expect(found("")).toContain(
    'Too late.\n    (after the end of "a warning that comes after the end")',
  );
  const repeat = /Repeat: (.*)/.exec(property)?.[1] ?? "";
  expect(repeat).toMatch(/^RKAT_SEED=20260 RKAT_PATH=[\d:]+ npx vitest run /);
  // In the short form, repeat-command.test.ts holds what the command says.
  if (!LONG) return;
  const again = await shell(repeat);
  expect(again).toContain("Property failed after 1 tests");
  expect(again.trimEnd().split("\n").at(-1)).toBe("0 passed, 1 failed, 8 skipped");
});

// Takes over two seconds: each is a run of Vitest.
test("a long run goes on where one was stopped: what passed does not run again", async () => {
  const done = join(await temporaryFolder(), "done.jsonl");
  const long = `node test/long/run.ts --config test/support/failing-tests/half-failing.config.ts --done ${done}`;
  expect(await shell(long)).toContain("\n3 passed, 7 failed, 1 skipped");
  // As a run leaves it that is killed while it writes.
  appendFileSync(done, '{"file":"test/supp');
  const again = await shell(long);
  expect(again).toMatch(/^Files that passed before, and do not run again: 1\n/);
  expect(again).toContain("\n2 passed, 7 failed, 1 skipped");
  expect(again).toMatch(/All files that passed on this commit, 1: 1 passed, 0 skipped, \d+ s\n$/);
});

test("a long run that is told to end leaves none of its processes behind", async () => {
  const done = join(await temporaryFolder(), "done.jsonl");
  const config = "test/support/failing-tests/endless.config.ts";
  const run = spawn(process.execPath, ["test/long/run.ts", "--config", config, "--done", done], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr] = [run.stdout, run.stderr].map(text);
  await expect.poll(() => existsSync(`${done}.begun`)).toBe(true);
  run.kill("SIGTERM");
  const [code] = await once(run, "exit");
  expect(code).not.toBe(0);
  // Each process of the run has both, so they end with the last one.
  await Promise.all([stdout, stderr]);
});
