import fc from "fast-check";
import { expect, test } from "vitest";
import { ANY_CHARACTER } from "../../../test/support/any-character.ts";
import { trials } from "../../../test/support/trials.ts";
import { PASSAGE_WORDS_MAX, passages } from "./indexed-passages.ts";

const text = fc
  .array(
    fc.tuple(fc.stringMatching(/^[a-z]{1,9}$/), fc.constantFrom(" ", " ", " ", ". ", "\n", "? ")),
    {
      maxLength: 400,
    },
  )
  .map((parts) => parts.flat().join(""));

test("passages have all words of the text, in its order", () => {
  fc.assert(
    fc.property(text, (whole) => {
      expect(passages(whole).join(" ")).toBe(whole.split(/\s+/).filter(Boolean).join(" "));
    }),
  );
});

test("a passage has at most 60 words", () => {
  fc.assert(
    fc.property(text, (whole) => {
      const lengths = passages(whole).map((passage) => passage.split(" ").length);
      expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(PASSAGE_WORDS_MAX);
    }),
  );
});

test("a passage ends where a sentence ends, when it can", () => {
  const sentence = `${"word ".repeat(39)}end.`;
  expect(passages(`${sentence} ${sentence} ${sentence}`)).toEqual([sentence, sentence, sentence]);
});

test("a paragraph without spaces is cut too", () => {
  const found = passages("山".repeat(30_000));
  expect(found.length).toBeGreaterThan(1);
  expect(found.join("").replaceAll(" ", "")).toBe("山".repeat(30_000));
});

test("the passages are those of the text split into sentences and words", () => {
  const piece = fc.constantFrom(
    ...[
      "a",
      "word",
      ". ",
      "? ",
      "! ",
      "。",
      "！",
      "？",
      "\n",
      " ",
      "  ",
      "\t",
      "\u00a0",
      ".",
      "\u3000",
      "x".repeat(199),
    ],
    ...[
      "word ".repeat(59),
      "word ".repeat(60),
      "w. ".repeat(61),
      "東".repeat(401),
      "\u{20000}".repeat(250),
      "\ud800".repeat(201),
    ],
  );
  const texts = fc.oneof(
    fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join("")),
    fc.string({ unit: ANY_CHARACTER, maxLength: 400 }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      expect(passages(text)).toEqual(passagesPlainly(text));
    }),
    { numRuns: trials(120, 500) },
  );
});

function passagesPlainly(text: string): string[] {
  const found: string[][] = [];
  for (const sentence of text.split(/(?<=[.!?])\s+|(?<=[。！？])|\n+/)) {
    const all = sentence
      .split(/\s+/)
      .flatMap((word) => (word.length > 200 ? (word.match(/[\s\S]{1,200}/gu) ?? []) : [word]))
      .filter((word) => word !== "");
    for (let start = 0; start < all.length; start += PASSAGE_WORDS_MAX) {
      const words = all.slice(start, start + PASSAGE_WORDS_MAX);
      const last = found.at(-1);
      if (last && last.length + words.length <= PASSAGE_WORDS_MAX) last.push(...words);
      else found.push(words);
    }
  }
  return found.map((words) => words.join(" "));
}
