import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { trials } from "../../../test/support/trials.ts";
import { askedWords } from "../words/words.ts";
import { hasOnlyStopWords, readQuestion, saysNothing } from "./question.ts";

describe("a question", () => {
  test("is asked without stop words, each word once", () => {
    const { words } = readQuestion("What did the cat do to the other cat's dish?");
    expect(words).toEqual(["cat", "dish"]);
  });

  test.each([
    "who are you",
    "Who am I?",
    "the of and",
    "OK",
    "yes please",
    "it's",
    "The. It.",
    "was ist das",
    "где он",
    "它是什么",
  ])("of stop words alone has no words: %s", (query) => {
    expect(readQuestion(query).words).toEqual([]);
    expect(saysNothing(query)).toBe(true);
  });

  test.each([
    ["The Who", ["who"]],
    ["who is IT", ["it"]],
    ["US", ["us"]],
    ['"to be or not to be"', ["to", "be", "or", "not"]],
    ["what is “that”", ["that"]],
    ["was ist «that»", ["ist"]],
    ["who was at The Who", ["the", "who"]],
    ["it 8", ["8"]],
  ])("of stop words has those that are written like a name: %s", (query, expected) => {
    expect(readQuestion(query).words).toEqual(expected);
    expect(saysNothing(query)).toBe(false);
  });

  test.each(["", "!!!", " "])("without any words is not one of stop words: %j", (query) => {
    expect(saysNothing(query)).toBe(false);
    expect(hasOnlyStopWords(query)).toBe(false);
  });

  test.each([
    ["Wie ist die Adresse der Brauerei?", ["adresse", "brauerei"]],
    ["How did the plants die?", ["plants", "die"]],
    ["Die Hard", ["die", "hard"]],
    ["quelle est la couleur de la porte", ["couleur", "porte"]],
    ["где лежит ключ от подвала", ["лежит", "ключ", "подвала"]],
    ["为什么不用Kafka", ["不用", "kafka"]],
    ["周会几点开始", ["周会", "开始"]],
    ["会議はいつですか", ["会議"]],
    ["is there anything somewhere about plants", ["plants"]],
    ["Was war vor dem Umbau?", ["umbau"]],
    ["¿hay algo sobre la puerta?", ["puerta"]],
    ["weet iemand iets van de deur", ["weet", "deur"]],
    ["todo list", ["todo", "list"]],
  ])("is asked without the stop words of its language: %s", (query, expected) => {
    expect(readQuestion(query).words).toEqual(expected);
  });

  test.each([
    ["Söhne", ["soehn"]],
    ["die Straße", ["strass"]],
    ["København", ["kobenhavn", "koebenhavn"]],
    ["أحمد", "احمد إحمد آحمد الاحمد الأحمد الإحمد الآحمد والأحمد بالأحمد للأحمد".split(" ")],
    ["Zoë at the café", []],
  ])("is asked in the other spellings of its letters too: %s", (query, expected) => {
    expect([...readQuestion(query).otherForms.values()].flat()).toEqual(expected);
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

test("hyphens for the end of a line, which are not seen, part no word", () => {
  const copied = readQuestion("Which po\u00adrt does sta\u00adging\u2060 use?");
  expect(copied).toEqual(readQuestion("Which port does staging use?"));
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
    { numRuns: trials(250, 1000) },
  );
});

test("a question with its time is read once, whatever is asked of it", () => {
  const at = "2026-11-26T10:00:00+01:00[Europe/Berlin]";
  const question = readQuestion("what did we say of the harbour yesterday", at);
  expect(saysNothing("what did we say of the harbour yesterday", at)).toBe(false);
  expect(readQuestion("what did we say of the harbour yesterday", at)).toBe(question);
});

test("a question says something, or nothing, whenever it is asked", () => {
  const at = "2026-11-26T10:00:00+01:00[Europe/Berlin]";
  for (const query of [
    "what is it",
    "was war gestern",
    "what did I say yesterday",
    "May",
    "IT",
    "",
    "…",
  ])
    expect(saysNothing(query, at), query).toBe(saysNothing(query));
  expect(saysNothing("what was it yesterday", at)).toBe(false);
  expect(saysNothing("what is it", at)).toBe(true);
});

test("the sign of a long vowel is no word", () => {
  expect(readQuestion("ペルーの首都").words).not.toContain("ー");
});

test("the sign that makes a picture of a character is no word of a question", () => {
  expect(readQuestion("❤️ pasta ☕️").words).toEqual(["❤", "pasta", "☕"]);
  expect(readQuestion("❤️").words).toEqual(["❤"]);
});
