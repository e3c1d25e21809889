import { expect, test } from "vitest";
import { dateWords, namedTime, saysWhen } from "./named-time.ts";

/** A Wednesday. */
const NEWEST = Date.parse("2024-05-15T12:00Z");

test.each([
  ["What happened in June 2023?", "2023-06-30", true],
  ["What happened in June 2023?", "2022-06-30", false],
  ["the trip in may", "2019-05-01", true],
  ["May 3 release", "2024-05-31", true],
  ["the trip in may", "2024-06-01", false],
  ["who called on 2024-02-29?", "2024-02-29T23:59Z", true],
  ["who called on 2024-02-29?", "2024-03-01", false],
  ["what did I say today", "2024-05-15T00:00Z", true],
  ["what did I say yesterday", "2024-05-14T23:59Z", true],
  ["what did I say yesterday", "2024-05-15T00:00Z", false],
  ["plans from this week", "2024-05-13", true],
  ["plans from last week", "2024-05-06", true],
  ["plans from last week", "2024-05-13", false],
  ["who came last month?", "2024-04-30", true],
  ["who came last month?", "2024-05-01", false],
  ["the year's end, last year", "2023-12-31", true],
  ["who came three days ago?", "2024-05-12", true],
  ["who came 2 weeks ago?", "2024-05-01", true],
  ["who came a month ago?", "2024-04-10", true],
  ["who came a month ago?", "2024-02-10", false],
])("%s %s: %s", (query, time, expected) => {
  expect(namedTime(query)?.(Date.parse(time), NEWEST)).toBe(expected);
});

test.each(["what may happen", "long ago", "many moons ago", "on 2024-13-41", ""])(
  "no time is named: %s",
  (query) => {
    expect(namedTime(query)).toBeUndefined();
  },
);

test("an entry without a time is from no time that is named", () => {
  expect(namedTime("last week")?.(Number.NaN, NEWEST)).toBe(false);
});

test("a date is found by its year, month and day", () => {
  expect(dateWords("2023-05-08T13:56")).toEqual(["2023", "may", "8"]);
  expect(dateWords("yesterday")).toEqual([]);
  expect(dateWords(undefined)).toEqual([]);
});

test("a text says when, or does not", () => {
  expect(saysWhen("We met two years ago.")).toBe(true);
  expect(saysWhen("We met at the harbour.")).toBe(false);
});
