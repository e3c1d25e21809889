import { expect, test } from "vitest";
import { given } from "../core/fields.ts";
import type { MemoryHit } from "../core/memory-store.ts";
import { recalledText, tokensOfRecords } from "../core/recalled.ts";
import { chooseRecords, inOrder, roomPart } from "./choose-records.ts";

test("records have less room, the less sure the best of them is", () => {
  expect(
    [0.35, 0.42, 0.5, 0.6, 0.7, 1].map(roomPart).map((part) => Math.round(100 * part)),
  ).toEqual([25, 30, 50, 75, 100, 100]);
  const recalledWith = (match: number) => {
    const hits = Array.from({ length: 20 }, (_, index): MemoryHit => {
      const content = `Crane ${index} lifts the northern beam of pier ${index}.`;
      return {
        id: String(index),
        content,
        sessionId: "s",
        turn: index,
        kind: "message",
        score: match,
        match,
      };
    });
    const choice = { query: "crane", bar: 0.4, tokensMax: 400, sessionId: "s", isNew: () => true };
    return chooseRecords(hits, choice)?.records.length ?? 0;
  };
  expect(recalledWith(0.45)).toBeGreaterThan(0);
  expect(recalledWith(0.45)).toBeLessThan(recalledWith(0.65));
  expect(recalledWith(0.65)).toBeLessThan(recalledWith(0.85));
});

const hit = (
  id: string,
  content: string,
  match: number,
  more: Partial<MemoryHit> = {},
): MemoryHit => ({
  id,
  content,
  sessionId: "s",
  turn: Number(id),
  kind: "message",
  score: match,
  match,
  ...more,
});
const beside = (id: string, content: string) => ({
  neighbours: { before: [], after: [{ ...hit(id, content, 0), kind: "message" as const }] },
});
const choice = { query: "crane", bar: 0.4, sessionId: "s", isNew: () => true };

test("only the best record brings what was said around it: the others' neighbours would take the room of better records", () => {
  const hits = [
    hit("1", "Which crane do we take?", 0.9, beside("2", "The tall one from the harbour.")),
    hit(
      "5",
      "The crane is too loud.",
      0.8,
      beside("6", "The harbour office opens at seven on weekdays."),
    ),
    hit("9", "A crane costs 900 euros a day.", 0.7),
  ];
  const chosen = chooseRecords(hits, { ...choice, tokensMax: 400 });
  expect(chosen?.records.map(({ id }) => id)).toEqual(["1", "2", "5", "9"]);
});

test("a record that has no room leaves it to a shorter one", () => {
  const hits = [
    hit("1", "The crane is booked for Monday.", 0.9),
    hit("2", "The crane's papers say what it carries, and where it stood. ".repeat(9), 0.85),
    hit("3", "The crane leaves on Friday.", 0.8),
  ];
  const chosen = chooseRecords(hits, { ...choice, tokensMax: 100 });
  expect(chosen?.records.map(({ id }) => id)).toEqual(["1", "3"]);
});

test("of two records that differ the later one stands last, in whichever session it was said", () => {
  const said = (id: string, sessionId: string, time: string, content: string) =>
    hit(id, content, 0.8, { sessionId, time: `2026-03-0${time}:00.000Z` });
  const hits = [
    said("1", "a", "2T09:00", "The crane is booked for Monday."),
    said("2", "b", "2T15:00", "The crane costs 900 euros."),
    said("3", "a", "2T18:00", "The crane stands at the northern pier."),
    said("4", "s", "1T09:00", "The crane is red."),
    said("5", "b", "3T09:00", "The crane is loud."),
  ];
  const chosen = chooseRecords(hits, { ...choice, tokensMax: 1000 });
  expect(chosen?.records.map(({ id }) => id)).toEqual(["4", "1", "2", "3", "5"]);
  const text = recalledText(chosen?.records ?? []);
  expect(text.match(/^Session a, 2026-03-02:$/gm)).toHaveLength(2);
  expect(chosen?.tokens).toBe(tokensOfRecords(chosen?.records ?? []));
  // A heading that stands twice has its room.
  for (let tokensMax = 60; tokensMax < 200; tokensMax += 1) {
    const { tokens, records } = chooseRecords(hits, { ...choice, tokensMax }) ?? {
      tokens: 0,
      records: [],
    };
    expect(Math.max(tokens, tokensOfRecords(records))).toBeLessThanOrEqual(tokensMax);
  }
});

test("records of different zones stand in the order in which they were said, those without a time first", () => {
  const times = [
    "2026-05-08T22:00:00Z",
    "2026-05-08T23:00:00+02:00",
    "2026-05-08T15:30:00-06:00",
    undefined,
    "2026-05-08",
  ];
  const records = times.map((time, turn) => ({
    id: `${turn}`,
    turn,
    said_by: "user",
    score: 1,
    text: "The port is another one.",
    ...given({ time }),
  }));
  expect(inOrder(records).map(({ time }) => time)).toEqual([
    undefined,
    "2026-05-08",
    "2026-05-08T23:00:00+02:00",
    "2026-05-08T15:30:00-06:00",
    "2026-05-08T22:00:00Z",
  ]);
});

test("a record of the first moment of Unix time has a time", () => {
  const times = ["1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", undefined];
  const records = times.map((time, turn) => ({
    ...{ id: `${turn}`, turn, said_by: "user", score: 1, text: "The port is another one." },
    ...given({ time }),
  }));
  expect(inOrder(records).map(({ time }) => time)).toEqual([undefined, times[1], times[0]]);
});
