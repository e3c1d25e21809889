import { expect, test } from "vitest";
import { beginsCompound, endingWith, partsOf, shortestForm } from "./compounds.ts";
import { sameStem } from "./other-forms.ts";

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

test.each([
  ["rechnungen", "rechnung"],
  ["waschen", "wasch"],
  ["datenbanken", "datenbank"],
  // Many words begin with four letters by chance: "Kartoffel" with "Kart".
  ["karten", "karte"],
  ["vertrag", "vertrag"],
])("compounds have a shorter form of %s: %s", (word, expected) => {
  const german = { word, form: word, languages: ["german"] };
  expect(shortestForm(word, (beginning) => sameStem(german, [beginning]).length > 0)).toBe(
    expected,
  );
});

test("a compound has a second part behind its beginning, and no ending", () => {
  expect(beginsCompound("waschmaschine", "wasch")).toBe(true);
  expect(beginsCompound("waschbar", "wasch")).toBe(false);
  expect(beginsCompound("wascht", "wasch")).toBe(false);
});
