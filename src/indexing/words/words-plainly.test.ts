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
    ..."aZ19._-,'’ \né東京あ🎉ß٣½ﬁÉ\u0301\u{20000}\ud800\u00ad\u200b\ufeff\ufe0f\u20e3\u02bc\u2011`".split(
      "",
    ),
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
  const marks = new RegExp(`[${UNSEEN}${GAP}]+`, "gu");
  fc.assert(
    fc.property(texts, (text) => {
      const letters = text
        .toLowerCase()
        .normalize("NFKD")
        .replace(marks, "")
        .replace(/\u2010/g, "-");
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

const UNSEEN = String.raw`\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20e2\u20e4-\u20ff\ufe20-\ufe2f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u02b9-\u02bf\u180b-\u180f\ufe00-\ufe0f\u{e0000}-\u{e0fff}\u00ad\u2060-\u2064\u206a-\u206f\ufeff`;
const GAP = String.raw`\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069`;
const HYPHEN = String.raw`\u2010\u2011\uff0d\ufe63\-`;
const APOSTROPHE = String.raw`'’\u2018\u201b\u2032\u02bc\uff07\u00b4\u0060`;
const BEGINS = String.raw`(?![${UNSEEN}${GAP}\u3164\uffa0\u20e3])[\p{L}\p{N}\p{M}]`;
const LETTERS = String.raw`${BEGINS}(?:${BEGINS}|(?!\u02bc)[${UNSEEN}${GAP}])*`;
const CHUNK = new RegExp(
  String.raw`${LETTERS}(?:[._${HYPHEN}${APOSTROPHE}]${LETTERS}|,\p{Nd}{3}(?!\p{N}))*|\p{Extended_Pictographic}`,
  "gu",
);
const HUMP = new RegExp(
  String.raw`(?<=[\p{Ll}\p{N}][${UNSEEN}]*)(?=\p{Lu})|(?<=\p{Lu}[${UNSEEN}]*)(?=\p{Lu}[${UNSEEN}]*\p{Ll})`,
  "u",
);
const CLITIC = new RegExp(`[${APOSTROPHE}](?:s|t|d|m|ll|re|ve)$`, "i");
const FOLDED_IN = /[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}._-]/gu;
const SCRIPTS = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
const UNSPACED = new RegExp(`[${SCRIPTS}]+`, "gu");
const BETWEEN = new RegExp(`[${GAP}](?![${SCRIPTS}]|$)`, "u");

function wordsPlainly(text: string, keepsLast: boolean): string[] {
  const cut = (word: string) => [...word].slice(0, 100).join("");
  return (text.match(CHUNK) ?? []).flatMap((chunk) => {
    const parts = chunk
      .replaceAll(",", "")
      .split(new RegExp(`[._${HYPHEN}]`))
      .map((part) => part.replace(CLITIC, (clitic) => (/t$/i.test(clitic) ? "t" : "")))
      .flatMap((part) => part.split(new RegExp(`[${APOSTROPHE}]`)))
      .flatMap((part) => part.split(BETWEEN))
      .flatMap((part) => part.split(HUMP))
      .map((part) => partsPlainly(part, keepsLast, cut));
    const isWhole =
      parts.filter((part) => part.length > 0).length > 1 &&
      !new RegExp(`[${APOSTROPHE}]`).test(chunk);
    const whole = isWhole ? [cut(foldText(chunk).replace(FOLDED_IN, ""))] : [];
    return [...whole, ...parts.flat()];
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
