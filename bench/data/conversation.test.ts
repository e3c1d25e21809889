import { expect, test } from "vitest";
import { sampled } from "../../test/support/trials.ts";
import { CONVERSATION_ENTRIES, conversation } from "./conversation.ts";
import { madeUpBatches, madeUpQuestions } from "./entries.ts";
import { VOCABULARY_SIZE, wordOf } from "./vocabulary.ts";

test("a made-up conversation is the same each time, and another for another number or seed", () => {
  expect(conversation(7, 1)).toEqual(conversation(7, 1));
  expect(conversation(7, 1).entries).not.toEqual(conversation(8, 1).entries);
  expect(conversation(7, 1).entries).not.toEqual(conversation(7, 2).entries);
  expect(conversation(7, 1).entries[0]).toMatchInlineSnapshot(`
    {
      "content": "Croulting plestrall nas is voacramped so flaist the at. Were from goark!",
      "id": "conversation-7/0/0",
      "kind": "message",
      "role": "user",
      "sessionId": "conversation-7/session-0",
      "speaker": "Petra",
      "time": "2023-02-20T09:00:00.000Z",
      "turn": 0,
    }
  `);
});

test("its questions are answered by entries that it has", () => {
  const { entries, questions } = conversation(3, 1);
  const ids = new Set(entries.map(({ id }) => id));
  expect(questions.length).toBeGreaterThan(50);
  expect(questions.flatMap(({ relevant }) => relevant).filter((id) => !ids.has(id))).toEqual([]);
  expect(questions.some(({ relevant }) => relevant.length === 0)).toBe(true);
});

test("no two ranks have the same word", () => {
  const words = Array.from({ length: VOCABULARY_SIZE }, (_, rank) => wordOf(rank));
  expect(new Set(words).size).toBe(VOCABULARY_SIZE);
});

test("entries are the same ones, however many are made at a time and wherever one begins", () => {
  const size = 2 * CONVERSATION_ENTRIES + 50;
  const all = [...madeUpBatches(0, size, 100)].flat();
  expect(all.length).toBe(size);
  expect(new Set(all.map(({ id }) => id)).size).toBe(size);
  expect([...madeUpBatches(0, size, 7)].flat()).toEqual(all);
  expect([...madeUpBatches(299, size, 100)].flat()).toEqual(all.slice(299));
});

test("questions are about entries that are there, as many as are wanted", () => {
  const sizes = [
    [300, 20],
    [3_000, 100],
    [9_000, 20],
  ] as const;
  for (const [size, count] of sampled(sizes, { of: 3, at: 1 }, "cases")) {
    const ids = new Set([...madeUpBatches(0, size, 100)].flat().map(({ id }) => id));
    const questions = madeUpQuestions(size, count);
    expect(questions.length).toBe(count);
    expect(new Set(questions.map(({ text }) => text)).size).toBeGreaterThan(count * 0.9);
    for (const { relevant } of questions) {
      expect(relevant.length).toBeGreaterThan(0);
      expect(relevant.every((id) => ids.has(id))).toBe(true);
    }
  }
});
