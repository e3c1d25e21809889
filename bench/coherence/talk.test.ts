import { expect, test } from "vitest";
import { beginningOf, summariserOf, talkOf } from "./talk.ts";
import { TURNS_WITH_WISHES, WISHES, wishfulTalk } from "./wishes.ts";

const SAID = [
  ["Ada", "Hi. Are you in Kiel?"],
  ["Ada", "I am on the ferry."],
  ["Ben", "Kiel is behind me."],
  ["Ada", "Which way do you go?"],
  ["Ben", "To the north, along the coast."],
  ["Ben", "And then to Oslo."],
] as const;

const talk = talkOf({
  id: "a talk",
  entries: SAID.map(([speaker, content], turn) => {
    return { id: `m${turn}`, content, speaker, sessionId: "s", turn, kind: "message" } as const;
  }),
  questions: [
    { text: "Where is Ada?", relevant: ["m1"] },
    { text: "Where is Zoe?", relevant: [] },
  ],
});

test("who speaks first asks, and what is said in a row belongs together", () => {
  const texts = talk.exchanges.map(({ asked, answered }) =>
    [asked, answered].map((said) => said.map(({ text }) => text)),
  );
  const [hi, ferry, behind, way, north, oslo] = SAID.map(([, text]) => text);
  expect(texts).toEqual([
    [[hi, ferry], [behind]],
    [[way], [north, oslo]],
  ]);
  expect(talk.questions).toEqual([{ text: "Where is Ada?", relevant: ["m1"] }]);
  expect(beginningOf(talk, 20)).toEqual(talk.exchanges.slice(0, 1));
  expect(beginningOf(talk, 1000)).toEqual(talk.exchanges);
});

test("a summary has sentences of what it is given, and no others", () => {
  const summarise = summariserOf(talk);
  expect(summarise("user: Hi. Are you in Kiel?\nuser: I am on the ferry.")).toBe(
    "Are you in Kiel?\nI am on the ferry.",
  );
  const long = Array.from({ length: 100 }, (_, index) => `This is sentence ${index}.`);
  const summary = summariserOf({
    exchanges: [{ asked: [{ text: long.join(" ") }], answered: [] }],
  });
  expect(summary(long.join(" ")).split("\n")).toHaveLength(24);
});

test("each wish is said once, and early", () => {
  const said: string[] = [];
  for (const { asked } of wishfulTalk(1)) {
    said.push(...asked.map(({ text }) => text));
    if (said.length === TURNS_WITH_WISHES) break;
  }
  for (const wish of WISHES) expect(said.filter((text) => text.includes(wish))).toHaveLength(1);
  expect(new Set(WISHES).size).toBe(36);
});
