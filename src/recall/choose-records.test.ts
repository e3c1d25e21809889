import { expect, test } from "vitest";
import type { MemoryHit } from "../core/memory-store.ts";
import { chooseRecords, roomPart } from "./choose-records.ts";

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
