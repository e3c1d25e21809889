import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventStoreLaws } from "./event-store-laws.ts";
import { expects, inWords } from "./law.ts";

const open = async () => 0;

async function failure(holds: () => void): Promise<string> {
  const [law] = inWords([{ name: "two is two", holds: async () => holds() }]);
  try {
    await law?.holds(open);
    return "it holds";
  } catch (error) {
    return (error as Error).message;
  }
}

test("a broken law states the expected and the found value in words", async () => {
  const start = 'The law "two is two" does not hold: ';
  expect(await failure(() => assert.equal(3, 2))).toBe(`${start}expected 2, found 3`);
  expect(await failure(() => assert.deepEqual([{ id: "a" }], []))).toBe(
    `${start}expected [], found [ { id: 'a' } ]`,
  );
  expect(await failure(() => assert.notEqual(2, 2))).toBe(
    `${start}expected anything but 2, found 2`,
  );
  expect(await failure(() => assert.equal(1, 2, "one of two"))).toBe(
    `${start}expected 2, found 1: one of two`,
  );
  expect(await failure(() => assert.ok(false, "a score above 1"))).toBe(`${start}a score above 1`);
  expect(await failure(() => expects(3 < 2, "a score below 2", 3))).toBe(
    `${start}expected a score below 2, found 3`,
  );
  expect(await failure(() => {})).toBe("it holds");
});

test("a broken law of a table in a table says so once", async () => {
  const law = eventStoreLaws.find(({ name }) => name.startsWith("text of every script"));
  const store = { append: async () => 1, search: async () => [] };
  const failed = law?.holds(async () => store as never);
  await expect(failed).rejects.toThrow(/^The law (?!.*does not hold.*does not hold)/s);
});

test("no law has a bare condition", () => {
  const bare = globSync("src/testing/*-laws.ts").filter((file) =>
    /\bassert(?:\.ok)?\(/.test(readFileSync(file, "utf8")),
  );
  expect(bare).toEqual([]);
});
