import { expect, test } from "vitest";
import { measure } from "./measures.ts";

test("recall is the share of the answers that were found, nDCG and MRR say how early", () => {
  const found = ["x", "a", "y", "b"];
  const { recallAt1, recallAt5, recallAt10, ndcgAt10, reciprocalRank, nothing } = measure(found, {
    text: "",
    relevant: ["a", "b", "c"],
  });
  expect([recallAt1, recallAt5, recallAt10]).toEqual([0, 2 / 3, 2 / 3]);
  expect(reciprocalRank).toBe(1 / 2);
  const best = 1 + 1 / Math.log2(3) + 1 / 2;
  expect(ndcgAt10).toBeCloseTo((1 / Math.log2(3) + 1 / Math.log2(5)) / best);
  expect(nothing).toBe(0);
});

test("all answers first is the best there is, and no result finds nothing", () => {
  const question = { text: "", relevant: ["a", "b"] };
  expect(measure(["b", "a", "x"], question)).toMatchObject({ recallAt5: 1, ndcgAt10: 1 });
  expect(measure([], question)).toMatchObject({ recallAt10: 0, reciprocalRank: 0, nothing: 1 });
});
