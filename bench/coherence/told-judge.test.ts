import { expect, test } from "vitest";
import { says, saysWhen, saysWho } from "./told-judge.ts";

const TEXT = [
  "I want berth 47.",
  "• [by Ana; said] Hello.  I want",
  "• [by Ben] I want berth 12. Ana too.",
  "Session a1, 2026-03-02:",
  "- user: The code is 5.",
  "This session, 2026-03-04:",
  "- user: The code is 7.",
].join("\n");

test("a sentence counts word for word, whatever parts its lines", () => {
  expect(says("The code\n is  5.", "The code is 5.")).toBe(true);
  expect(says(TEXT, "The code is 6.")).toBe(false);
});

test("a name counts before the words and on their line", () => {
  expect(saysWho(TEXT, "I want berth 12.", "Ben")).toBe(true);
  expect(saysWho(TEXT, "I want berth 12.", "Ana")).toBe(false);
  expect(saysWho(TEXT, "I want berth 47.", "Ana")).toBe(false);
});

test("a session and a day count in the heading above", () => {
  expect(saysWhen(TEXT, "The code is 5.", { session: "a1", day: "2026-03-02" })).toBe(true);
  expect(saysWhen(TEXT, "The code is 5.", { session: "a1", day: "2026-03-03" })).toBe(false);
  expect(saysWhen(TEXT, "The code is 7.", { session: "a1", day: "2026-03-04" })).toBe(false);
});
