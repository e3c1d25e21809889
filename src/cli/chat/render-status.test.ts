import { expect, test } from "vitest";
import { PLAIN } from "../render/style.ts";
import { renderStart, renderStatus } from "./render-status.ts";

const STATUS = {
  model: "openai/gpt-5.2",
  sessionId: "01930000-0000-7000-8000-000000000000",
  usedTokens: 4200,
  tokensMax: 100_000,
  compacts: true,
};

test.each([
  [100, "openai/gpt-5.2 · 01930000-0000 · ░░░░░░░░░░ 4 % of 100 000 tokens, then a compaction"],
  [80, "openai/gpt-5.2 · ░░░░░░░░░░ 4 % of 100 000 tokens, then a compaction"],
  [40, "openai/gpt-5.2 · ░░░░░░░░░░ 4 %"],
  [20, "░░░░░░░░░░ 4 %"],
  [10, "4 %"],
])("%j columns show what fits", (columns, expected) => {
  expect(renderStatus(STATUS, columns, PLAIN)).toEqual([expected]);
});

test("a history that is over its limit fills the gauge", () => {
  expect(renderStatus({ ...STATUS, usedTokens: 130_000 }, 40, PLAIN)).toEqual([
    "openai/gpt-5.2 · ██████████ 130 %",
  ]);
});

test("the first screen says which model answers, and what is remembered", () => {
  const start = { version: "1.2.3", model: "openai/gpt-5.2", folder: "~/project", rules: 1 };
  expect(renderStart({ ...start, memory: { entries: 1200, sessions: 3 } }, PLAIN)).toBe(
    "rkat 1.2.3 · openai/gpt-5.2 · ~/project\n" +
      "Remembers 1 200 entries of 3 sessions: /memory searches, /resume continues. 1 rule for new sessions: /rules.\n" +
      "/help lists the commands. Ctrl-D leaves.",
  );
  expect(renderStart({ ...start, rules: 0, tools: "Tools: read_file." }, PLAIN)).toContain(
    "~/project\nTools: read_file.\nMemory is off.",
  );
});
