import { expect, test } from "vitest";
import type { SessionCost } from "../../core/operations/cost.ts";
import { renderCost } from "./render-cost.ts";
import { styleFor } from "./style.ts";

const plain = styleFor({ isTTY: false } as never, {});

const usage = (inputTokens: number, cacheReadTokens: number | null) => ({
  inputTokens,
  outputTokens: 20,
  cacheReadTokens,
  cacheCreationTokens: null,
});

const COST: SessionCost = {
  sessionId: "s",
  usage: usage(81_000, 36_000),
  costUsd: 0.1234,
  calls: 4,
  unpricedModels: ["own/\u001b[31mmodel"],
  turns: [
    {
      turn: 2,
      usage: usage(41_000, 36_000),
      costUsd: 0.0234,
      calls: [
        { seq: 9, wrote: "summary", model: "m", usage: usage(12_000, null), costUsd: 0.01 },
        { seq: 11, wrote: "answer", model: "m", usage: usage(29_000, 36_000), costUsd: 0.0134 },
      ],
      compactions: [
        {
          seq: 9,
          kind: "compacted",
          summary: { usage: usage(12_000, null), costUsd: 0.01 },
          rewrittenTokens: 4000,
          rewrittenUsd: 0.0108,
          savedTokensPerCall: 11_000,
          callsSince: 1,
          savedTokens: 11_000,
          savedUsd: 0.0033,
        },
      ],
    },
  ],
  earlier: { turns: 2, calls: 2, usage: usage(40_000, null), costUsd: 0.1 },
  compacting: {
    compacted: 1,
    pruned: 0,
    failed: 0,
    summaries: { usage: usage(12_000, null), costUsd: 0.01 },
    rewrittenTokens: 4000,
    rewrittenUsd: 0.0108,
    savedTokens: 11_000,
    savedUsd: 0.0033,
  },
  recalled: { times: 1, tokens: 900 },
};

test("where a provider counts no tokens, no share of them is told", () => {
  const usage = { ...COST.usage, inputTokens: 0 };
  const text = renderCost({ ...COST, usage }, plain);
  expect(text).toContain("\nThe provider counted no input tokens.\n");
  expect(text).not.toContain("came back from memory");
});

test("what a session cost is a table with a sum, and a sentence for each compaction", () => {
  expect(renderCost(COST, plain)).toMatchInlineSnapshot(`
    "     TURN  CALLS   INPUT  CACHED  WRITTEN  OUTPUT     COST
    2 earlier      2  40 000                       20  $0.1000
            2      2  41 000  36 000               20  $0.0234
          all      4  81 000  36 000               20  $0.1234
    Turn 2, compacted: a summary for 12 000 tokens ($0.0100); about 4 000 tokens ($0.0108) read again; about 11 000 tokens less in the call since ($0.0033).
    About 900 of the 81 000 input tokens came back from memory.
    No price is known for own/�[31mmodel: its tokens have no cost here. Set it under [prices].
    In US dollars, by your [prices] or else the list prices of 2026-07-20.
    "
  `);
});

test("a session without a call has no money, and no notes", () => {
  const none = { ...usage(0, null), outputTokens: 0 };
  const empty = {
    ...COST,
    usage: none,
    costUsd: null,
    calls: 0,
    unpricedModels: [],
    turns: [],
    earlier: { turns: 0, calls: 0, usage: none, costUsd: null },
    recalled: { times: 0, tokens: 0 },
  };
  expect(renderCost(empty, plain).split("\n").filter(Boolean)).toHaveLength(2);
});
