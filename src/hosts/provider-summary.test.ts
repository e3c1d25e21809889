import { expect, test } from "vitest";
import type { SummaryRequest } from "../compaction/compact-history.ts";
import { summaryByProvider, WithoutAnswer } from "./provider-summary.ts";

/** Names who is asked at each compaction: a provider that always refuses, or an own way that sometimes fails. */
async function askedAt(compactions: readonly ("own fails" | "own answers")[]): Promise<string[]> {
  const without = new WithoutAnswer();
  const asked: string[] = [];
  const request: SummaryRequest = {
    messages: [{ role: "user", content: "The crane lifts the cargo. ".repeat(400) }],
    maxTokens: 500,
    closing: "Sum up.",
    signal: new AbortController().signal,
    sent: () => ({ messages: [], tokens: 1_000, room: 5_000 }),
  };
  for (const outcome of compactions) {
    const counted = { tokens: 1_000, cached: 900, atMs: Date.now() };
    const ask = async () => {
      asked.push("the provider");
      throw new Error("no quota");
    };
    const own = async () => {
      asked.push("own");
      if (outcome === "own fails") throw new Error("no quota");
      return "The crane lifted the cargo.";
    };
    const summarize = summaryByProvider({ model: "openai/gpt", counted, ask }, own, without);
    await summarize(request).catch(() => {});
  }
  return asked;
}

test("a provider that refuses is left out the next time, and asked again after that", async () => {
  const asked = await askedAt(["own answers", "own answers", "own answers"]);
  expect(asked).toEqual(["the provider", "own", "own", "the provider", "own"]);
});

test("where everything is refused, it is asked in one way only, until a summary is written", async () => {
  const asked = await askedAt([
    "own fails",
    "own fails",
    "own fails",
    "own answers",
    "own answers",
  ]);
  expect(asked).toEqual(["the provider", "own", "own", "own", "own", "the provider", "own"]);
});
