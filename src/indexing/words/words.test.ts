import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ANY_CHARACTER } from "../../../test/support/any-character.ts";
import { trials } from "../../../test/support/trials.ts";
import { foldText } from "./fold-text.ts";
import { askedWords, hasTextKey, hasWords, isBeginning, stem, textKey, words } from "./words.ts";

describe("words", () => {
  test.each([
    ["Caroline's café", "caroline cafe"],
    ["She went to the women's wolves", "she go to the woman wolf"],
    ["don't, I'm, we'll", "dont i we"],
    ["getUserName()", "getusername get user name"],
    ["HTTPServer_v2", "httpserver_v2 http server v2"],
    ["src/core/turn_id.ts", "src core turn_id.ts turn id ts"],
    ["1,000 at 10:30, 3.14", "1000 at 10 30 3.14 3 14"],
    ["twenty-one", "twenty-one twenty one"],
    ["東京都", "東京 京都 都"],
    ["ÄRGER, e\u0301te\u0301, ﬁn", "arger ete fin"],
    ["सेवा", "सेवा"],
    ["🎉 party", "🎉 party"],
    ["☕️coffee 1️⃣ #️⃣sale ❤️", "☕ coffee 1 sale ❤"],
    [
      "cof\u00adfee, cof\u2060fee, \ufeffcoffee\ufeff, c\u0336offee\u20dd",
      "coffee coffee coffee coffee",
    ],
    ["base\u200bball \u200dtea\u200c \u202btea\u202c", "baseball base ball tea tea"],
    ["กา\u200bแฟ", "กา าแ แฟ ฟ"],
    ["itʼs, it‘s, it`s; donʼt; Caroline´s Прибалтʼ l‘été", "it it it dont caroline прибалт l ete"],
    ["Hawaiʻi, Qurʾan", "hawaii quran"],
    ["wi‑fi wi‐fi ｗｉ－ｆｉ", "wi-fi wi fi wi-fi wi fi wi-fi wi fi"],
    ["ｃｏｆｆｅｅ，ｔｅａ！（１）", "coffee tea 1"],
    ["oﬃceHours cafe\u0301Bar", "officehours office hours cafebar cafe bar"],
    ["coffeeㅤtea", "coffee tea"],
    ["בית־ספר هٰذا", "בית ספר هذا"],
    ["می\u200cخواهم", "میخواهم می خواهم"],
    ["\u200b \ufe0f a.\u0301 \u00ad", "a"],
    ["?!... --", ""],
  ])("%s", (text, expected) => {
    expect(words(text).join(" ")).toBe(expected);
  });

  test("a text of ASCII has the same words beside one that has more", () => {
    const ascii = fc.string({ unit: "binary-ascii", maxLength: 60 });
    const telling = fc.array(fc.constantFrom(..."aZ19._-,' \n"), { maxLength: 20 });
    fc.assert(
      fc.property(
        fc.oneof(
          ascii,
          telling.map((units) => units.join("")),
        ),
        (text) => {
          expect(words(`${text} \u00e9`)).toEqual([...words(text), "e"]);
        },
      ),
    );
  });

  test("what is asked for of a text is in it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (text) => {
        const all = new Set(words(text));
        expect(askedWords(text).filter((word) => !all.has(word))).toEqual([]);
      }),
    );
  });

  test("a text has words or it has none", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 20 }), (text) => {
        expect(hasWords(text)).toBe(words(text).length > 0);
      }),
    );
    expect(["?!... --", "x", "X", "東", "1", "🎉", "'s"].map(hasWords)).toEqual([
      false,
      true,
      true,
      true,
      true,
      true,
      true,
    ]);
  });

  test("a character that stands for several is those", () => {
    expect(words("㈠ ½")).toEqual(["一", "1", "2"]);
  });

  test("a word has neither spaces nor quotes, so that it cannot be an operator", () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 60 }), (text) => {
        expect(words(text).filter((word) => /[\s"*^:()]|^$/u.test(word))).toEqual([]);
      }),
    );
  });

  test("one character of a script without spaces is the beginning of others", () => {
    expect(["東", "ส", "都市", "a", "🎉"].map(isBeginning)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

test("folding twice changes nothing more", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(foldText(foldText(text))).toBe(foldText(text));
    }),
  );
});

test.each([
  ["painted painting paints", "paint"],
  ["hobby hobbies", "hobbi"],
  ["decide decided deciding", "decid"],
  ["schlüssel", "schlüssel"],
  ["getusername", "getusernam"],
  ["v2", "v2"],
  ["東京", "東京"],
])("the stem of %s", (words, expected) => {
  expect(new Set(words.split(" ").map(stem))).toEqual(new Set([expected]));
});

test("a text has its own key, however long it is and wherever its beginning ends", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      " ",
      "\n",
      "\u00a0",
      "\u2009",
      "\u3000",
      "1",
      "000",
      ",",
      ".",
      ":",
      "'s",
      "don't",
      "東京",
      "に",
      "한국어",
      "ไทย",
      "e\u0301",
      "-",
      "_",
      "getUser2",
      "🎉",
    ),
    fc.string({ unit: ANY_CHARACTER, maxLength: 3 }),
    fc.string({ unit: "grapheme", maxLength: 3 }),
  );
  const texts = fc.array(piece, { minLength: 300, maxLength: 700 }).map((all) => all.join(""));
  fc.assert(
    fc.property(texts, texts, (text, other) => {
      expect(hasTextKey(text, textKey(text))).toBe(true);
      expect(hasTextKey(other, textKey(text))).toBe(textKey(other) === textKey(text));
    }),
    { numRuns: trials(40, 5000) },
  );
});
