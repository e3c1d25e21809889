import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import { readJsonValues } from "./read-objects.ts";

async function textsOf(text: string, { parts = 7, bytesMax = 1000 } = {}) {
  const bytes = new TextEncoder().encode(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / parts) }, (_, index) =>
    bytes.subarray(index * parts, (index + 1) * parts),
  );
  const values: string[] = [];
  for await (const value of readJsonValues(chunks, bytesMax)) {
    values.push(value.problem ?? value.text);
  }
  return values;
}

test("the values of a list come one by one, however the bytes are cut", async () => {
  const values = fc.array(fc.jsonValue());
  const property = fc.asyncProperty(
    values,
    fc.integer({ min: 1, max: 50 }),
    fc.constantFrom(undefined, 1),
    async (list, parts, indent) => {
      const read = await textsOf(JSON.stringify(list, null, indent), { parts, bytesMax: 1e6 });
      expect(read.map((text) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(list)));
    },
  );
  await fc.assert(property, { numRuns: trials(30, 300) });
});

test("brackets and quotes in a string do not count", async () => {
  const list = [{ text: 'a ] } "quoted" \\' }, "[", { "}": ["]"] }];
  const read = await textsOf(JSON.stringify(list), { parts: 1 });
  expect(read.map((text) => JSON.parse(text))).toEqual(list);
});

test("values outside a list are read as those of a list", async () => {
  expect(await textsOf('\uFEFF{"a":1}\n{"b":[2]} 3')).toEqual(['{"a":1}', '{"b":[2]}', "3"]);
});

test("a value that is too long is reported once, and the next one is read", async () => {
  const long = JSON.stringify({ text: "x".repeat(2000) });
  expect(await textsOf(`[${long},{"a":1}]`)).toEqual(["too_long", '{"a":1}']);
});

test("a value that is cut off comes as far as it goes", async () => {
  expect(await textsOf('[{"a":1},{"b":')).toEqual(['{"a":1}', '{"b":']);
});

test("any bytes are read to their end", async () => {
  const property = fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
    for await (const value of readJsonValues([bytes], 50)) expect(value.number).toBeGreaterThan(0);
  });
  await fc.assert(property, { numRuns: trials(40, 500) });
});
