import fc from "fast-check";
import { expect, test } from "vitest";
import { readQuestion } from "./question.ts";
import {
  completeRelevance,
  confidenceOf,
  floorOf,
  reportedScore,
  scoreOf,
  unreportedScore,
} from "./score.ts";

const asked = (words: number) =>
  readQuestion(Array.from({ length: words }, (_, index) => `word${index}`).join(" "));

test("all words of a question in one passage give 0.8, however many they are", () => {
  for (const words of [1, 2, 5, 20]) expect(scoreOf(1, asked(words))).toBeCloseTo(0.8, 2);
});

test("the least score of an entry with all words is above every floor", () => {
  const most = floorOf({ passages: 1e9, sessions: 1e9 });
  for (const words of [1, 2, 5, 20]) {
    expect(scoreOf(completeRelevance(asked(words)), asked(words))).toBeGreaterThan(most);
  }
});

test("the same share is worth more of a longer question", () => {
  const scores = [1, 2, 4, 8, 16].map((words) => scoreOf(0.4, asked(words)));
  expect(scores).toEqual(scores.toSorted((one, other) => one - other));
  expect(scores[0]).toBeLessThan(0.3);
  expect(scores[4]).toBeGreaterThan(0.3);
});

test("scores are from 0 to 1 and keep the order of relevances", () => {
  const relevance = fc.double({ min: 0.001, max: 3, noNaN: true });
  fc.assert(
    fc.property(relevance, relevance, fc.integer({ min: 1, max: 64 }), (one, other, words) => {
      const question = asked(words);
      const [score, others] = [scoreOf(one, question), scoreOf(other, question)];
      expect(score).toBeGreaterThanOrEqual(0);
      expect(score).toBeLessThanOrEqual(1);
      if (one < other) expect(score).toBeLessThanOrEqual(others);
    }),
  );
});

test("a question is sure to be about what is here when one session has all of its words", () => {
  expect(confidenceOf({ bestCovered: 1, namesSpeaker: false })).toBe(1);
  expect(confidenceOf({ bestCovered: 0.25, namesSpeaker: false })).toBe(0.5);
  expect(confidenceOf({ bestCovered: 0.25, namesSpeaker: true })).toBe(0.75);
});

test("a reported score keeps the order, stays below 0.95, and can be read back", () => {
  const score = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(score, score, (one, other) => {
      const [low, high] = [Math.min(one, other), Math.max(one, other)];
      expect(reportedScore(low)).toBeLessThanOrEqual(reportedScore(high));
      expect(reportedScore(high)).toBeLessThanOrEqual(0.95);
      expect(unreportedScore(reportedScore(one))).toBeCloseTo(one, 10);
    }),
  );
  expect(reportedScore(0.3)).toBe(0.3);
  expect(unreportedScore(0.96)).toBeGreaterThan(1);
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
