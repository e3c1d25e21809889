import fc from "fast-check";
import { expect, test } from "vitest";
import { cutEnd, cutMiddle, jsonTextBytes } from "./cut-text.ts";

const anyText = fc.string({ unit: "binary", maxLength: 60 });
const loneSurrogates = fc.array(fc.constantFrom("a", "\ud83c", "\udf89", "é", '"', "\u0002"));
const texts = fc.oneof(
  anyText,
  loneSurrogates.map((parts) => parts.join("")),
);

for (const [name, cut] of Object.entries({ cutEnd, cutMiddle })) {
  test(`${name} fits its room in JSON, and parts no character`, () => {
    fc.assert(
      fc.property(texts, fc.nat(80), (text, bytesMax) => {
        const result = cut(text, bytesMax);
        expect(jsonTextBytes(result)).toBeLessThanOrEqual(bytesMax);
        if (jsonTextBytes(text) <= bytesMax) expect(result).toBe(text);
        if (text.isWellFormed()) expect(result.isWellFormed()).toBe(true);
      }),
    );
  });
}

test("what is cut says so", () => {
  expect(cutEnd("abcdefghijklmnop", 12)).toBe("abcdef […]");
  expect(cutMiddle("abcdefghijklmnopqrst", 17)).toBe("abcde […] pqrst");
});
