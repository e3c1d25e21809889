import { stripTerminalSequences as plain, visibleWidth } from "@earendil-works/pi-tui";
import { expect, test } from "vitest";
import { PLAIN, styleFor } from "../render/style.ts";
import { type AnswerBlock, AnswerBlocks } from "./answer-blocks.ts";
import { renderAnswer, wrapColumns } from "./render-answer.ts";

const COLOURED = styleFor({ isTerminal: true }, {});

function rendered(text: string, columns = 40, style = PLAIN): readonly string[] {
  const answer = new AnswerBlocks();
  const blocks: AnswerBlock[] = [...answer.push(text), ...(answer.rest ? [answer.rest] : [])];
  return blocks.flatMap((block) => renderAnswer(block, columns, style));
}

test("text is wrapped at words, and lists keep their indent", () => {
  expect(rendered("A sentence that is longer than forty columns.")).toEqual([
    "A sentence that is longer than forty",
    "columns.",
  ]);
  expect(rendered("7. An item that is longer than forty columns.")).toEqual([
    "7. An item that is longer than forty",
    "   columns.",
  ]);
});

test("what does not fit into the last column of a table goes on below it", () => {
  const row = `${COLOURED.cyan("/pin [n]")}   keep message n through compactions`;
  expect(wrapColumns(`short\n${row}`, 24).map(plain)).toEqual([
    "short",
    "/pin [n]   keep message",
    "           n through",
    "           compactions",
  ]);
});

test("code is indented and keeps its spaces", () => {
  expect(rendered("```ts\nif (a) {\n  b();\n}\n```")).toEqual(["  if (a) {", "    b();", "  }"]);
});

test("a link shows where it leads", () => {
  expect(rendered("[your bank](https://evil.example)").join(" ")).toBe(
    "your bank (https://evil.example)",
  );
});

test("without colours, an answer has no control sequence at all", () => {
  const text = "# a\n\n**b** *c* `d` [e](http://f)\n\n> g\n\n| h |\n|---|\n| i |\n\n```\nj\n```\n";
  expect(rendered(text).join("")).not.toMatch(/\p{Cc}/u);
  expect(rendered(text, 40, COLOURED).join("")).toMatch(/\p{Cc}/u);
});

test.each([1, 2, 3, 5, 10, 80])("no line is wider than %j columns", (columns) => {
  const text =
    "# 東京\n\n1. 👩‍👩‍👧 wide\n   - nested\n\n> quote\n\n| a | b | c |\n|---|---|---|\n| long text | 東京 | 3 |\n\n```\n\tcode that is long\n```\n\nAveryveryverylongword";
  for (const line of rendered(text, columns, COLOURED)) {
    expect(visibleWidth(line)).toBeLessThanOrEqual(Math.max(columns, 2));
  }
});

test.each([
  ["too many marks", "**a *b ".repeat(500)],
  ["deep quotes", ">".repeat(3000)],
  ["deep lists", "1. ".repeat(1300)],
  ["deep brackets", "[".repeat(3000)],
  [
    "deep nesting over lines",
    Array.from({ length: 80 }, (_, i) => `${"  ".repeat(i)}- a`).join("\n"),
  ],
])("Markdown with %s is shown, if need be as it is", (_, text) => {
  const marks = (all: string) => all.replace(/[\s│]/g, "").length;
  expect(marks(rendered(text, 80).map(plain).join(""))).toBeGreaterThan(0);
});
