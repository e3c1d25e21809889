import { expect, test } from "vitest";
import { wrapText } from "./wrap-text.ts";

test("a long line is broken between words, and a command stays in one piece", () => {
  const hint =
    "hint: Ask for an export of your data, and name the file: `rkat import chatgpt ~/Downloads/export.zip`.";
  expect(wrapText(`error: No file.\n${hint}\n`, 60)).toBe(
    "error: No file.\nhint: Ask for an export of your data, and name the file:\n  `rkat import chatgpt ~/Downloads/export.zip`.\n",
  );
  expect(wrapText(hint, 200)).toBe(hint);
});

test("the lines of an indented line are indented, and a word that is too long stays whole", () => {
  const path = `/${"long".repeat(10)}`;
  expect(wrapText(`  one two three ${path}: no`, 12)).toBe(
    `  one two\n    three\n    ${path}:\n    no`,
  );
});

test("spaces between columns stay", () => {
  expect(wrapText("on   session   one two", 18)).toBe("on   session   one\n  two");
});

test("colours take no room, and an odd backtick is a letter", () => {
  const line = `\u001b[36mhint:\u001b[39m say \`rkat`;
  expect(wrapText(line, 15)).toBe(line);
  expect(wrapText("one ` two three", 9)).toBe("one ` two\n  three");
});
