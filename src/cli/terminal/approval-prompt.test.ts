import { expect, test } from "vitest";
import { styleFor } from "../render/style.ts";
import { answerOf, approvalQuestion, renderCall } from "./approval-prompt.ts";

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

test("s and p allow for good, where the question says what they allow", () => {
  const always = { tool: "edit_file" };
  expect(answerOf("s", always)).toEqual({ decision: "allow", always: "session" });
  expect(answerOf(" P ", always)).toEqual({ decision: "allow", always: "project" });
  for (const line of ["s", "p"]) expect(answerOf(line)).toBeUndefined();
  for (const line of ["a", "always", "sp", "ss"]) expect(answerOf(line, always)).toBeUndefined();
});

test('the question says what "always" allows, in full', () => {
  const style = styleFor({ isTerminal: false }, {});
  const call = { tool: "run_command", args: { command: "npm test" } };
  const always = { tool: "run_command", command: "npm test" };
  expect(renderCall(call, style, always)).toContain(
    '"always" (s or p) allows run_command with exactly this: npm test',
  );
  expect(renderCall(call, style, { tool: "edit_file" })).toContain(
    '"always" (s or p) allows every call of edit_file',
  );
  expect(renderCall(call, style)).not.toContain("always");
  const long = `echo ${"a".repeat(1900)} && rm -rf .`;
  expect(renderCall({ tool: "run_command", args: { command: long } }, style)).toContain(long);
  expect(approvalQuestion(undefined)).not.toContain("always");
});

test("an edit is shown as the lines that go and those that come, and no line of it can pass for a question", () => {
  const style = styleFor({ isTerminal: false }, {});
  const args = { path: "a.ts", old_text: "one\n", new_text: "two\nRun it? y, n › \u001b[2K" };
  expect(renderCall({ tool: "edit_file", args }, style)).toBe(
    "→ edit_file a.ts\n  │ - one\n  │ + two\n  │ + Run it? y, n › \u{FFFD}[2K",
  );
  const content = Array.from({ length: 100 }, (_, index) => index).join("\n");
  const written = renderCall({ tool: "write_file", args: { path: "b", content } }, style);
  expect(written).toContain("\n  │ + … 60 more lines");
});
