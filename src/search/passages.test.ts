import fc from "fast-check";
import { expect, test } from "vitest";
import { PASSAGE_WORDS_MAX, passages } from "./passages.ts";

const text = fc
  .array(
    fc.tuple(fc.stringMatching(/^[a-z]{1,9}$/), fc.constantFrom(" ", " ", " ", ". ", "\n", "? ")),
    {
      maxLength: 400,
    },
  )
  .map((parts) => parts.flat().join(""));

test("passages have all words of the text, in its order", () => {
  fc.assert(
    fc.property(text, (whole) => {
      expect(passages(whole).join(" ")).toBe(whole.split(/\s+/).filter(Boolean).join(" "));
    }),
  );
});

test("a passage has at most 60 words", () => {
  fc.assert(
    fc.property(text, (whole) => {
      const lengths = passages(whole).map((passage) => passage.split(" ").length);
      expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(PASSAGE_WORDS_MAX);
    }),
  );
});

test("a passage ends where a sentence ends, when it can", () => {
  const sentence = `${"word ".repeat(39)}end.`;
  expect(passages(`${sentence} ${sentence} ${sentence}`)).toEqual([sentence, sentence, sentence]);
});

test("a paragraph without spaces is cut too", () => {
  const found = passages("山".repeat(30_000));
  expect(found.length).toBeGreaterThan(1);
  expect(found.join("").replaceAll(" ", "")).toBe("山".repeat(30_000));
});
