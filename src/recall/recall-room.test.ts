import { expect, test } from "vitest";
import { recallRoom } from "./recall-room.ts";

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
