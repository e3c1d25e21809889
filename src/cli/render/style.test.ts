import { expect, test } from "vitest";
import { PLAIN, renderTable } from "./style.ts";

const COLUMNS = [
  { title: "SETTING" },
  { title: "VALUE", align: "right" },
  { title: "FROM" },
] as const;
const ROWS = [
  ["compaction.recent_turn_budget", "4", "default"],
  ["model", "openai/gpt-5", ""],
];

test("a text that may be cut makes room for the table", () => {
  const columns = [{ title: "ID" }, { title: "TEXT", least: 8 }];
  const rows = [["@1", "a long story of 東京"]];
  const table = (room?: number) => renderTable(columns, rows, PLAIN, room);
  expect(table()).toBe("ID  TEXT\n@1  a long story of 東京\n");
  expect(table(20)).toBe("ID  TEXT\n@1  a long story of…\n");
  expect(table(12)).toBe("ID  TEXT\n@1  a long…\n");
  expect(table(10)).toBe("@1\n  TEXT  a long…\n");
});

test("a table that does not fit is a paragraph for each row", () => {
  const table = renderTable(COLUMNS, ROWS, PLAIN);
  const width = Math.max(...table.split("\n").map((line) => line.length));
  expect(renderTable(COLUMNS, ROWS, PLAIN, width)).toBe(table);
  expect(renderTable(COLUMNS, ROWS, PLAIN, width - 1)).toMatchInlineSnapshot(`
    "compaction.recent_turn_budget
      VALUE  4
      FROM   default
    model
      VALUE  openai/gpt-5
    "
  `);
});
