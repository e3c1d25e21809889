import fc from "fast-check";
import { expect, test } from "vitest";
import { ANY_CHARACTER } from "../../../test/support/any-character.ts";
import { trials } from "../../../test/support/trials.ts";
import { indexedText, searchWords, spacedText, wordsOf } from "./search-words.ts";

test("a text is found by its words, by the parts of its names, by pairs of characters", () => {
  expect(wordsOf("Where is src/turn_log.ts?")).toEqual(["where", "is", "src", "turn", "log", "ts"]);
  expect(wordsOf("autoCompact")).toEqual(["autocompact", "auto", "compact"]);
  expect(wordsOf("東京都")).toEqual(["東京", "京都", "都"]);
  expect(wordsOf("ＡＢＣ")).toEqual(["abc"]);
});

test("a text of ASCII has the same words beside one that has more", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary-ascii", maxLength: 60 }), (text) => {
      expect(wordsOf(`${text} \u00e9`)).toEqual([...wordsOf(text), "\u00e9"]);
    }),
  );
});

test("a question is asked without the words that every text has, unless it has no others", () => {
  const asked = (query: string) => searchWords(query).map(({ word }) => word);
  expect(asked("Where is the copper kettle, the kettle?")).toEqual(["copper", "kettle"]);
  expect(asked("to be or not to be")).toEqual(["to", "be", "or", "not"]);
  expect(asked("この本")).toEqual(["この", "の本"]);
  expect(asked("?!")).toEqual([]);
});

test("a single character of a script without spaces is the beginning of a word", () => {
  expect(searchWords("本")).toEqual([{ word: "本", whole: false }]);
});

test("a question of thousands of words is asked by its first ones", () => {
  const question = Array.from({ length: 5000 }, (_, index) => `w${index}`).join(" ");
  expect(searchWords(question)).toHaveLength(64);
});

test("a letter that is not ASCII changes nothing for the words beside it", () => {
  const pieces = [
    "a",
    "Ab",
    "aBc",
    "HTTPServer",
    "x9Y",
    "1",
    ".",
    "_",
    " ",
    "\n",
    "→",
    "…",
    "´",
    "²",
    "ﬁ",
  ];
  const more = ["🎉", "⚠️", "\u0301", "\ud83c", "東京", "é", "№", "a".repeat(99)];
  const texts = fc.array(fc.constantFrom(...pieces, ...more), { maxLength: 8 });
  fc.assert(
    fc.property(texts, (parts) => {
      const text = parts.join("");
      // The ß keeps the text from being read as one whose letters are ASCII.
      expect(wordsOf(`${text} ß`)).toEqual([...wordsOf(text), "ß"]);
    }),
    { numRuns: trials(80, 1000) },
  );
});

test("an index has each word of a long text once, and all words of it", () => {
  const long = "const userName = await store.read(userName);\n".repeat(200);
  expect(indexedText(long).length).toBeLessThan(100);
  expect(new Set(wordsOf(indexedText(long)))).toEqual(new Set(wordsOf(long)));
  const pieces = fc.constantFrom("aB", "word.part", " ", "\n", "東京都", "é", "→", "x".repeat(40));
  fc.assert(
    fc.property(fc.array(pieces, { minLength: 1, maxLength: 40 }), (parts) => {
      const text = parts.join("").repeat(100);
      const distinct = (spaced: string) => new Set(spaced.match(/[\p{L}\p{M}\p{N}]+/gu));
      expect(distinct(indexedText(text))).toEqual(distinct(spacedText(text)));
    }),
  );
});

test("a short text is indexed as it is, so that a word that comes twice counts twice", () => {
  expect(indexedText("one two one")).toBe(spacedText("one two one"));
});

test("a text of any script has the words that the patterns of Unicode find", () => {
  const word = /[\p{L}\p{M}\p{N}\p{Co}]+/gu;
  const unspaced =
    /[[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]&&[\p{L}\p{M}\p{N}]]+/gv;
  const withParts = (name: string) => {
    const parts = name.replace(/(?<=\p{Ll})(?=\p{Lu})/gu, " ");
    return name.length > 100 || parts === name ? name : `${name} ${parts}`;
  };
  const inPairs = (run: string) => {
    const characters = [...run];
    return ` ${characters.map((one, index) => one + (characters[index + 1] ?? "")).join(" ")} `;
  };
  const plainly = (text: string) =>
    text.replace(word, withParts).normalize("NFKC").replace(unspaced, inPairs);
  const wordsIn = (spaced: string) => spaced.match(word)?.join(" ");
  const pieces = fc.constantFrom(
    ...[
      "aB",
      "\ufb01A",
      "e\u0301A",
      "\u00aaB",
      "\uff41\uff22",
      "x".repeat(98),
      "𝒶A",
      "\u{10428}\u{10400}",
    ],
    ...["東京", "ก", "ー", "\u3099", "\uff76\uff9e", "\u1100\u1161", "한", "𠀀", "\u{2f800}", "㌀"],
    ...["ΑΣ", "Σ", "İ", "\u0345", "ß", "½", "①", "٠", "\u0301", "\ue000", "\ud83c", "\udf89", "🎉"],
    ...[" ", "\n", "\u2028", "\ufeff", "\u200b", ".", ",", "'", "…"],
  );
  const characters = fc.string({ unit: ANY_CHARACTER, maxLength: 4 });
  const texts = fc.array(fc.oneof({ weight: 4, arbitrary: pieces }, characters), { maxLength: 12 });
  fc.assert(
    fc.property(texts, fc.constantFrom(1, 1, 1, 200), (parts, times) => {
      const text = `${parts.join("").repeat(times)} é`;
      const spaced = plainly(text);
      expect(wordsOf(text).join(" ")).toBe(wordsIn(spaced.toLowerCase()));
      expect(wordsIn(spacedText(text))).toBe(wordsIn(spaced));
      if (text.length <= 4000) return;
      const once = [...new Set(spaced.split(/\s+/))].join(" ");
      expect(wordsIn(indexedText(text))).toBe(wordsIn(once));
    }),
    { numRuns: trials(30, 300) },
  );
});
