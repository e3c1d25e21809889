import fc from "fast-check";
import { expect, test } from "vitest";
import { type Frame, readFrames } from "./read-frames.ts";

const LINE_BYTES_MAX = 12;

test("lines are the same however they are cut into chunks, and a long one is only told of", async () => {
  const line = fc.oneof(fc.string({ maxLength: 20 }), fc.constantFrom("", " ", "é\u2028ü", "\r"));
  const text = fc.array(line.map((part) => part.replaceAll("\n", ""))).map((all) => all.join("\n"));
  await fc.assert(
    fc.asyncProperty(
      text,
      fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
      async (all, sizes) => {
        const expected = all
          .split("\n")
          .map(
            (part): Frame =>
              Buffer.byteLength(part) > LINE_BYTES_MAX ? { problem: "too_long" } : { text: part },
          )
          .filter((frame) => "problem" in frame || frame.text.trim() !== "");
        expect(await framesOf(chunks(Buffer.from(all), sizes))).toEqual(expected);
      },
    ),
  );
});

test("a line that is not UTF-8 is told of, and the next one is read", async () => {
  const bytes = Buffer.concat([Buffer.from([0xc3, 0x28, 10]), Buffer.from("{}\n")]);
  expect(await framesOf(chunks(bytes, [2, 100].values()))).toEqual([
    { problem: "not_utf8" },
    { text: "{}" },
  ]);
});

function framesOf(input: AsyncIterable<Uint8Array>): Promise<Frame[]> {
  return Array.fromAsync(readFrames(input, LINE_BYTES_MAX));
}

async function* chunks(bytes: Uint8Array, sizes: Iterator<number>): AsyncIterable<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    const end = start + (sizes.next().value ?? 1);
    yield bytes.subarray(start, end);
    start = end;
  }
}
