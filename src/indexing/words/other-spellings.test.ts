import { expect, test } from "vitest";
import { otherSpellings, possibleSpellings } from "./other-spellings.ts";

test.each([
  ["color", "colour"],
  ["neighbours", "neighbors"],
  ["center", "centre"],
  ["organise", "organize"],
  ["tires", "tyres"],
  ["catalogue", "catalog"],
  ["license", "licence"],
  ["cancelled", "canceled"],
  ["soehne", "sohne"],
  ["strasse", "straße"],
])("%s may be written %s", (word, other) => {
  expect(possibleSpellings(word)).toContain(other);
});

test.each(["for", "house", "water", "paint"])("%s has no other spelling of its own", (word) => {
  expect(possibleSpellings(word)).not.toContain(word);
});

test("a Hebrew word is looked up with other beginnings, and keeps three letters", () => {
  expect(otherSpellings("למחסן").get("למחסן")).toContain("המחסן");
  expect(otherSpellings("המפתח").get("המפתח")).toContain("מפתח");
  expect(otherSpellings("שלי").get("שלי") ?? []).not.toContain("י");
});
