import { expect, test } from "vitest";
import { nowByOffset, nowHere } from "../text/time/calendar.ts";
import { askedAt, askedPastEnd } from "./memory-search.ts";

const AT = "2026-11-26T10:00:00Z";

test.each([
  ["where did Leo live in June", "2026-07-01"],
  ["what was the port last week", "2026-11-23"],
  ["the port two weeks ago", "2026-11-16"],
  ["Wo war der Server im Mai?", "2026-06-01"],
  ["Quel était le code en juin ?", "2026-07-01"],
  ["¿Dónde estaba la oficina en abril?", "2026-05-01"],
  ["Где был офис в мае?", "2026-06-01"],
])("%s: what was said from %s on tells what came later", (question, day) => {
  expect(askedPastEnd(question, AT)).toBe(Date.parse(day));
});

test.each([
  // It may be to come.
  "where do we go in June",
  "who is on call on Tuesday",
  // It has not ended.
  "what was said since June",
  "what was said this week",
  "where did Leo live",
])("%s: is about no time that has ended", (question) => {
  expect(askedPastEnd(question, AT)).toBeUndefined();
});

test("without a time at which it was asked, nothing is past", () => {
  expect(askedPastEnd("where did Leo live in June", "soon")).toBeUndefined();
});

test("only a question with a time in it is asked in a zone with a name", () => {
  const now = new Date(AT);
  expect(askedAt("where did Leo live", now)).toBe(nowByOffset(now));
  expect(askedAt("what was the port last week", now)).toBe(nowHere(now));
});
