import fc from "fast-check";
import { expect, test } from "vitest";
import { readLines } from "./read-lines.ts";

async function* inPieces(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const linesOf = (text: string, size = 7) =>
  Array.fromAsync(readLines(inPieces(new TextEncoder().encode(text), size)));

test("lines come whole and numbered, however the bytes arrive", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: "grapheme" }).map((text) => text.replace(/[\r\n]/g, ""))),
      fc.integer({ min: 1, max: 9 }),
      async (texts, size) => {
        const expected = texts.flatMap((text, index) =>
          text.trim() === "" ? [] : [{ number: index + 1, text: text.trim() }],
        );
        expect(await linesOf(texts.join("\n"), size)).toEqual(expected);
      },
    ),
  );
});

test("a line separator inside a text ends no line", async () => {
  expect(await linesOf('{"a":"\u2028\u2029\u0085"}\r\n')).toEqual([
    { number: 1, text: '{"a":"\u2028\u2029\u0085"}' },
  ]);
});

test("a byte order mark is no text, and what is not UTF-8 is told", async () => {
  expect(await linesOf("\uFEFF{}\n")).toEqual([{ number: 1, text: "{}" }]);
  const bytes = new Uint8Array([123, 125, 10, 255, 254, 10, 123, 125]);
  expect(await Array.fromAsync(readLines(inPieces(bytes, 3)))).toEqual([
    { number: 1, text: "{}" },
    { number: 2, text: null },
    { number: 3, text: "{}" },
  ]);
});
