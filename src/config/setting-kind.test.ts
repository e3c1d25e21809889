import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "./setting-kind.ts";

test("a time is spelled in hours, minutes, seconds, or plain seconds", () => {
  const times = {
    "90s": 90_000,
    "1h30m": 5_400_000,
    "45": 45_000,
    "0.5": 500,
    "250ms": 250,
    "2m": 120_000,
  };
  for (const [text, ms] of Object.entries(times)) expect(parseDuration(text)).toBe(ms);
  expect(parseDuration(45)).toBe(45_000);
});

test("a text that is no time is refused", () => {
  for (const text of ["", "soon", "-3s", "1d", "s", "30m1h", "0", "0s", Number.NaN, true, "1e9"]) {
    expect(parseDuration(text)).toBeUndefined();
  }
});

test("every time is spelled so that it is read back", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 ** 12 }), (ms) => {
      expect(parseDuration(formatDuration(ms))).toBe(ms);
    }),
  );
});
