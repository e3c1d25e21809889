import fc from "fast-check";
import { stem } from "porter2";
import { expect, test } from "vitest";
import { ANY_CHARACTER } from "../../../test/support/any-character.ts";
import { trials } from "../../../test/support/trials.ts";
import { baseForms } from "./english.ts";
import { foldText, foldUnit } from "./fold-text.ts";
import { askedWords, stemmedWords, words } from "./words.ts";

test("the words are those that one pattern finds in the whole text", () => {
  const telling = fc.constantFrom(
    ..."aZ19._-,'’ \né東京あ🎉ß٣½ﬁÉ\u0301\u{20000}\ud800".split(""),
    ..."🎉 \u{20000} 1,000 it's HTTPServer getUser went twenty-one 東京都 सेवा ŵé ㈠ we'LL".split(
      " ",
    ),
    ...["a".repeat(13), "1".repeat(120), "é".repeat(120), "\u{20000}".repeat(120)],
  );
  const texts = fc.oneof(
    fc.array(telling, { maxLength: 20 }).map((units) => units.join("")),
    fc.string({ unit: ANY_CHARACTER, maxLength: 40 }),
    fc.string({ unit: "grapheme", maxLength: 40 }),
    fc.string({ unit: "binary-ascii", maxLength: 60 }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      expect(words(text)).toEqual(wordsPlainly(text, true));
      expect(askedWords(text)).toEqual([...new Set(wordsPlainly(text, false))]);
      expect(stemmedWords(text)).toEqual(wordsPlainly(text, true).map(stemPlainly));
    }),
    { numRuns: trials(250, 1000) },
  );
});

test("a text is folded as the whole of it is", () => {
  const telling = fc.constantFrom(
    ..."aÉßŉΣσİй\u0306か\u3099が각\u11a8東½﻿ﬁ_ \ud800".split(""),
    "\u{20000}",
  );
  const texts = fc.oneof(
    fc.array(telling, { maxLength: 12 }).map((units) => units.join("")),
    fc.string({ unit: ANY_CHARACTER, maxLength: 20 }),
    fc
      .array(fc.nat({ max: 0x600 }), { maxLength: 20 })
      .map((codes) => String.fromCharCode(...codes)),
  );
  const marks = /[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0652]+/gu;
  fc.assert(
    fc.property(texts, (text) => {
      const letters = text.toLowerCase().normalize("NFKD").replace(marks, "");
      expect(foldText(text)).toBe(letters.normalize("NFKC").toLowerCase());
    }),
    { numRuns: trials(400, 2000) },
  );
});

test("letters that fold alone fold the same beside others", () => {
  const alone = Array.from({ length: 0x10000 }, (_, unit) => unit).filter(foldUnit);
  // Most of them are ideographs and syllables of Hangul, which fold to themselves.
  const telling = alone.filter((unit) => foldUnit(unit) !== unit || unit < 0x3400);
  const units = fc.array(fc.constantFrom(...telling), { minLength: 20, maxLength: 80 });
  fc.assert(
    fc.property(units, (some) => {
      expect(String.fromCharCode(...some.map(foldUnit))).toBe(
        foldText(String.fromCharCode(...some)),
      );
    }),
    { numRuns: trials(600, 3000) },
  );
});

function stemPlainly(word: string): string {
  return /^[a-z]+$/.test(word) ? stem(word) : word;
}

const CHUNK =
  /[\p{L}\p{N}\p{M}]+(?:[._'’-][\p{L}\p{N}\p{M}]+|,\p{Nd}{3}(?!\p{N}))*|\p{Extended_Pictographic}/gu;
const HUMP = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const CLITIC = /['’](?:s|t|d|m|ll|re|ve)$/i;
const FOLDED_IN = /[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}._-]/gu;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;

function wordsPlainly(text: string, keepsLast: boolean): string[] {
  const cut = (word: string) => [...word].slice(0, 100).join("");
  return (text.match(CHUNK) ?? []).flatMap((chunk) => {
    const parts = chunk
      .replaceAll(",", "")
      .split(/[._-]/)
      .map((part) => part.replace(CLITIC, (clitic) => (/t$/i.test(clitic) ? "t" : "")))
      .flatMap((part) => part.split(/['’]/))
      .flatMap((part) => part.split(HUMP));
    const isWhole = parts.length > 1 && !/['’]/.test(chunk);
    const whole = isWhole ? [cut(foldText(chunk).replace(FOLDED_IN, ""))] : [];
    return [...whole, ...parts.flatMap((part) => partsPlainly(part, keepsLast, cut))];
  });
}

function partsPlainly(part: string, keepsLast: boolean, cut: (word: string) => string): string[] {
  const found: string[] = [];
  const spaced = foldText(part)
    .replace(FOLDED_IN, " ")
    .replace(UNSPACED, (run) => {
      const characters = [...run];
      for (const [index, character] of characters.entries()) {
        const next = characters[index + 1];
        if (next !== undefined) found.push(character + next);
        else if (keepsLast || index === 0) found.push(character);
      }
      return " ";
    });
  const plain = spaced.split(" ").filter((word) => word !== "");
  return [...found, ...plain.map((word) => baseForms().get(cut(word)) ?? cut(word))];
}
