import { expect, test } from "vitest";
import { indexedPassages } from "./indexed-passages.ts";
import { BY_SPEAKER, ENTRY_SAYS_WHEN, ON_DATE, PASSAGE_ASKS } from "./passage-index.ts";

test("a passage has its words with how often it says them, the speaker and the date", () => {
  const [passage] = indexedPassages({
    content: "Painted a lake, painted a May sunrise!",
    speaker: "May Stone",
    time: "2023-05-08T13:56",
  });
  expect(Object.fromEntries(passage?.words ?? [])).toEqual({
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

test("user and assistant are no names", () => {
  const [passage] = indexedPassages({ content: "Hello.", speaker: "assistant" });
  expect([...(passage?.words.keys() ?? [])]).toEqual(["hello"]);
});

test("hits count to fifteen, a length to 255", () => {
  const [passage] = indexedPassages({ content: "ab.cd.ef.gh.ij.kl ".repeat(60) });
  expect(passage?.words.get("ab")).toBe(15);
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
