import { expect, test } from "vitest";
import { styleFor } from "../render/style.ts";
import { renderHandoff } from "./handoff-command.ts";

test("credentials that were replaced are counted by kind", () => {
  const report = {
    messages: 4,
    tokens: 900,
    tokensMax: 8000,
    quotes: { Goal: 1 },
    lastMessages: 4,
    names: { found: 0, kept: 0, lost: [] },
    redacted: { "aws-access-key": 2, "github-token": 1 },
  };
  const about = { file: undefined, start: undefined, to: "markdown" } as const;
  const plain = styleFor({ isTerminal: false }, {});
  expect(renderHandoff(report, about, plain)).toMatch(/redacted +aws-access-key 2, github-token 1/);
});
