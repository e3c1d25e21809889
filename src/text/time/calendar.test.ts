import { expect, test } from "vitest";
import { instant, timeSpan } from "./calendar.ts";

test("a time without a zone is UTC", () => {
  expect(instant("2025-01-10T09:00")).toBe(Date.UTC(2025, 0, 10, 9));
  expect(instant("2025-01-10T09:00+02:00")).toBe(Date.UTC(2025, 0, 10, 7));
  expect(instant(undefined)).toBeNaN();
});

test("a day as the upper bound is all of that day", () => {
  const { since, until } = timeSpan({ since: "2025-01-10", until: "2025-01-10" });
  expect(until - since).toBe(86_399_999);
  expect(timeSpan({})).toEqual({ since: -Infinity, until: Infinity });
});
