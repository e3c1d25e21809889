import fc from "fast-check";
import { expect, test } from "vitest";
import { hitsOf } from "../../../test/support/in-memory-index.ts";
import { trials } from "../../../test/support/trials.ts";
import { stemmedWords } from "../words/words.ts";
import { indexedPassages, passages } from "./indexed-passages.ts";
import { BY_SPEAKER, ENTRY_SAYS_WHEN, ON_DATE, PASSAGE_ASKS } from "./passage-index.ts";

test("a passage has its words with how often it says them, the speaker and the date", () => {
  const [passage] = indexedPassages({
    content: "Painted a lake, painted a May sunrise!",
    speaker: "May Stone",
    time: "2023-05-08T13:56",
  });
  expect(Object.fromEntries(passage ? hitsOf(passage) : [])).toEqual({
    paint: 2,
    a: 2,
    lake: 1,
    may: 1 | BY_SPEAKER | ON_DATE,
    sunris: 1,
    stone: BY_SPEAKER,
    2023: ON_DATE,
    8: ON_DATE,
  });
  expect(passage?.length).toBe(7);
});

test("the words of passages are those of their texts", () => {
  const piece = fc.constantFrom(
    ...["word ", "Words. ", "東京。", "a_b ", "it's\n", "1,000 ", "? ", "🎉", "é ", "\u{20000}"],
    ...["x".repeat(250), `${"東".repeat(210)} `, "one two three. ".repeat(20)],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const content = pieces.join("");
      const texts = passages(content);
      const found = indexedPassages({ content, speaker: "Word", time: "2023-05-08" });
      for (const [at, text] of (texts.length > 0 ? texts : [""]).entries()) {
        const said = stemmedWords(text);
        const hits = new Map<string, number>();
        for (const word of said) hits.set(word, Math.min(15, (hits.get(word) ?? 0) + 1));
        hits.set("word", (hits.get("word") ?? 0) | BY_SPEAKER);
        for (const word of ["2023", "may", "8"]) hits.set(word, (hits.get(word) ?? 0) | ON_DATE);
        expect(found[at] && hitsOf(found[at])).toEqual(hits);
        expect(found[at]?.length).toBe(Math.min(255, said.length));
        expect((found[at]?.flags ?? 0) & PASSAGE_ASKS).toBe(
          /[?？؟][^\p{L}?？؟]*$/u.test(text) ? PASSAGE_ASKS : 0,
        );
      }
      expect(found).toHaveLength(Math.max(1, texts.length));
    }),
    { numRuns: trials(80, 300) },
  );
});

test("user and assistant are no names", () => {
  const [passage] = indexedPassages({ content: "Hello.", speaker: "assistant" });
  expect([...(passage ? hitsOf(passage).keys() : [])]).toEqual(["hello"]);
});

test("hits count to fifteen, a length to 255", () => {
  const [passage] = indexedPassages({ content: "ab.cd.ef.gh.ij.kl ".repeat(60) });
  expect(passage && hitsOf(passage).get("ab")).toBe(15);
  expect(passage?.length).toBe(255);
});

test.each([
  ["Read any good books lately?", PASSAGE_ASKS],
  ["Did you? 😀", PASSAGE_ASKS],
  ["元気ですか？", PASSAGE_ASKS],
  ["Did you? I did.", 0],
  ["We met yesterday.", ENTRY_SAYS_WHEN],
])("%s", (content, flags) => {
  expect(indexedPassages({ content })[0]?.flags).toBe(flags);
});

test("there is always a passage, be it without words", () => {
  expect(indexedPassages({ content: "?!" })).toHaveLength(1);
  expect(indexedPassages({ content: " " })).toHaveLength(1);
});
