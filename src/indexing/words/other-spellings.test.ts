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
  ["yildirim", "yıldırım"],
  ["kuypers", "kuijpers"],
  ["dijk", "dyk"],
  ["oresund", "øresund"],
  ["oeresund", "øresund"],
  ["soborg", "søborg"],
  ["ostergaard", "østergard"],
  ["lodz", "łodz"],
  ["oeuvre", "œuvre"],
  ["aero", "ærø"],
  ["djokovic", "đokovic"],
  ["thingvellir", "þingvellir"],
  ["igdir", "igdır"],
  ["2.14", "v2.14*"],
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

test("an Arabic word is looked up with the article and without it", () => {
  expect(otherSpellings("مفتاح").get("مفتاح")).toContain("المفتاح");
  expect(otherSpellings("المفتاح").get("المفتاح")).toContain("مفتاح");
});

test("a long word has few other spellings", () => {
  expect(possibleSpellings("lalolidothaedijaolilolidothaedijaoloolol").length).toBeLessThan(80);
});
