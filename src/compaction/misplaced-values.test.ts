import { describe, expect, test } from "vitest";
import { withValuesBack } from "./misplaced-values.ts";

const RECORD = [
  "We have 48 chairs in the library, and 19 in the annex.",
  "Der Zug nach Lindau kostet 64 Euro, der Bus 23 Euro.",
  "CACHE_SIZE=512\nPOOL_SIZE=64",
  "Odile writes the minutes; Tomasz keeps the books.",
  "The grant report is due on 2 April 2027, the audit starts at 10:30.",
  "Le train part le 9 septembre.",
  "Dr. Brandt opens the day, Prof. Ilves closes it.",
  "Room 12 is for Dr. Brandt. Room 31 is for Prof. Ilves.",
  "The fast line has 9 stops, the slow line has 22 stops.",
].map((text) => ({ text, isRead: false }));
const back = (summary: string, record: readonly { text: string; by?: string }[] = RECORD) =>
  withValuesBack(
    summary,
    record.map((said) => ({ isRead: false, ...said })),
  ).text;

describe("values go back to what has them on record", () => {
  test.each([
    [
      "19 chairs are in the library and 48 in the annex.",
      "48 chairs are in the library and 19 in the annex.",
    ],
    [
      "Nach Lindau: der Zug 23 Euro, der Bus 64 Euro.",
      "Nach Lindau: der Zug 64 Euro, der Bus 23 Euro.",
    ],
    ["CACHE_SIZE is 64. POOL_SIZE is 512.", "CACHE_SIZE is 512. POOL_SIZE is 64."],
    [
      "Tomasz writes the minutes, Odile keeps the books.",
      "Odile writes the minutes, Tomasz keeps the books.",
    ],
    [
      "Dr. Brandt gets room 31, Prof. Ilves room 12.",
      "Dr. Brandt gets room 12, Prof. Ilves room 31.",
    ],
    [
      "Prof. Ilves opens the day, and it is closed by Dr. Brandt.",
      "Dr. Brandt opens the day, and it is closed by Prof. Ilves.",
    ],
    [
      "The fast line has 9 stops and the slow one 22.",
      "The fast line has 9 stops and the slow one 22.",
    ],
    [
      "The fast line has 22 stops and the slow one 9.",
      "The fast line has 9 stops and the slow one 22.",
    ],
    ["The grant report is due on 2 August 2027.", "The grant report is due on 2 April 2027."],
    ["The audit starts at 11:30.", "The audit starts at 10:30."],
    ["Le train part le 9 octobre.", "Le train part le 9 septembre."],
  ])("%s", (summary, expected) => {
    expect(back(summary)).toBe(expected);
    expect(back(expected)).toBe(expected);
  });

  test("a demand goes back to the person who made it", () => {
    const record = [
      { text: "Please keep the archive for ten years.", by: "Odile" },
      { text: "I would drop the ticker.", by: "Tomasz" },
    ];
    expect(
      back("Tomasz wants the archive kept for ten years. Odile would drop the ticker.", record),
    ).toBe("Odile wants the archive kept for ten years. Tomasz would drop the ticker.");
  });
});

describe("what is right, or not sure, stays", () => {
  test.each([
    "The annex has 19 chairs and the library 48.",
    "Altogether there are 67 chairs in the library and in the annex.",
    "The grant report was sent. The audit starts at 10:30 am.",
    "Both sizes: CACHE_SIZE 512, POOL_SIZE 64, together 576.",
    "The minutes are Odile's, and the books Tomasz's.",
    "There are 48 tables in the hall and 19 lamps in the cellar.",
    "Le train part le 9 September.",
  ])("%s", (summary) => expect(back(summary)).toBe(summary));

  test("a time may be written in twelve hours", () => {
    const record = [{ text: "The recital begins on Friday at 4:30 pm." }];
    expect(back("The recital begins on Friday at 16:30.", record)).toContain("16:30");
  });

  test("what was exchanged on record, too, may be told in both ways", () => {
    const record = [...RECORD, { text: "No: 19 chairs in the library, and 48 in the annex." }];
    const summary = "19 chairs are in the library and 48 in the annex.";
    expect(back(summary, record)).toBe(summary);
  });
});
