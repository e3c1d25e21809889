import { expect, test } from "vitest";
import type { HistoryEntry } from "../core/history-entry.ts";
import type { Message } from "../core/message.ts";
import { supersededMessages } from "./compaction-end.ts";

/** A history of these messages; a string is a system message that came with a turn. */
function history(...parts: readonly (string | "U")[]): HistoryEntry[] {
  let turns = 0;
  return parts.map((part, ordinal) => {
    const message: Message =
      part === "U" ? { role: "user", content: "go on" } : { role: "system", content: part };
    if (part === "U") turns += 1;
    return {
      id: ordinal + 1,
      from: ordinal + 1,
      message,
      timestampMs: 0,
      ordinal,
      turn: turns - 1,
      weight: 400,
    };
  });
}

test("system messages that the session began with are never superseded", () => {
  expect(supersededMessages(history("Be brief.", "Be brief.", "U", "Be brief.", "U"), 0)).toEqual(
    [],
  );
});

test("a later message that begins the same, except for digits, supersedes an earlier one", () => {
  const entries = history(
    "Be brief.",
    "U",
    "Time is 9:00",
    "U",
    "Answer in German.",
    "U",
    "Time is 9:05",
    "U",
  );
  expect(supersededMessages(entries, 10_000)).toEqual([2]);
});

test("when they still take too much, the oldest that came with turns leave, except those of the newest turn", () => {
  const entries = history("Be brief.", "U", "aa", "U", "bb", "U", "cc", "dd", "U");
  expect(supersededMessages(entries, 10_000)).toEqual([]);
  expect(supersededMessages(entries, 400)).toEqual([2]);
  expect(supersededMessages(entries, 100)).toEqual([2, 4]);
});
