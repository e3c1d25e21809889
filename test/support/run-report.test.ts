import { expect, test } from "vitest";
import {
  renderFailure,
  renderProgress,
  renderSamples,
  renderSkipped,
  renderSlowest,
} from "./run-report.ts";

test("skipped tests are grouped by reason, and a reason of one test names it", () => {
  const skipped = [
    { name: "a", reason: "no disk" },
    { name: "b\nc", reason: "root may do everything" },
    { name: "d", reason: "no disk" },
  ];
  expect(renderSkipped(skipped)).toEqual([
    "Skipped: 3",
    "  2 no disk",
    "  1 root may do everything (b c)",
  ]);
  expect(renderSkipped([])).toEqual([]);
});

test("however many reasons there are, eleven lines name them, and none is long", () => {
  const skipped = Array.from({ length: 30 }, (_, at) => ({
    name: `${at}`,
    reason: `reason ${at} `.repeat(30),
  }));
  const lines = renderSkipped(skipped);
  expect(lines).toHaveLength(12);
  expect(lines.at(-1)).toBe("  20 for other reasons");
  expect(Math.max(...lines.map((line) => line.length))).toBe(120);
});

test("the slowest five come with their times", () => {
  const tests = [1, 5, 3, 6, 4, 2].map((ms) => ({
    file: "a.test.ts",
    name: `${ms}`,
    ms: ms * 100,
  }));
  expect(renderSlowest(tests)).toEqual([
    "Slowest:",
    "    0.6 s  a.test.ts > 6",
    "    0.5 s  a.test.ts > 5",
    "    0.4 s  a.test.ts > 4",
    "    0.3 s  a.test.ts > 3",
    "    0.2 s  a.test.ts > 2",
  ]);
});

test("a failure says what, why, where, and how to see it again", () => {
  const cause = { name: "TypeError", message: "x is not a function", places: [] };
  const error = {
    message: "expected 1\nto be 2",
    diff: "- 2\n+ 1",
    places: ["a.test.ts:1:2"],
    cause,
  };
  expect(renderFailure({ title: "a.test.ts > b", errors: [error], command: "npx vitest" })).toEqual(
    [
      "✗ a.test.ts > b",
      "  expected 1",
      "  to be 2",
      "  - 2",
      "  + 1",
      "  at a.test.ts:1:2",
      "  caused by:",
      "    TypeError: x is not a function",
      "  Repeat: npx vitest",
      "",
    ],
  );
});

test("progress counts tests, files and failures", () => {
  const progress = { tests: 640, failed: 0, files: 12, filesInAll: 120, ms: 9600 };
  expect(renderProgress(progress)).toBe("10 %: 640 tests, 12 of 120 files, 10 s");
  expect(renderProgress({ ...progress, failed: 2 })).toContain("120 files, 2 failed, 10 s");
});

test("what runs in part is counted by kind, in the short form and in all", () => {
  const files = [
    { attacks: { run: 15, all: 57 }, cases: { run: 4, all: 4 } },
    {},
    { attacks: { run: 2, all: 3 }, "random trials": { run: 10, all: 500 } },
  ];
  expect(renderSamples(files)).toEqual([
    "In part; npm run test:long runs all:",
    "  attacks: 17 of 60",
    "  random trials: 10 of 500",
  ]);
  expect(renderSamples([{ attacks: { run: 57, all: 57 } }, {}])).toEqual([]);
});
