import { expect, test } from "vitest";
import { answerOf } from "./approval-prompt.ts";

test.each(["y", "Y", " yes "])("%j allows the call", (line) => {
  expect(answerOf(line)).toEqual({ decision: "allow" });
});

test.each([
  ["n", undefined],
  ["No.", undefined],
  ["n too slow", "too slow"],
  ["no, use the other one", "use the other one"],
])("%j denies it", (line, reason) => {
  expect(answerOf(line)).toEqual({ decision: "deny", ...(reason ? { reason } : {}) });
});

test.each(["", "yes please", "yess", "maybe", "never", "not now", "ok", "/help", "yn"])(
  "%j is no answer: it is asked again, and nothing is learned from it",
  (line) => {
    expect(answerOf(line)).toBeUndefined();
  },
);
