import { expect, test } from "vitest";
import type { SummaryRequest } from "../compaction/compact-history.ts";
import { summaryByProvider, WithoutAnswer } from "./provider-summary.ts";

test("a provider that refuses is left out the next time, and asked again after that", async () => {
  const without = new WithoutAnswer();
  const asked: string[] = [];
  const request: SummaryRequest = {
    messages: [{ role: "user", content: "The crane lifts the cargo. ".repeat(400) }],
    maxTokens: 500,
    closing: "Sum up.",
    signal: new AbortController().signal,
    sent: () => ({ messages: [], tokens: 1_000, room: 5_000 }),
  };
  for (let compaction = 0; compaction < 3; compaction += 1) {
    const counted = { tokens: 1_000, cached: 900, atMs: Date.now() };
    const ask = async () => {
      asked.push("the provider");
      throw new Error("no quota");
    };
    const own = async () => {
      asked.push("own");
      return "The crane lifted the cargo.";
    };
    await summaryByProvider({ model: "openai/gpt", counted, ask }, own, without)(request);
  }
  expect(asked).toEqual(["the provider", "own", "own", "the provider", "own"]);
});
