import { expect, test } from "vitest";
import { nearestName } from "./nearest-name.ts";

const NAMES = ["model", "compaction", "compaction.auto_compact_threshold", "memory.enabled"];

test.each([
  ["modle", "model"],
  ["compactoin", "compaction"],
  ["compaction.auto_compact_treshold", "compaction.auto_compact_threshold"],
  ["auto_compact_threshold", "compaction.auto_compact_threshold"],
])("%s was meant to be %s", (name, meant) => {
  expect(nearestName(name, NAMES)).toBe(meant);
});

test("a name like no other suggests nothing", () => {
  expect(nearestName("telemetry", NAMES)).toBeUndefined();
});
