import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { foldText } from "./fold-text.ts";
import {
  packaged,
  STEMMED,
  type StemmedLanguage,
  sameRoot,
  sameStem,
  stemmerOf,
} from "./other-forms.ts";

test("forms of a word are those with its stem in one of the languages", () => {
  const words = ["reinigt", "reinigung", "reihe", "reingen", "gereinigt"];
  const asked = { word: "reinigen", form: "reinigen", languages: ["polish", "german"] };
  expect(sameStem(asked, words)).toEqual(["reinigt", "reinigung", "gereinigt"]);
  expect(sameStem({ ...asked, languages: [] }, words)).toEqual([]);
});

test("words with the same root share most letters of the longer one, and those with most of them are taken", () => {
  const words = ["allergisch", "allerg", "alles", "allgemein"];
  const asked = (word: string, form = word) => ({ word, form });
  expect(sameRoot(asked("allergie"), words, "told")).toEqual(["allergisch"]);
  expect(sameRoot(asked("allergie"), ["alles", "allerg"], "told")).toEqual(["allerg"]);
  expect(sameRoot(asked("vertrag"), ["vertreten"], "told")).toEqual([]);
  expect(sameRoot(asked("karten"), ["kartell"], "any")).toEqual([]);
  // Forms that English stems leave apart.
  expect(sameRoot(asked("smooth"), ["smoother", "smoke"], "english")).toEqual(["smoother"]);
  expect(sameRoot(asked("planet"), ["plan", "plants"], "english")).toEqual([]);
  // Its English stem, as the index has it, is shorter, and more alike than the word is.
  expect(sameRoot(asked("lunettes", "lunett"), ["lunedi"], "told")).toEqual([]);
});

test.each<[StemmedLanguage, string]>([
  ["german", "Reinigung reinigen gereinigt reinigt"],
  ["german", "Kündigung kündigen gekündigt"],
  ["german", "Schlüssel Schlüsseln"],
  ["dutch", "bewaren bewaard"],
  ["dutch", "factuur facturen"],
  ["swedish", "nyckel nyckeln nycklar nycklarna"],
  ["swedish", "motor motorn motorer"],
  ["norwegian", "hytte hytter hytta"],
  ["danish", "møde mødet møder"],
  ["french", "envoi envoyer"],
  ["french", "cheval chevaux"],
  ["spanish", "reunión reuniones"],
  ["italian", "chiudere chiude"],
  ["portuguese", "reunião reuniões"],
  ["russian", "резервный резервных резервной"],
  ["russian", "ключ ключи ключей"],
])("forms of a word have one stem in %s: %s", (language, forms) => {
  const stems = forms.split(" ").map((form) => stemmerOf(language)(foldText(form)));
  expect(new Set(stems).size, stems.join(" ")).toBe(1);
});

test("every language has its stemmer, which takes long and odd words", () => {
  for (const language of STEMMED) {
    const stem = stemmerOf(language);
    for (const word of ["", "a", "1", "東京", "é".repeat(1000), "ge".repeat(50)]) {
      expect(stem(word)).toBe(stem(word));
    }
  }
});

test("a program that was bundled without the package of stemmers goes on without them", () => {
  expect(packaged("german", createRequire(join(tmpdir(), "bundle.js")))).toBeUndefined();
  expect(packaged("german", createRequire(import.meta.url))).toBeTypeOf("function");
});
