import fc from "fast-check";
import { expect, test } from "vitest";
import { hasWordThatBegins } from "./word-starts.ts";

const WORDS = ["may", "montag", "mayor", "новый", "10月", "été"];

test("a word is found at its beginning only, as it is written", () => {
  const has = hasWordThatBegins(WORDS);
  expect(["in may", "(mayo)", "été", "am 10月", "nur montags"].map(has)).toEqual(
    Array(5).fill(true),
  );
  expect(["dismay", "May", "ma y", "110月", "xété", "", "m"].map(has)).toEqual(
    Array(7).fill(false),
  );
});

test("it finds what a pattern with all the words finds", () => {
  const has = hasWordThatBegins(WORDS);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${WORDS.join("|")})`, "u");
  const part = fc.constantFrom(...WORDS, ..."may1月 .-é\u0301😀о");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const text = parts.join("");
      expect(has(text)).toBe(pattern.test(text));
    }),
  );
});
