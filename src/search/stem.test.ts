import { expect, test } from "vitest";
import { stem } from "./stem.ts";

test.each([
  ["painted painting paints", "paint"],
  ["hobby hobbies", "hobbi"],
  ["decide decided deciding", "decid"],
  ["schlüssel", "schlüssel"],
  ["getusername", "getusernam"],
  ["v2", "v2"],
  ["東京", "東京"],
])("%s", (words, expected) => {
  expect(new Set(words.split(" ").map(stem))).toEqual(new Set([expected]));
});
