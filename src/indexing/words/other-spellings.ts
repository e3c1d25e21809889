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
const SPECIAL = /[äöüßåøæœłđıþð\u0621-\u064a\u05d0-\u05ea]/u;

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
  þ: "th",
  ð: "d",
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

/** Letters that are typed for those that a keyboard lacks, and such a letter as the index has it. */
const TYPED: readonly (readonly [RegExp, string])[] = [
  [/aa/g, "a"],
  [/oe?/g, "ø"],
  [/ae/g, "æ"],
  [/oe/g, "œ"],
  [/l/g, "ł"],
  [/dj?/g, "đ"],
  [/d/g, "ð"],
  [/th/g, "þ"],
  [/i/g, "ı"],
];
const TYPED_MAX = 40;

/** Words with letters that a keyboard lacks, in all places or in one: `oresund` is `øresund`, `lodz` is `łodz`. */
function withLetters(word: string): string[] {
  const found = new Set([word]);
  for (const [typed, letter] of TYPED) {
    for (const one of [...found]) found.add(one.replace(typed, letter));
  }
  for (const one of [word, word.replace(/aa/g, "a")]) {
    for (const [typed, letter] of TYPED) {
      for (const { 0: sign, index } of one.matchAll(typed))
        found.add(one.slice(0, index) + letter + one.slice(index + sign.length));
    }
  }
  return [...found].slice(0, TYPED_MAX);
}

/**
 * How a word that the store does not know may be written there: `soehne` as `sohne`, `strasse` as `straße`, `yildirim` as
 * `yıldırım`, `oresund` as `øresund`, `kuypers` as `kuijpers`, `2.14` as `v2.14.3`.
 */
export function possibleSpellings(word: string): readonly string[] {
  if (VERSION.test(word)) return [`v${word}*`];
  if (word.length < 4 || word.length > 40 || !/^[a-z]+$/.test(word)) return [];
  const umlauts = word.replace(/([aou])e/g, "$1");
  const others = [umlauts, word.replace(/ss/g, "ß"), umlauts.replace(/ss/g, "ß")];
  for (const [here, there] of ATLANTIC) others.push(word.replace(here, there));
  const more = [word.replace(/y/g, "ij"), word.replace(/ij/g, "y"), word.replace(/i(?!j)/g, "ı")];
  return [...new Set([...others, ...more, ...withLetters(word)])].filter((other) => other !== word);
}

const VERSION = /^\d+\.\d[\d.]*$/;
