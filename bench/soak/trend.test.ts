import { expect, test } from "vitest";
import { randomFrom } from "../data/random.ts";
import { trendOf } from "./trend.ts";

/** A saw, as the memory of a process with a collector is. */
function saw(leakPerMoment: number): number[] {
  const random = randomFrom(1);
  return Array.from({ length: 90 }, (_, at) => 150 + 15 * random() + leakPerMoment * at);
}

const trend = (values: readonly number[]) =>
  trendOf({ name: "memory", unit: "MB", values, most: 0.1 });

test("a saw is flat, and a leak of a quarter below it is not", () => {
  expect(trend(saw(0)).isFlat).toBe(true);
  expect(trend(saw(0.7))).toMatchObject({ isFlat: false });
});

test("what grows only while caches fill is flat, and so is what falls", () => {
  expect(trend([...saw(3).slice(0, 30), ...saw(0)]).isFlat).toBe(true);
  expect(trend(saw(-0.7)).isFlat).toBe(true);
});

test("a few slow moments at the end are no trend", () => {
  const values = [...saw(0).slice(0, 84), ...Array.from({ length: 6 }, () => 900)];
  expect(trend(values).isFlat).toBe(true);
});

test("one file more every third moment is seen", () => {
  const values = Array.from({ length: 90 }, (_, at) => 40 + Math.floor(at / 3));
  expect(trend(values)).toMatchObject({ median: 60, isFlat: false });
});
