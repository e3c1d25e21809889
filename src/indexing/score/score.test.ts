import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readQuestion } from "./question.ts";
import {
  type Asked,
  completeRelevance,
  confidenceOf,
  floorOf,
  matchOf,
  ODDS,
  reportedMatch,
  scoresOf,
  unreportedMatch,
} from "./score.ts";

const asked = (words: number) =>
  readQuestion(Array.from({ length: words }, (_, index) => `word${index}`).join(" "));

test("all words of a question in one passage give 0.8, however many they are", () => {
  for (const words of [1, 2, 5, 20]) expect(matchOf(1, asked(words))).toBeCloseTo(0.8, 2);
});

test("the least match of an entry with all words is above every floor", () => {
  const most = floorOf({ passages: 1e9, sessions: 1e9 });
  for (const words of [1, 2, 5, 20]) {
    expect(matchOf(completeRelevance(asked(words)), asked(words))).toBeGreaterThan(most);
  }
});

test("the same share is worth more of a longer question", () => {
  const matches = [1, 2, 4, 8, 16].map((words) => matchOf(0.4, asked(words)));
  expect(matches).toEqual(matches.toSorted((one, other) => one - other));
  expect(matches[0]).toBeLessThan(0.3);
  expect(matches[4]).toBeGreaterThan(0.3);
});

test("matches are from 0 to 1 and keep the order of relevances", () => {
  const relevance = fc.double({ min: 0.001, max: 3, noNaN: true });
  fc.assert(
    fc.property(relevance, relevance, fc.integer({ min: 1, max: 64 }), (one, other, words) => {
      const question = asked(words);
      const [match, others] = [matchOf(one, question), matchOf(other, question)];
      expect(match).toBeGreaterThanOrEqual(0);
      expect(match).toBeLessThanOrEqual(1);
      if (one < other) expect(match).toBeLessThanOrEqual(others);
    }),
  );
});

test("a question is sure to be about what is here when one session has all of its words", () => {
  expect(confidenceOf({ bestCovered: 1, namesSpeaker: false })).toBe(1);
  expect(confidenceOf({ bestCovered: 0.25, namesSpeaker: false })).toBe(0.5);
  expect(confidenceOf({ bestCovered: 0.25, namesSpeaker: true })).toBe(0.75);
});

test("a reported match keeps the order, stays below 0.95, and can be read back", () => {
  const match = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(match, match, (one, other) => {
      const [low, high] = [Math.min(one, other), Math.max(one, other)];
      expect(reportedMatch(low)).toBeLessThanOrEqual(reportedMatch(high));
      expect(reportedMatch(high)).toBeLessThanOrEqual(0.95);
      expect(unreportedMatch(reportedMatch(one))).toBeCloseTo(one, 10);
    }),
  );
  expect(reportedMatch(0.3)).toBe(0.3);
  expect(unreportedMatch(0.96)).toBeGreaterThan(1);
});

test("the floor grows with the store, within bounds", () => {
  const floors = (
    counts: readonly number[],
    of: (count: number) => Parameters<typeof floorOf>[0],
  ) => counts.map((count) => Math.round(100 * floorOf(of(count))) / 100);
  const passages = [0, 1, 10, 30, 100, 300, 1_000_000];
  expect(floors(passages, (count) => ({ passages: count, sessions: 3 }))).toEqual([
    0.08, 0.08, 0.08, 0.16, 0.24, 0.3, 0.3,
  ]);
  const sessions = [30, 50, 75, 100_000];
  expect(floors(sessions, (count) => ({ passages: 10_000, sessions: count }))).toEqual([
    0.3, 0.32, 0.34, 0.34,
  ]);
});

describe("how sure results are", () => {
  const of = (passages: number, rest: Partial<Asked> = {}): Asked => ({
    ...{ words: 3, passages, floor: floorOf({ passages, sessions: 1 }) },
    ...rest,
  });

  test("a result that leads is sure, one among equals is not, and one with little of the question is not", () => {
    for (const passages of [1, 100, 100_000]) {
      expect(scoresOf([0.9, 0.4], of(passages))[0]).toBeGreaterThan(0.7);
      expect(scoresOf([0.9, 0.89, 0.88], of(passages))[0]).toBeLessThan(0.7);
      expect(scoresOf([0.45], of(passages))[0]).toBeLessThanOrEqual(0.45);
    }
  });

  test("scores keep the order of matches, and are from 0 to 0.95", () => {
    const matches = fc.array(fc.double({ min: 0.01, max: 1, noNaN: true }), { maxLength: 12 });
    fc.assert(
      fc.property(
        matches,
        fc.nat(20),
        fc.nat(1_000_000),
        fc.boolean(),
        (some, words, passages, namesSpeaker) => {
          const best = some.toSorted((one, other) => other - one);
          for (const odds of Object.values(ODDS)) {
            const scores = scoresOf(best, of(passages, { words, namesSpeaker }), odds);
            expect(scores).toEqual(scores.toSorted((one, other) => other - one));
            expect(scores.every((score) => score > 0 && score <= 0.95)).toBe(true);
          }
        },
      ),
    );
  });
});
