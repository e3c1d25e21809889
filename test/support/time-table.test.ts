import { expect, test } from "vitest";
import { renderTimes } from "./time-table.ts";

test("files come with their kinds of time, the longest first, and tests from two seconds", () => {
  const none = { servers: 0, processes: 0, computing: 0, waiting: 0 };
  const files = [
    { name: "a.test.ts", spent: { ...none, computing: 1500 } },
    { name: "b.test.ts", spent: { ...none, servers: 2000, waiting: 1000 } },
  ];
  const tests = [
    { name: "a.test.ts > short", spent: { ...none, computing: 1999 } },
    { name: "b.test.ts > long", spent: { ...none, waiting: 2001 } },
  ];
  const lines = renderTimes(files, tests);
  expect(lines.slice(lines.findIndex((line) => line.includes("in all  ")))).toEqual([
    "    in all   servers processes computing   waiting",
    "       4.5       2.0       0.0       1.5       1.0  all 2 files",
    "       3.0       2.0       0.0       0.0       1.0  b.test.ts",
    "       1.5       0.0       0.0       1.5       0.0  a.test.ts",
    "",
    "Tests over 2 s: 1",
    "    in all   servers processes computing   waiting",
    "       2.0       0.0       0.0       0.0       2.0  b.test.ts > long",
  ]);
  expect(renderTimes(files, []).at(-1)).toBe("No test took more than 2 s.");
});
