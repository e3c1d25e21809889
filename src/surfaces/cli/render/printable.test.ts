import { expect, test } from "vitest";
import { oneLine, printable, textWidth } from "./printable.ts";

test("control sequences in a text do not reach the terminal", () => {
  expect(printable("a\u001b[2Jb\u0007\u009bc\td\r\ne\rf")).toBe("a�[2Jb��c\td\ne�f");
});

test("a text is cut to the columns of a terminal", () => {
  expect(oneLine("one\n  two\tthree", 80)).toBe("one two three");
  expect(oneLine("one two three", 8)).toBe("one two…");
  expect(oneLine("会議の記録", 7)).toBe("会議の…");
  expect(textWidth("会議 ok 👍")).toBe(10);
});
