import { expect, test } from "vitest";
import { vectorProblem } from "./vector-codes.ts";

test("a vector that cannot be compared is refused, and why is said", () => {
  expect(vectorProblem(Float32Array.of(0.6, 0.8), 2)).toBeUndefined();
  expect(vectorProblem(undefined, 2)).toMatch(/no vector/);
  expect(vectorProblem(Float32Array.of(1), 2)).toMatch(/1 dimensions instead of 2/);
  expect(vectorProblem(Float32Array.of(1, Number.NaN), 2)).toMatch(/numbers that are none/);
  expect(vectorProblem(Float32Array.of(Number.POSITIVE_INFINITY, 0), 2)).toMatch(/numbers/);
  expect(vectorProblem(new Float32Array(2), 2)).toMatch(/zeros/);
  expect(vectorProblem(new Float32Array(5000).fill(1), 5000)).toMatch(/4096 are the most/);
});
