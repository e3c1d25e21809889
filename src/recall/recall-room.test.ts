import { expect, test } from "vitest";
import { recallRoom, withReserved } from "./recall-room.ts";

test("records take at most half of what a compaction freed, so that the request is smaller than before", () => {
  const asked = { threshold: 2_000, expected: 1_200, recalled: 0 };
  expect(recallRoom(asked)).toEqual({ beside: 500, instead: 500 });
  expect(recallRoom({ ...asked, freed: 300 })).toEqual({ beside: 150, instead: 150 });
  expect(recallRoom({ ...asked, freed: 5_000 })).toEqual(recallRoom(asked));
});

test("tokens that stay free for records make a compaction due, and outgrow no window", () => {
  const asked = { reserved: 500, recalled: 200, contextWindow: 3_000 };
  expect(withReserved({ ...asked, expected: 2_400 })).toBe(2_700);
  expect(withReserved({ ...asked, expected: 2_900 })).toBe(2_999);
  expect(withReserved({ ...asked, expected: 3_000 })).toBe(3_000);
  expect(withReserved({ ...asked, expected: 2_400, recalled: 600 })).toBe(2_400);
  expect(withReserved({ expected: 2_400, reserved: 500, recalled: 200 })).toBe(2_700);
});
