import { expect, test } from "vitest";
import { repeatCommand } from "./repeat-command.ts";
import { execFileSync } from "./start-process.ts";

/** The words that `sh` makes of a command. */
function wordsOf(command: string): string[] {
  const words = execFileSync("sh", ["-c", `printf '%s\\0' ${command}`], { encoding: "utf8" });
  return words.split("\0").slice(0, -1);
}

test.each([
  'the cat\'s `rm -rf` $HOME "quoted" \\ and more',
  "a (b|c) [d] {2} 1+1=2? * ^x$ . /",
  "ümlaut, 日本語, 😀",
  "two\nlines\tand a tab",
])("the command for %j names that test and no other", (name) => {
  const words = wordsOf(repeatCommand({ file: "test/a file.test.ts", test: `group ${name}` }));
  expect(words.slice(0, 5)).toEqual(["npx", "vitest", "run", "test/a file.test.ts", "-t"]);
  const pattern = new RegExp(words[5] ?? "");
  expect(pattern.test(`group ${name}`)).toBe(true);
  expect(pattern.test(`group ${name} too`)).toBe(false);
  expect(pattern.test(`another group ${name}`)).toBe(false);
});

test("the inputs of a property come with it: the seed, and the path to the smallest", () => {
  const message = `Property failed after 3 tests
{ seed: -20260, path: "2:1:0", endOnFailure: true }
Counterexample: ["a"]`;
  expect(repeatCommand({ file: "a.test.ts", test: "b", message, isLong: true })).toBe(
    "RKAT_SEED=-20260 RKAT_PATH=2:1:0 npx vitest run a.test.ts --mode long -t '^b$'",
  );
});

test("a file that ran in a random order is run again in that order", () => {
  expect(repeatCommand({ file: "a.test.ts", test: "b", orderSeed: 7 })).toBe(
    "npx vitest run a.test.ts --sequence.shuffle.tests --sequence.seed=7",
  );
});

test("a property that failed in a random order is run alone: no other has inputs of that path", () => {
  const message = '{ seed: 7, path: "1:0", endOnFailure: true }';
  expect(repeatCommand({ file: "a.test.ts", test: "b", message, orderSeed: 7 })).toBe(
    "RKAT_SEED=7 RKAT_PATH=1:0 npx vitest run a.test.ts -t '^b$'",
  );
});

test("a file that fails outside of its tests is run whole", () => {
  const config = "test/hosts/vitest.config.ts";
  expect(repeatCommand({ file: "a.test.ts", config })).toBe(
    "npx vitest run a.test.ts --config test/hosts/vitest.config.ts",
  );
});
