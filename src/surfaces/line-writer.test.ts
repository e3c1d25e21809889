import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { LineWriter } from "./line-writer.ts";

test("of many writers, one at a time writes to a reader that is behind", async () => {
  const output = new PassThrough();
  const writer = new LineWriter(output);
  const line = "x".repeat(100_000);
  const all = Promise.all(Array.from({ length: 500 }, () => writer.writeWhenReady(() => line)));
  let bytes = 0;
  for await (const chunk of output) {
    expect(output.readableLength + output.writableLength).toBeLessThan(300_000);
    bytes += chunk.length;
    if (bytes === 500 * (line.length + 1)) break;
  }
  await all;
});
