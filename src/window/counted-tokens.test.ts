import { expect, test } from "vitest";
import { CountedTokens } from "./counted-tokens.ts";

function counts(...known: readonly (readonly [estimated: number, counted: number])[]) {
  const tokens = new CountedTokens();
  for (const [estimated, inputTokens] of known) tokens.counted({ estimated, inputTokens });
  return tokens;
}

test("without a count, the estimate counts", () => {
  expect(counts().expected(7_000)).toBe(7_000);
});

test("tools that the estimate does not see count once, however long the history gets", () => {
  const tokens = counts([500, 17_500]);
  expect(tokens.expected(3_000)).toBe(20_000);
  tokens.historyChanged();
  expect(tokens.expected(3_000)).toBe(20_000);
});

test("a growth that the provider counts higher is expected of the next growth too", () => {
  const tokens = counts([2_000, 2_600], [4_000, 6_600]);
  expect(tokens.expected(5_000)).toBe(8_600);
  tokens.historyChanged();
  expect(tokens.expected(5_000)).toBe(10_000);
});

test("a factor rises at once and falls slowly, also below 1", () => {
  const tokens = counts([2_000, 2_000], [4_000, 6_000], [6_000, 7_600]);
  expect(tokens.expected(7_000)).toBeGreaterThan(9_300);
  const low = counts([1_000, 1_600]);
  for (let estimated = 2_000; estimated < 60_000; estimated += 1_000) {
    low.counted({ estimated, inputTokens: 800 + 0.8 * estimated });
  }
  low.historyChanged();
  expect(low.expected(50_000)).toBeLessThan(41_000);
  expect(low.expected(50_000)).toBeGreaterThan(40_000);
});

test("a provider that counts less than the estimate is believed, down to 80 % of it", () => {
  expect(counts([10_000, 9_000]).expected(10_500)).toBe(9_500);
  expect(counts([10_000, 7_000]).expected(10_000)).toBe(8_000);
});

test("a count without the cached tokens teaches nothing", () => {
  expect(counts([10_000, 900], [12_000, 300]).expected(12_000)).toBe(12_000);
});

test("a refusal teaches, and teaches more when it comes again", () => {
  const tokens = counts([50_000, 50_000]);
  tokens.refused({ estimated: 50_000, inputTokens: 100_000 });
  expect(tokens.expected(50_000)).toBe(100_000);
  tokens.refused({ estimated: 50_000, inputTokens: 100_000 });
  expect(tokens.expected(50_000)).toBeGreaterThan(105_000);
});
