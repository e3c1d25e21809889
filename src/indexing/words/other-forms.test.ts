import { expect, test } from "vitest";
import { sameRoot, sameStem } from "./other-forms.ts";

test("forms of a word are those with its stem in one of the languages", () => {
  const words = ["reinigt", "reinigung", "reihe", "reingen", "gereinigt"];
  const asked = { word: "reinigen", form: "reinigen", languages: ["polish", "german"] };
  expect(sameStem(asked, words)).toEqual(["reinigt", "reinigung", "gereinigt"]);
  expect(sameStem({ ...asked, languages: [] }, words)).toEqual([]);
});

test("words with the same root share most letters of the longer one, and those with most of them are taken", () => {
  const words = ["allergisch", "allerg", "alles", "allgemein"];
  expect(sameRoot("allergie", words, true)).toEqual(["allergisch"]);
  expect(sameRoot("allergie", ["alles", "allerg"], true)).toEqual(["allerg"]);
  expect(sameRoot("vertrag", ["vertreten"], true)).toEqual([]);
  expect(sameRoot("karten", ["kartell"], false)).toEqual([]);
});
