import { normalForm } from "../../text/character-kinds.ts";
import { foldText } from "./fold-text.ts";

/**
 * The words of a question that have letters with two ways to write them, each with its other ways. The index folds
 * accents away, so "Söhne" is in it as `sohne`, and "Straße" as `straße`:
 *
 *     Söhne       sohne        also looked up: soehne
 *     Straße      straße                       strasse
 *     København   københavn                    kobenhavn, koebenhavn
 *     أحمد        أحمد                         احمد
 */
export function otherSpellings(query: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const lower = normalForm(query.toLowerCase(), "NFC");
  if (!SPECIAL.test(lower)) return found;
  for (const [word] of lower.matchAll(WORD)) {
    if (!SPECIAL.test(word)) continue;
    const own = foldText(word);
    const others = ARABIC.test(word)
      ? [...new Set(withBeginnings(own, ARABIC_BEGINNINGS))].flatMap(withArabicForms)
      : HEBREW.test(word)
        ? withBeginnings(own, HEBREW_BEGINNINGS)
        : WAYS.map((letters) => foldText(replaced(word, letters)));
    found.set(
      own,
      [...new Set(others)].filter((other) => other !== own),
    );
  }
  return found;
}

const WORD = /[\p{L}\p{M}]{2,100}/gu;
const ARABIC = /[\u0621-\u064a]/;
const HEBREW = /[\u05d0-\u05ea]/;
const SPECIAL = /[äöüßåøæœłđı\u0621-\u064a\u05d0-\u05ea]/u;

/** Words that are written together with the next one: the, and, in, to, from, that, like. */
const HEBREW_BEGINNINGS = ["", ..."הובלמשכ", "וה", "שה", "מה"];

/** The article, alone and behind and, by, for. */
const ARABIC_BEGINNINGS = ["", "ال", "وال", "بال", "لل"];

/** A word with other beginnings in place of its own. At least three letters are left. */
function withBeginnings(word: string, beginnings: readonly string[]): string[] {
  const rests = beginnings
    .filter((beginning) => word.startsWith(beginning) && word.length >= beginning.length + 3)
    .map((beginning) => word.slice(beginning.length));
  return rests.flatMap((rest) => beginnings.map((beginning) => beginning + rest));
}

const PLAIN: Readonly<Record<string, string>> = {
  ß: "ss",
  ø: "o",
  æ: "ae",
  œ: "oe",
  ł: "l",
  đ: "d",
  ı: "i",
};
/** Each is one way to write all letters of a word. */
const WAYS: readonly Readonly<Record<string, string>>[] = [
  { ß: "ss" },
  PLAIN,
  { ...PLAIN, ä: "ae", ö: "oe", ü: "ue", å: "aa", ø: "oe" },
];

function replaced(word: string, letters: Readonly<Record<string, string>>): string {
  return word.replace(/./gu, (letter) => letters[letter] ?? letter);
}

/** Writers leave out the hamza of an alif, and the signs that tell the last letters yeh and heh apart. */
function withArabicForms(word: string): string[] {
  const [, article = "", rest = ""] = /^((?:ال)?)(.*)$/u.exec(word) ?? [];
  const beginnings = /^[اأإآ]/.test(rest)
    ? [..."اأإآ"].map((alif) => alif + rest.slice(1))
    : [rest];
  return beginnings.flatMap((one) =>
    ENDS.flatMap((ends) =>
      ends.includes(one.at(-1) ?? " ")
        ? [...ends].map((end) => article + one.slice(0, -1) + end)
        : [article + one],
    ),
  );
}

const ENDS = ["يى", "هة"];

/** English on two sides of the Atlantic: color and colour, center and centre, organize and organise. */
const ATLANTIC: readonly (readonly [RegExp, string])[] = [
  [/(?<=..)or(?=(?:s|ed|ing|ful|ite|ites)?$)/, "our"],
  [/our(?=(?:s|ed|ing|ful|ite|ites)?$)/, "or"],
  [/(?<=[bt])er(?=(?:s|ed)?$)/, "re"],
  [/(?<=[bt])re(?=(?:s|d)?$)/, "er"],
  [/(?<=[iy])z(?=(?:e[rds]?|ing|ation|ations)$)/, "s"],
  [/(?<=[iy])s(?=(?:e[rds]?|ing|ation|ations)$)/, "z"],
  [/gray/, "grey"],
  [/grey/, "gray"],
  [/tire(?=s?$)/, "tyre"],
  [/tyre(?=s?$)/, "tire"],
  [/og(?=s?$)/, "ogue"],
  [/ogue(?=s?$)/, "og"],
  [/ense$/, "ence"],
  [/ence$/, "ense"],
  [/(?<=e)l(?=(?:ed|ing|er|ers)$)/, "ll"],
  [/(?<=e)ll(?=(?:ed|ing|er|ers)$)/, "l"],
];

/**
 * How a word that the store does not know may be written there: `soehne` as `sohne`, `strasse` as `straße`, `yildirim` as
 * `yıldırım`, `kuypers` as `kuijpers`, `2.14` as `v2.14.3`.
 */
export function possibleSpellings(word: string): readonly string[] {
  if (VERSION.test(word)) return [`v${word}*`];
  if (word.length < 4 || word.length > 40 || !/^[a-z]+$/.test(word)) return [];
  const umlauts = word.replace(/([aou])e/g, "$1");
  const others = [umlauts, word.replace(/ss/g, "ß"), umlauts.replace(/ss/g, "ß")];
  for (const [here, there] of ATLANTIC) others.push(word.replace(here, there));
  const more = [/aa/g, /i(?!j)/g, /y/g, /ij/g].map((here, at) =>
    word.replace(here, MORE[at] ?? ""),
  );
  return [...new Set([...others, ...more])].filter((other) => other !== word);
}

/** For two a, an i of Turkish without its dot, and the two ways of Dutch. */
const MORE = ["a", "ı", "ij", "y"];
const VERSION = /^\d+\.\d[\d.]*$/;
