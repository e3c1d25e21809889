import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import type { PendingApproval } from "../../core/approval.ts";
import { textWidth } from "../render/printable.ts";
import { CallPages, renderCall } from "../render/render-call.ts";
import { styleFor } from "../render/style.ts";
import { answerOf, CallQuestion } from "./approval-prompt.ts";

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

const STYLE = styleFor({ isTerminal: false }, {});

const waiting = (tool: string, args: unknown): PendingApproval => ({
  ...{ approvalId: "a", sessionId: "s", toolUseId: "t", goal: "", requestedAt: "" },
  ...{ tool, args },
});

test('the question says what "always" allows, in full', () => {
  const call = { tool: "run_command", args: { command: "npm test" } };
  const always = { tool: "run_command", command: "npm test" };
  expect(renderCall(call, STYLE, always)).toContain(
    '"always" (s or p) allows run_command with exactly this: npm test',
  );
  expect(renderCall(call, STYLE, { tool: "edit_file" })).toContain(
    '"always" (s or p) allows every call of edit_file',
  );
  expect(renderCall(call, STYLE)).not.toContain("always");
  const long = `echo ${"a".repeat(1900)} && rm -rf .`;
  expect(renderCall({ tool: "run_command", args: { command: long } }, STYLE)).toContain(long);
  expect(questionOn(call).text).not.toContain("always");
});

function questionOn({ tool, args }: Pick<PendingApproval, "tool" | "args">, isTerminal = true) {
  const [stdin, output] = [{ isTerminal }, { columns: 80, rows: 24 }];
  return new CallQuestion(waiting(tool, args), STYLE, { always: undefined, stdin, output });
}

test("an edit is shown as the lines that go and those that come, and no line of it can pass for a question", () => {
  const args = { path: "a.ts", old_text: "one\n", new_text: "two\nRun it? y, n › \u001b[2K\r\n" };
  expect(renderCall({ tool: "edit_file", args }, STYLE)).toBe(
    "→ edit_file a.ts\n  │ - one\n  │ + two\n  │ + Run it? y, n › <U+001B>[2K<U+000D>",
  );
});

test.each([
  [{ path: "a", content: "x" }, "a (without a line break at its end)\n  │ + x"],
  [{ path: "a", content: "" }, "a (empty)"],
  [{ path: "a\n b", content: "x\n" }, "a<U+000A> b\n  │ + x"],
  [{ path: "a", content: "x\n", mode: "0777" }, 'a {"mode":"0777"}\n  │ + x'],
  [{ path: "a", content: "x\n", command: "rm" }, 'a {"command":"rm"}\n  │ + x'],
  [{ path: "a", old_text: "x\n", new_text: "y" }, "a\n  │ - x\n  │ - \n  │ + y"],
  [{ command: "ls", cwd: "/" }, 'ls {"cwd":"/"}'],
  [{ command: "ls", path: "a" }, '{"command":"ls","path":"a"}'],
  [{ text: `${" ".repeat(600)}rm` }, `{"text":"${" ".repeat(600)}rm"}`],
])("of %j everything is shown that differs from what is usual", (args, shown) => {
  expect(renderCall({ tool: "t", args }, STYLE)).toBe(`→ t ${shown}`);
});

test("a call can be allowed when all of it was shown, and each page fits the terminal", () => {
  const content = Array.from({ length: 6_001 }, (_, index) => `${index}\n`).join("");
  const call = { tool: "write_file", args: { path: "b", content } };
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const question = questionOn(call);
  const pages = [question.page()];
  for (let rest = true; rest; rest = !question.text.startsWith("Run it?")) {
    vi.advanceTimersByTime(1_000);
    expect(question.take("y")).toEqual({
      shown: expect.stringMatching(/^A call can run after all of it was shown/),
    });
    const taken = question.take("");
    if (!("shown" in taken)) throw new Error("An empty line is no answer.");
    pages.push(taken.shown);
  }
  expect(Math.max(...pages.map((page) => page.split("\n").length))).toBeLessThan(20);
  expect(pages.join("\n")).toBe(renderCall(call, STYLE));
  vi.advanceTimersByTime(1_000);
  expect(question.take("y")).toEqual({ answer: { decision: "allow" } });
});

test("a call can be denied before all of it was shown, and a pipe is shown all of it at once", () => {
  const call = { tool: "run_command", args: { command: `${"\n".repeat(1_500)}rm` } };
  expect(questionOn(call, false).page()).toBe(renderCall(call, STYLE));
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const question = questionOn(call);
  question.page();
  expect(question.text).toMatch(/^\d+ % shown\. Enter shows more/);
  vi.advanceTimersByTime(1_000);
  expect(question.take("n too long")).toEqual({ answer: { decision: "deny", reason: "too long" } });
});

test("every character of any arguments is on a page, in order, with those that are hidden by their numbers", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "B", " ", "\n", "日", "\u202e", "\u001b", "👩‍💻"),
    maxLength: 900,
  });
  fc.assert(
    fc.property(text, fc.integer({ min: 30, max: 100 }), (command, columns) => {
      const pages = new CallPages({ tool: "t", args: { command } }, STYLE, { columns, rows: 20 });
      const rows: string[] = [];
      while (!pages.isWhole) rows.push(...pages.next().split("\n"));
      expect(rows.every((row) => textWidth(row) <= columns)).toBe(true);
      const joined = rows.map((row) => row.replace(/^ {2}│ /, "\n").replace(/^ {2}┊ |^→ t /, ""));
      expect(joined.join("")).toBe(
        command.replaceAll("\u202e", "<U+202E>").replaceAll("\u001b", "<U+001B>"),
      );
    }),
  );
});
