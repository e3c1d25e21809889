import { expect, test } from "vitest";
import { recallRoom } from "./recall-room.ts";

test("earlier records make room only where little was said behind them", () => {
  const full = { threshold: 2_000, expected: 1_900, recalled: 600 };
  expect(recallRoom({ ...full, behind: 250 })).toEqual({ beside: 66, instead: 500 });
  expect(recallRoom({ ...full, behind: 251 })).toEqual({ beside: 66, instead: 0 });
});

test("records in the place of earlier ones have no more tokens than these", () => {
  const few = { threshold: 2_000, expected: 1_900, recalled: 120 };
  expect(recallRoom(few)).toEqual({ beside: 100, instead: 120 });
});

test("records take at most half of what a compaction freed, so that the request is smaller than before", () => {
  const asked = { threshold: 2_000, expected: 1_200, recalled: 0 };
  expect(recallRoom(asked)).toEqual({ beside: 500, instead: 0 });
  expect(recallRoom({ ...asked, freed: 300 })).toEqual({ beside: 150, instead: 0 });
  expect(recallRoom({ ...asked, freed: 5_000 })).toEqual(recallRoom(asked));
});
