import { describe, expect, test } from "vitest";
import type { MemoryHit } from "../core/memory-store.ts";
import { likelyAnswers } from "./likely-answers.ts";

function hit(content: string, match: number, score = match): MemoryHit {
  return { id: content, content, match, score, sessionId: "s", turn: 0, kind: "message" };
}

const contents = (hits: readonly MemoryHit[]) => hits.map(({ content }) => content);

describe("likelyAnswers", () => {
  test("leaves out what has neither much of a question nor the number that it asks for", () => {
    const hits = [hit("Ben is allergic.", 0.3), hit("Ben is 34.", 0.3), hit("Ben's age", 0.5)];
    expect(contents(likelyAnswers(["how old is Ben"], hits))).toEqual(["Ben is 34.", "Ben's age"]);
    expect(likelyAnswers(["who is Ben"], hits)).toEqual(hits);
    expect(likelyAnswers(["how old is Ben", "Ben"], hits)).toEqual(hits);
  });

  test("finds nothing when none of the first hits has the number or the colour that is asked for", () => {
    const hits = [hit("Ben is our gardener.", 0.8), hit("Ben is late.", 0.5)];
    expect(likelyAnswers(["how old is Ben"], hits)).toEqual([]);
    expect(likelyAnswers(["what colour is Ben's car"], hits)).toEqual([]);
    expect(likelyAnswers(["how old is Ben", "Ben"], hits)).toEqual(hits);
    expect(likelyAnswers(["how long does Ben work"], hits)).toEqual(hits);
    const all = [...hits, hit("Ben is 34.", 0.45)];
    expect(likelyAnswers(["how old is Ben"], all)).toEqual(all);
  });

  test.each([
    ["how much does Ben like climbing", "Ben adores climbing."],
    ["how much detail does Ben want", "Ben wants detail only where it is new."],
    ["wie viel Wert legt Ben auf Form", "Ben ist die Form egal."],
    ["combien Ben aime la voile", "Ben adore la voile."],
  ])("keeps a word that answers a degree: %s", (question, content) => {
    const found = [hit(content, 0.8)];
    expect(likelyAnswers([question], found)).toEqual(found);
  });

  test.each([
    "how much is the rent of Ben",
    "how much did Ben pay",
    "wie viel zahlt Ben",
    "combien coûte Ben",
    "cuánto cuesta Ben",
    "quanto costa Ben",
    "hur mycket betalar Ben",
  ])("finds nothing for a price that no hit has: %s", (question) => {
    expect(likelyAnswers([question], [hit("Ben is late.", 0.8)])).toEqual([]);
  });

  test("finds nothing when none of the first hits has the name that is asked for", () => {
    const hits = [hit("The roofer's bill was 340 euros.", 0.6), hit("Ben has a roof.", 0.3)];
    expect(likelyAnswers(["what is the roofer's name"], hits)).toEqual([]);
    const all = [...hits, hit("The roofer is called Oduya.", 0.5)];
    expect(likelyAnswers(["what is the roofer's name"], all)).toEqual(all);
    expect(likelyAnswers(["what is the roofer's name", "roofer"], hits)).toEqual(hits);
  });

  test("leaves out what has little of a question for a person, and names nobody", () => {
    const hits = [hit("The shed was full.", 0.3), hit("Marta likes the shed.", 0.3)];
    expect(contents(likelyAnswers(["who built the shed"], hits))).toEqual([
      "Marta likes the shed.",
    ]);
    const sure = [hit("The shed was full.", 0.6)];
    expect(likelyAnswers(["who built the shed"], sure)).toEqual(sure);
  });

  test("what was said at a time that is asked about may name nobody", () => {
    const hits = [hit("The shed was full.", 0.3)];
    const at = "2026-11-20T10:00:00Z";
    expect(likelyAnswers(["who built the shed yesterday"], hits, at)).toEqual(hits);
    expect(likelyAnswers(["who built the shed"], hits, at)).toEqual([]);
  });

  test("what a comma parts is a list only if no sentence goes on behind it", () => {
    const clause = [hit("Ben pays in cash, never by card.", 0.6)];
    expect(likelyAnswers(["how many employees has Ben"], clause)).toEqual([]);
    const list = [hit("Ben's employees: Ada, Tom.", 0.6)];
    expect(likelyAnswers(["how many employees has Ben"], list)).toEqual(list);
  });

  test("keeps what may be counted, and the question itself", () => {
    const hikes = [hit("Ben hiked up the Rigi.", 0.6), hit("Ben hiked to the lake.", 0.6)];
    expect(likelyAnswers(["how many hikes did Ben do"], hikes)).toEqual(hikes);
    expect(likelyAnswers(["how many hikes did Ben do"], hikes.slice(1))).toEqual([]);
    const children = [hit("Ben has a son and a daughter.", 0.6)];
    expect(likelyAnswers(["how many children has Ben"], children)).toEqual(children);
    const same = [hit("how old is Ben", 1)];
    expect(likelyAnswers(["how old is Ben"], same)).toEqual(same);
  });

  test("has one in the letters of the question first, of those that are as good", () => {
    const hits = [hit("Мы выбрали Postgres.", 0.3), hit("We chose Postgres.", 0.28, 0.2)];
    const found = likelyAnswers(["why Postgres"], hits);
    expect(contents(found)).toEqual(["We chose Postgres.", "Мы выбрали Postgres."]);
    expect(found.map(({ score }) => score)).toEqual([0.3, 0.3]);
    expect(likelyAnswers(["почему Postgres"], hits)).toEqual(hits);
  });

  test("keeps a better one first, whatever its letters are", () => {
    const hits = [hit("Мы выбрали Postgres.", 0.6), hit("We chose Postgres.", 0.28)];
    expect(likelyAnswers(["why Postgres"], hits)).toEqual(hits);
  });
});
