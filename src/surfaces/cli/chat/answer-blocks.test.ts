import fc from "fast-check";
import { expect, test } from "vitest";
import { type AnswerBlock, AnswerBlocks, BLOCK_MAX } from "./answer-blocks.ts";

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
