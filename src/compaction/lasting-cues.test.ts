import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LASTING_CUES, lastingCues, SURE_CUES } from "./lasting-cues.ts";

const SUPPORT = join(import.meta.dirname, "../../test/support");

/** The part of a file's sentences that has so many cues. */
function partWith(cues: number, file: string): number {
  const sentences = readFileSync(join(SUPPORT, file), "utf8").trim().split("\n");
  return sentences.filter((text) => lastingCues(text) >= cues).length / sentences.length;
}

test("most of what people say to hold has cues, and little of what is done with its answer", () => {
  expect(partWith(LASTING_CUES, "lasting-sentences.txt")).toBeGreaterThan(0.88);
  expect(partWith(LASTING_CUES, "passing-sentences.txt")).toBeLessThan(0.2);
  expect(partWith(SURE_CUES, "lasting-sentences.txt")).toBeGreaterThan(0.55);
  expect(partWith(SURE_CUES, "passing-sentences.txt")).toBeLessThan(0.08);
});
