import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { askedWords } from "../words/words.ts";
import { readQuestion } from "./question.ts";

describe("a question", () => {
  test("is asked without stop words, each word once", () => {
    const { words } = readQuestion("What did the cat do to the other cat's dish?");
    expect(words).toEqual(["cat", "dish"]);
  });

  test("of stop words alone is asked with all of them", () => {
    expect(readQuestion("who are you").words).toEqual(["who", "are", "you"]);
  });

  test.each([
    ["When did we move?", true],
    ["In what year was that?", true],
    ["How long did it take?", true],
    ["Tell me when it is done", false],
  ])("asks for a time: %s", (query, expected) => {
    expect(readQuestion(query).asksWhen).toBe(expected);
  });

  test.each([
    ["What did you recommend for dinner?", true],
    ["your suggestion about tests", true],
    ["What do I like for dinner?", false],
  ])("asks for what was answered: %s", (query, expected) => {
    expect(readQuestion(query).asksForAnswers).toBe(expected);
  });
});

test("may is a word where it is the month", () => {
  expect(readQuestion("What happened in May?").words).toEqual(["happened", "may"]);
  expect(readQuestion("What may happen?").words).toEqual(["happen"]);
});

test("a word with a capital inside a sentence is a name", () => {
  const { names } = readQuestion("What did Jo's sister buy in New York? Bread?");
  expect([...names]).toEqual(["jo", "new", "york"]);
});

test("the names are those that one pattern finds", () => {
  const pattern = /\p{Lu}(?<=[^\s.!?。！？]\s+["'“‘(]?\p{Lu})[\p{L}\p{N}\p{M}'’._-]*/gu;
  const telling = fc.constantFrom(
    ..."aAéÉ東🎉1._-'’“‘(\"!?。！？,; \n\u0301\ud835\udc00".split(""),
    ..." A; A;. ; 'É;\u{1d400}; \u{1d400};York".split(";"),
  );
  const texts = fc.oneof(
    fc.array(telling, { maxLength: 20 }).map((units) => units.join("")),
    fc.string({ unit: "grapheme", maxLength: 40 }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const found = (text.match(pattern) ?? []).join(" ");
      expect(readQuestion(text).names).toEqual(new Set(askedWords(found)));
    }),
    { numRuns: 1000 },
  );
});
