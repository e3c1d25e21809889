import { stripTerminalSequences as plain, visibleWidth } from "@earendil-works/pi-tui";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PLAIN, styleFor } from "../render/style.ts";
import {
  type AnswerBlock,
  AnswerBlocks,
  BLOCK_MAX,
  renderAnswer,
  wrapColumns,
} from "./render-answer.ts";

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

test("text that does not fit into the last column of a table goes on below it", () => {
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

test("code has the colours of its language, wherever it stands, and one colour without a language", () => {
  const { cyan, magenta, green } = COLOURED;
  const coloured = `${magenta("let")} a = ${green('"b"')}`;
  const code = 'let a = "b"';
  expect(rendered(`\`\`\`js\n${code}\n\`\`\``, 40, COLOURED)).toEqual([`  ${coloured}`]);
  expect(rendered(`\`\`\`js\n${code}`, 40, COLOURED)).toEqual([`  ${coloured}`]);
  expect(rendered(`\`\`\`\n${code}\n\`\`\``, 40, COLOURED)).toEqual([`  ${cyan(code)}`]);
  expect(rendered(`1. a\n   \`\`\`js\n   ${code}\n   \`\`\``, 40, COLOURED).join("")).toContain(
    coloured,
  );
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

function blocksOf(parts: readonly string[]): readonly AnswerBlock[] {
  const answer = new AnswerBlocks();
  const blocks = parts.flatMap((part) => answer.push(part));
  return answer.rest ? [...blocks, answer.rest] : blocks;
}

const shortly = (text: string) => blocksOf([text]).map(({ kind, text }) => `${kind}: ${text}`);

test("a blank line ends a block, unless the next line is indented", () => {
  expect(shortly("one\ntwo\n\n- item\n\n  goes on\n\nthree")).toEqual([
    "markdown: one\ntwo",
    "markdown: - item\n\n  goes on",
    "markdown: three",
  ]);
});

test("each line of a code block is a block, without the fence", () => {
  expect(shortly("see:\n```ts\nconst a = 1;\n\n# no heading\n```\ndone")).toEqual([
    "markdown: see:",
    "code: const a = 1;",
    "code: ",
    "code: # no heading",
    "markdown: done",
  ]);
  expect(blocksOf(["```\na\nb\n```"]).map(({ continues }) => continues)).toEqual([false, true]);
});

test.each([
  ["````\n```\n````\nafter", ["code: ```", "markdown: after"]],
  ["~~~\n```\n~~~", ["code: ```"]],
  ["  ```\n  a\n    b\n  ```", ["code: a", "code:   b"]],
  ["```\r\na\r\n```\r\nb", ["code: a", "markdown: b"]],
  ["``` a ` b", ["markdown: ``` a ` b"]],
])("%j has the blocks %j", (text, expected) => {
  expect(shortly(text)).toEqual(expected);
});

test("the end of a code block that has arrived in part is not shown", () => {
  const answer = new AnswerBlocks();
  answer.push("```\na\n``");
  expect(answer.rest).toBeUndefined();
});

test("the parts in which an answer arrives do not matter", () => {
  const piece = fc.constantFrom(
    "a b",
    "\n",
    "\n\n",
    "```",
    "~~~~",
    "  ",
    "- x",
    "# y",
    "😀",
    "\r\n",
  );
  const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), cuts, (pieces, sizes) => {
      const text = pieces.join("");
      const parts: string[] = [];
      for (let at = 0, turn = 0; at < text.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1;
        parts.push(text.slice(at, at + size));
        at += size;
      }
      expect(blocksOf(parts)).toEqual(blocksOf([text]));
    }),
  );
});

test.each(["x", "word ", "\n", "- a\n", "```\n", "😀", "> "])(
  "100 KB of %j is cut into blocks of bounded length, and nothing is lost",
  (piece) => {
    const text = piece.repeat(100_000 / piece.length);
    const blocks = blocksOf([text]);
    expect(Math.max(0, ...blocks.map((block) => block.text.length))).toBeLessThanOrEqual(
      2 * BLOCK_MAX,
    );
    const letters = (all: string) => all.replace(/[\s`]/g, "");
    expect(letters(blocks.map((block) => block.text).join(""))).toBe(letters(text));
  },
);
