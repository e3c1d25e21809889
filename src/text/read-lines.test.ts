import fc from "fast-check";
import { expect, test } from "vitest";
import { ANY_CHARACTER } from "../../test/support/any-character.ts";
import { type Line, readLines } from "./read-lines.ts";

const BYTES_MAX = 12;

const read = (chunks: Iterable<Uint8Array>) => Array.fromAsync(readLines(chunks, BYTES_MAX));
const readText = (text: string) => read([Buffer.from(text)]);

test("lines are whole and numbered, however the bytes are cut, and a long one is only reported", async () => {
  const line = fc.oneof(
    fc.string({ unit: ANY_CHARACTER, maxLength: 20 }),
    fc.constantFrom("", " ", "é\u2028ü", "\r", "x".repeat(BYTES_MAX), "x".repeat(BYTES_MAX + 1)),
  );
  const lines = fc.array(line.map((text) => text.replaceAll(/[\n\uFEFF]/g, "")));
  const sizes = fc.infiniteStream(fc.integer({ min: 1, max: 30 }));
  await fc.assert(
    fc.asyncProperty(lines, sizes, async (texts, sizes) => {
      const expected = texts.flatMap((text, index): Line[] => {
        const number = index + 1;
        if (Buffer.byteLength(text) > BYTES_MAX) return [{ number, problem: "too_long" }];
        return text.trim() === "" ? [] : [{ number, text }];
      });
      expect(await read(cut(Buffer.from(texts.join("\n")), sizes))).toEqual(expected);
    }),
  );
});

test("a line separator inside a text ends no line", async () => {
  expect(await readText("\u2028\u2029\u0085\r\n")).toEqual([
    { number: 1, text: "\u2028\u2029\u0085\r" },
  ]);
});

test("a byte order mark is left out", async () => {
  expect(await readText("\uFEFF{}\n")).toEqual([{ number: 1, text: "{}" }]);
});

test("a line that is not UTF-8 is reported, and the next one is read", async () => {
  const bytes = Buffer.concat([Buffer.from([0xc3, 0x28, 10]), Buffer.from("{}\n")]);
  expect(await read(cut(bytes, [2, 100].values()))).toEqual([
    { number: 1, problem: "not_utf8" },
    { number: 2, text: "{}" },
  ]);
});

test("a line that is too long is reported before it ends, so that its reader can stop", async () => {
  let chunksRead = 0;
  function* endless() {
    for (; ; chunksRead += 1) yield Buffer.from("xxxxx");
  }
  for await (const line of readLines(endless(), BYTES_MAX)) {
    expect(line).toEqual({ number: 1, problem: "too_long" });
    break;
  }
  expect(chunksRead).toBe(2);
});

test("a line that comes byte by byte is copied a linear number of times", async () => {
  const bytes = Buffer.alloc(200_000, "x");
  let copied = 0;
  const set = Uint8Array.prototype.set;
  Uint8Array.prototype.set = function (part, offset) {
    copied += part.length;
    set.call(this, part, offset);
  };
  try {
    const one = function* () {
      for (let at = 0; at < bytes.length; at += 1) yield bytes.subarray(at, at + 1);
    };
    const [line] = await Array.fromAsync(readLines(one(), bytes.length));
    expect(line?.problem ?? line?.text.length).toBe(bytes.length);
  } finally {
    Uint8Array.prototype.set = set;
  }
  expect(copied).toBeLessThan(4 * bytes.length);
});

function* cut(bytes: Uint8Array, sizes: Iterator<number>): Iterable<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    const end = start + (sizes.next().value ?? 1);
    yield bytes.subarray(start, end);
    start = end;
  }
}
