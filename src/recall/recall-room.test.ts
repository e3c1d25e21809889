import { expect, test } from "vitest";
import { recallRoom, reservedForRecords } from "./recall-room.ts";

test("records take at most half of what a compaction freed, so that the request is smaller than before", () => {
  const asked = { threshold: 2_000, expected: 600, recalled: 0 };
  expect(recallRoom(asked)).toEqual({ beside: 500, instead: 500 });
  expect(recallRoom({ ...asked, freed: 300 })).toEqual({ beside: 150, instead: 150 });
  expect(recallRoom({ ...asked, freed: 5_000 })).toEqual(recallRoom(asked));
});

test("records make a request longer by at most two thirds of what is free before a prompt", () => {
  expect(recallRoom({ threshold: 2_000, expected: 1_700, recalled: 0 })).toEqual({
    beside: 200,
    instead: 200,
  });
  expect(recallRoom({ threshold: 2_000, expected: 1_850, recalled: 400 })).toEqual({
    beside: 100,
    instead: 500,
  });
  expect(recallRoom({ threshold: 2_000, expected: 2_100, recalled: 0 }).beside).toBeLessThan(1);
});

test("records of all prompts together take what those of one may: a quarter of the threshold", () => {
  const asked = { threshold: 6_400, expected: 3_000 };
  expect(recallRoom({ ...asked, recalled: 0 }).beside).toBe(1_600);
  expect(recallRoom({ ...asked, recalled: 1_000 })).toEqual({ beside: 600, instead: 1_600 });
  expect(recallRoom({ ...asked, recalled: 2_000 }).beside).toBeLessThan(1);
});

test("a summary of people's words leaves records their room, up to four fifths of the threshold", () => {
  const asked = { threshold: 6_400, recallTokens: 1_500 };
  expect(reservedForRecords({ ...asked, summaryTokens: 1_000 })).toBe(1_500);
  expect(reservedForRecords({ ...asked, summaryTokens: 3_600 })).toBe(1_500);
  expect(reservedForRecords({ ...asked, summaryTokens: 4_800 })).toBe(320);
  expect(reservedForRecords({ ...asked, summaryTokens: 5_500 })).toBe(0);
});
