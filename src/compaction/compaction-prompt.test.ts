import { expect, test } from "vitest";
import { COMPACTION_PROMPT } from "./compaction-prompt.ts";

test("the prompt is the specification's, word for word", () => {
  const lines = COMPACTION_PROMPT.split("\n");
  expect(lines[0]).toBe(
    "You are performing a CONTEXT COMPACTION. Your job is to create a handoff summary so work can continue seamlessly.",
  );
  expect(lines.slice(1, 9)).toEqual([
    "",
    "Include:",
    "- Current progress and key decisions made",
    "- Important context, constraints, or user preferences discovered",
    "- What remains to be done (clear next steps)",
    "- Any critical data, file paths, examples, or references needed to continue",
    "- Tool call patterns that worked or failed",
    "",
  ]);
  expect(lines[9]).toBe(
    "Be concise and structured. Prioritize information the next context needs to act, not narrate.",
  );
  expect(lines).toHaveLength(10);
});
