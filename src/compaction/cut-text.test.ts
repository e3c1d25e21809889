import fc from "fast-check";
import { expect, test } from "vitest";
import { ANY_CHARACTER } from "../../test/support/any-character.ts";
import { cutEnd, cutMiddle, jsonTextBytes } from "./cut-text.ts";

const anyText = fc.string({ unit: ANY_CHARACTER, maxLength: 60 });
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

test("a cut text says that it is cut", () => {
  expect(cutEnd("abcdefghijklmnop", 12)).toBe("abcdef […]");
  expect(cutMiddle("abcdefghijklmnopqrst", 17)).toBe("abcde […] pqrst");
});

test("a grapheme stays whole, in any script", () => {
  const letters = ["e\u0301\u0302", "👩‍👩‍👧", "🇩🇪", "👍🏽", "नी", "กำ้", "한", "日", "a", " "];
  const segmenter = new Intl.Segmenter();
  const lettersOf = (text: string) => Array.from(segmenter.segment(text), ({ segment }) => segment);
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...letters)), fc.nat(120), (pieces, bytesMax) => {
      const text = pieces.join("");
      const whole = lettersOf(text);
      const head = cutEnd(text, bytesMax, "");
      expect(whole.slice(0, lettersOf(head).length).join("")).toBe(head);
      const [start = "", end = ""] = cutMiddle(text, bytesMax, "|").split("|");
      expect(whole.slice(0, lettersOf(start).length).join("")).toBe(start);
      expect(whole.slice(whole.length - lettersOf(end).length).join("")).toBe(end);
    }),
  );
});
