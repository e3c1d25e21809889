import { expect, test } from "vitest";
import { endingWith, partsOf } from "./compounds.ts";

const WORDS = new Set(
  "kaffeemaschine reinigung papier lieferung buro mietvertrag server".split(" "),
);
const formsOf = (part: string) => (WORDS.has(part) ? [part] : []);
const parts = (word: string) => partsOf(word, formsOf).map(({ part }) => part);

test.each([
  ["kaffeemaschinenreinigung", ["kaffeemaschine", "reinigung"]],
  ["papierlieferung", ["papier", "lieferung"]],
  ["buromietvertrag", ["buro", "mietvertrag"]],
  // The rest is not in the store, and the part is most of the word.
  ["mietvertragsende", ["mietvertrag", "sende"]],
  // Too short a part, an ending, no letters.
  ["papiere", []],
  ["reinigungen", []],
  ["serverlich", []],
  ["server2000papier", []],
])("the parts of %s are words of the store", (word, expected) => {
  expect(parts(word)).toEqual(expected);
});

test("compounds that end with a word are found, and words that only contain it are not", () => {
  const words = ["mietvertrag", "vertragsende", "arbeitsvertrage", "vertrag", "unvertraglich"];
  const isForm = (end: string) => end === "vertrag" || end === "vertrage";
  expect(endingWith("vertrag", words, isForm)).toEqual(["mietvertrag", "arbeitsvertrage"]);
});
