import { expect, test } from "vitest";
import { calibrate, likeness } from "./store-vectors.ts";

test("an embedder whose cosines are all high means the same by them as one whose are low", () => {
  const low = { unrelated: 0.05, related: 0.45 };
  const high = { unrelated: 0.75, related: 0.85 };
  expect(likeness(0.05, low)).toBe(0);
  expect(likeness(-0.2, low)).toBe(0);
  expect(likeness(0.45, low)).toBeCloseTo(1);
  expect(likeness(0.8, high)).toBeCloseTo(likeness(0.25, low));
});

test("an embedder that cannot tell answers from other texts finds nothing alike", () => {
  expect(likeness(0.9, { unrelated: 0.5, related: 0.5 })).toBe(0);
  expect(likeness(0.9, { unrelated: 0.5, related: 0.3 })).toBe(0);
});

test("calibration tells what answers a question from what does not", () => {
  const questions = [Float32Array.of(1, 0), Float32Array.of(0, 1)];
  const answers = [Float32Array.of(0.8, 0.6), Float32Array.of(0.6, 0.8)];
  const { unrelated, related } = calibrate(questions, answers);
  expect(related).toBeCloseTo(0.8);
  expect(unrelated).toBeCloseTo(0.6);
});
