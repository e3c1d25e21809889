import { expect, test } from "vitest";
import { repeatPlan } from "./repeat-plan.ts";

const CONDITIONS = ["alone", "busy", "slow-disk"];

function planned(...args: string[]) {
  let seed = 100;
  return repeatPlan(args, CONDITIONS, () => seed++);
}

test("the conditions come by turns, each run with a seed of its own", () => {
  const { runs, files } = planned("--times", "4", "test/a.test.ts", "src");
  expect(files).toEqual(["test/a.test.ts", "src"]);
  expect(runs.map(({ condition, seed }) => `${condition} ${seed}`)).toEqual([
    "alone 100",
    "busy 101",
    "slow-disk 102",
    "alone 103",
  ]);
  expect(runs.some(({ seedsInputs }) => seedsInputs)).toBe(false);
});

test("without a number each condition has one run", () => {
  expect(planned().runs).toHaveLength(3);
});

test("a seed is that of the first run, and of its random inputs", () => {
  const [first, second] = planned("--times", "2", "--seed", "7", "--only", "busy").runs;
  expect(first).toEqual({ condition: "busy", seed: 7, seedsInputs: true });
  expect(second).toEqual({ condition: "busy", seed: 8, seedsInputs: true });
});

test("a wrong option says what is possible", () => {
  expect(() => planned("--only", "wet")).toThrow(
    'There is no condition "wet". There are: alone, busy, slow-disk.',
  );
  expect(() => planned("--times", "often")).toThrow('--times is a whole number, not "often".');
});
