import * as fc from "fast-check";
import { expect, test } from "vitest";
import { brokenLimit } from "./body-reader.ts";

const NONE = { depth: 1_000_000, values: 1_000_000 };
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test("counts the levels of any JSON, whatever its strings have in them", () => {
  const text = fc.string({ unit: fc.constantFrom('"', "\\", "[", "{", "]", "}", ",", "é", "a") });
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      text,
      fc.integer(),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(text, tie("value"), { maxKeys: 4 }),
    ),
  })).value;
  fc.assert(
    fc.property(json, (value) => {
      const depth = depthOf(value);
      expect(brokenLimit(bytesOf(value), { ...NONE, depth })).toBeUndefined();
      if (depth === 0) return;
      expect(brokenLimit(bytesOf(value), { ...NONE, depth: depth - 1 })).toBe("depth");
    }),
  );
});

test("stops a text of nothing but openers, and one of nothing but empty lists", () => {
  const limits = { depth: 100, values: 1000 };
  expect(brokenLimit(Buffer.from("[".repeat(101)), limits)).toBe("depth");
  expect(brokenLimit(Buffer.from(`[${"[],".repeat(1000)}[]]`), limits)).toBe("values");
  expect(brokenLimit(Buffer.from('"\\'), limits)).toBeUndefined();
});
