import fc from "fast-check";
import { expect, test } from "vitest";
import { bestFirst } from "./best-first.ts";
import { passageScores, type WordPlaces } from "./passage-scores.ts";

function word(...said: readonly { passage: number; asks?: boolean }[]): WordPlaces {
  return {
    said: said.map(({ passage, asks = false }) => ({ passage, asks })),
    named: [],
    dated: [],
  };
}

test("a passage with all words of the question covers it whole", () => {
  const scores = passageScores([word({ passage: 5 }), word({ passage: 5 })], 100);
  expect(scores.get(5)).toBeCloseTo(1);
});

test("a rare word counts more than a frequent one", () => {
  const frequent = word(...Array.from({ length: 50 }, (_, index) => ({ passage: 10 * index })));
  const scores = passageScores([frequent, word({ passage: 905 })], 1000);
  expect(scores.get(905)).toBeGreaterThan(scores.get(10) ?? 1);
});

test("the answer to a question has some of the question's words", () => {
  const scores = passageScores([word({ passage: 5, asks: true })], 100);
  expect([...scores.keys()].sort()).toEqual([5, 6]);
  expect(scores.get(6)).toBeCloseTo(0.6);
});

test("words around a passage count a little, but make no result of it", () => {
  const scores = passageScores([word({ passage: 5 }), word({ passage: 6 })], 100);
  expect([...scores.keys()].sort()).toEqual([5, 6]);
  expect(scores.get(5)).toBeCloseTo(0.6);
});

test("scores are between 0 and 1", () => {
  const places = fc.array(fc.record({ passage: fc.nat(40), asks: fc.boolean() }), { maxLength: 8 });
  const asked = fc.array(fc.record({ said: places, named: places, dated: places }), {
    maxLength: 6,
  });
  fc.assert(
    fc.property(asked, fc.nat(50), (words, passages) => {
      for (const score of passageScores(words, passages).values()) {
        expect(score).toBeGreaterThan(0);
        expect(score).toBeLessThanOrEqual(1 + 1e-9);
      }
    }),
  );
});

test("best first is what sorting gives", () => {
  const values = fc.array(fc.tuple(fc.nat(100), fc.double({ min: 0, max: 1, noNaN: true })));
  fc.assert(
    fc.property(values, (items) => {
      const map = new Map(items);
      const sorted = [...map].sort((one, other) => other[1] - one[1] || one[0] - other[0]);
      expect([...bestFirst(map)]).toEqual(sorted);
    }),
  );
});
