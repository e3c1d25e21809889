import { expect, test } from "vitest";
import type { DurableEvent, StoredEvent } from "./event.ts";
import { TokenCounts } from "./token-counts.ts";

const MODEL = "anthropic/claude";

function counts(...events: readonly DurableEvent[]): TokenCounts {
  const result = new TokenCounts();
  events.forEach((event, index) => {
    const stored: StoredEvent = {
      event_id: "",
      timestamp_ms: 0,
      event,
      seq: index + 1,
      schema_version: 1,
    };
    result.note(stored);
  });
  return result;
}

function counted(estimated: number, input_tokens: number, model = MODEL): DurableEvent {
  const usage = {
    input_tokens,
    output_tokens: 1,
    cache_creation_tokens: null,
    cache_read_tokens: null,
  };
  return {
    type: "turn_completed",
    stop_reason: "end_turn",
    usage,
    model,
    estimated_input_tokens: estimated,
  };
}

const pruned: DurableEvent = {
  type: "tool_output_pruned",
  pruned: [],
  tokens_before: 1,
  tokens_after: 0,
};

test("what was counted is known, what came since is estimated by the same factor", () => {
  const known = counts(counted(10_000, 15_000));
  expect(known.expected(MODEL, 10_000)).toBe(15_000);
  expect(known.expected(MODEL, 12_000)).toBe(18_000);
});

test("a rebuilt history is estimated by the factor alone", () => {
  expect(counts(counted(10_000, 15_000), pruned).expected(MODEL, 4000)).toBe(6000);
});

test("a factor rises at once and falls slowly, and is never below 1", () => {
  const known = counts(counted(10_000, 20_000), counted(10_000, 10_000), pruned);
  expect(known.expected(MODEL, 8000)).toBe(15_000);
  expect(counts(counted(10_000, 3000), pruned).expected(MODEL, 8000)).toBe(8000);
});

test("each model has its own", () => {
  const known = counts(counted(10_000, 20_000));
  expect(known.expected("openai/gpt", 10_000)).toBe(10_000);
  expect(known.knows("openai/gpt")).toBe(false);
});

test("a count of next to nothing, or none, teaches nothing", () => {
  expect(counts(counted(20, 900), pruned).expected(MODEL, 1000)).toBe(1000);
  expect(counts(counted(10_000, 0)).knows(MODEL)).toBe(false);
});

test("an overflow teaches, and teaches more when it comes again", () => {
  const overflow: DurableEvent = {
    type: "context_overflow",
    model: MODEL,
    estimated_input_tokens: 50_000,
    input_tokens_min: 100_000,
  };
  expect(counts(overflow).expected(MODEL, 50_000)).toBe(100_000);
  expect(counts(overflow, overflow).expected(MODEL, 50_000)).toBeGreaterThan(105_000);
});

test("a snapshot keeps all of it", () => {
  const known = counts(counted(10_000, 15_000), counted(900, 2700, "openai/gpt"));
  const restored = new TokenCounts();
  restored.restore(known.snapshot());
  for (const model of [MODEL, "openai/gpt"]) {
    expect(restored.expected(model, 12_000)).toBe(known.expected(model, 12_000));
  }
});
