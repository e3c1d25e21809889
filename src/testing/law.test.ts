import assert from "node:assert/strict";
import { expect, test } from "vitest";
import { inWords } from "./law.ts";

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

test("a broken law says in words what it expected and what it found", async () => {
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
  expect(await failure(() => {})).toBe("it holds");
});
