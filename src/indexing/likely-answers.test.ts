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
