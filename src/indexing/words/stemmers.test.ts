import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { foldText } from "./fold-text.ts";
import { packaged, STEMMED, type StemmedLanguage, stemmerOf } from "./stemmers.ts";

test.each<[StemmedLanguage, string]>([
  ["german", "Reinigung reinigen gereinigt reinigt"],
  ["german", "Kündigung kündigen gekündigt"],
  ["german", "Schlüssel Schlüsseln"],
  ["dutch", "bewaren bewaard"],
  ["dutch", "factuur facturen"],
  ["swedish", "nyckel nycklar nycklarna"],
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
