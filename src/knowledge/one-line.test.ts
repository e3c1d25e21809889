import { expect, test } from "vitest";
import { oneLine } from "./one-line.ts";

test("a text is put on one line, and cut between characters", () => {
  expect(oneLine(" a\u0007b\t\n c ", 20)).toBe("a b c");
  expect(oneLine("🎉".repeat(9), 9)).toBe("🎉".repeat(9));
  expect(oneLine("🎉".repeat(10), 9)).toBe(`${"🎉".repeat(8)}…`);
  expect(oneLine(`x ${"🎉".repeat(10_000)}`, 9)).toBe(`x ${"🎉".repeat(6)}…`);
  expect(oneLine(`${" ".repeat(50_000)}end`, 9)).toBe("end");
});
