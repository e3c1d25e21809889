import { expect, test } from "vitest";
import { utf8Bytes } from "../core/tokens.ts";

test("the bytes of a long text are counted right wherever its pieces end", () => {
  for (const [text, bytes] of [
    ["a", 1],
    ["é", 2],
    ["🎉", 4],
    ["\ud83c", 3],
    ["a🎉", 5],
  ] as const) {
    expect(utf8Bytes(text.repeat(100_000))).toBe(bytes * 100_000);
    expect(utf8Bytes(`x${text.repeat(100_000)}`)).toBe(1 + bytes * 100_000);
  }
});
