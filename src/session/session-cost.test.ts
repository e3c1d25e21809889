import fc from "fast-check";
import { expect, test } from "vitest";
import { CostTotals } from "../core/cost-totals.ts";
import type { DurableEvent, RecalledRecord, StoredEvent } from "../core/event.ts";
import { tokensOfRecords } from "../core/recalled.ts";
import { addUsage, NO_USAGE, tokenUsage, type Usage } from "../core/usage.ts";
import { CostLedger } from "./session-cost.ts";

const MODEL = "anthropic/claude-sonnet-4-5";

function ledgerOf(events: readonly DurableEvent[], turnsMax = 20, own = {}) {
  const ledger = new CostLedger(turnsMax, { own });
  const totals = new CostTotals();
  const settings = { model: MODEL, memory: false, labels: {} };
  const all: readonly DurableEvent[] = [
    { type: "session_created", session_id: "s", settings },
    ...events,
  ];
  all.forEach((event, at) => {
    const stored: StoredEvent = {
      seq: at + 1,
      schema_version: 1,
      event_id: `${at}`,
      timestamp_ms: at,
      event,
    };
    ledger.note(stored);
    totals.note(stored);
  });
  return ledger.view("s", totals);
}

const usageOf = (input: number, read: number | null, output = 10): Usage => ({
  input_tokens: input,
  output_tokens: output,
  cache_read_tokens: read,
  cache_creation_tokens: null,
});

const asked: DurableEvent = { type: "run_started", session_id: "s", prompt: "hi" };

const answered = (usage: Usage, model = MODEL): DurableEvent => ({
  type: "turn_completed",
  stop_reason: "end_turn",
  usage,
  model,
});

const pruned = (before: number, after: number, rewritten?: number): DurableEvent => ({
  type: "tool_output_pruned",
  pruned: [],
  tokens_before: before,
  tokens_after: after,
  ...(rewritten === undefined ? {} : { rewritten_tokens: rewritten }),
});

const compacted = (usage: Usage, model?: string): DurableEvent => ({
  type: "compaction_completed",
  summary_tokens: usage.output_tokens,
  messages_before: 9,
  messages_after: 3,
  tokens_before: 50_000,
  tokens_after: 10_000,
  summary: "They met.",
  discarded: [],
  discarded_messages: 6,
  pruned: [],
  summarised_by: "model",
  usage,
  rewritten_tokens: 8000,
  ...(model === undefined ? {} : { model }),
});

test("cached, written and fresh tokens have their own prices", () => {
  const usage = { ...usageOf(1_000_000, 600_000, 100_000), cache_creation_tokens: 300_000 };
  // 100 000 fresh at 3, 600 000 read at 0.3, 300 000 written at 3.75, 100 000 output at 15.
  expect(ledgerOf([asked, answered(usage)]).costUsd).toBeCloseTo(0.3 + 0.18 + 1.125 + 1.5, 9);
});

test("a price of yours wins, also for the start of a name, and its cache has the provider's share", () => {
  const own = { "anthropic/claude-sonnet": { input: 10, output: 0 } };
  const usage = usageOf(1_000_000, 500_000);
  expect(ledgerOf([asked, answered(usage)], 20, own).costUsd).toBeCloseTo(5.5, 9);
});

test("tokens of a model without a price count, without money, and the model is named", () => {
  const cost = ledgerOf([
    asked,
    answered(usageOf(1000, null)),
    answered(usageOf(500, null), "ollama/llama3.2"),
    answered(usageOf(500, null), "anthropic/claude-sonnet-4-5-turbo"),
  ]);
  expect(cost.usage.inputTokens).toBe(2000);
  expect(cost.unpricedModels).toEqual(["ollama/llama3.2", "anthropic/claude-sonnet-4-5-turbo"]);
  expect(cost.costUsd).toBeCloseTo(0.003_15, 9);
  expect(ledgerOf([asked, answered(usageOf(9, null), "own/model")]).costUsd).toBeNull();
});

test("a version of a listed model has its price", () => {
  const cost = ledgerOf([asked, answered(usageOf(1_000_000, null, 0), `${MODEL}-20250929`)]);
  expect(cost.costUsd).toBe(3);
});

test("a pruning pays for what it breaks once, and saves in each call until the next", () => {
  const cost = ledgerOf([
    asked,
    answered(usageOf(40_000, 39_000)),
    pruned(40_000, 29_000, 4000),
    answered(usageOf(29_000, 25_000)),
    answered(usageOf(29_100, 29_000)),
    pruned(29_000, 28_000, 2000),
    answered(usageOf(28_000, 26_000)),
  ]);
  const [first, second] = cost.turns[0]?.compactions ?? [];
  // 4 000 tokens at 3 - 0.3 dollars; 11 000 fewer in two calls, which the cache would have had.
  expect(first).toMatchObject({
    kind: "pruned",
    rewrittenTokens: 4000,
    savedTokensPerCall: 11_000,
    callsSince: 2,
    savedTokens: 22_000,
  });
  expect(first?.rewrittenUsd).toBeCloseTo(0.0108, 9);
  expect(first?.savedUsd).toBeCloseTo(0.0066, 9);
  expect(second?.callsSince).toBe(1);
  expect(cost.compacting).toMatchObject({ pruned: 2, savedTokens: 23_000, rewrittenTokens: 6000 });
  expect(cost.compacting.savedUsd).toBeCloseTo(0.0066 + 0.0003, 9);
});

test("after an undo, the change before the undone one saves again, and after an undo of that the undone one", () => {
  const call = answered(usageOf(20_000, 18_000));
  const undo = (undone: number): DurableEvent => ({ type: "compaction_undone", undone });
  const records = { type: "memory_recalled", records: [], tokens: 100 } as const;
  const [first, second] = [pruned(40_000, 30_000), pruned(30_000, 10_000)];
  // Event 4 saves 10 000, event 7 saves 20 000, 9 undoes 7, 11 undoes 9.
  const log = [asked, call, first, call, records, second, call, undo(7), call, undo(9), call];
  const cost = ledgerOf(log);
  expect(cost.compacting.savedTokens).toBe(10_000 + 20_000 + 10_000 + 20_000);
  // The records were before the second change, and are back while it is undone.
  expect(cost.recalled).toEqual({ times: 1, tokens: 100 });
  const [turn] = cost.turns;
  expect(turn?.compactions.map(({ callsSince }) => callsSince)).toEqual([2, 2]);
});

test("a change that was undone saves nothing more", () => {
  const call = answered(usageOf(40_000, null));
  const undone: DurableEvent = { type: "compaction_undone", undone: 4 };
  const cost = ledgerOf([asked, call, pruned(40_000, 30_000, 4000), call, undone, call]);
  expect(cost.turns[0]?.compactions[0]).toMatchObject({ callsSince: 1, savedTokens: 10_000 });
});

test("without a cache nothing is broken, and what is saved has the price of fresh tokens", () => {
  const cost = ledgerOf([
    asked,
    answered(usageOf(40_000, null)),
    pruned(40_000, 30_000, 4000),
    answered(usageOf(30_000, null)),
  ]);
  expect(cost.compacting.rewrittenUsd).toBe(0);
  expect(cost.compacting.savedUsd).toBeCloseTo(0.03, 9);
});

test("a log of an earlier version is read: no model, no tokens after a change", () => {
  const cost = ledgerOf([
    asked,
    { type: "turn_completed", stop_reason: "end_turn", usage: usageOf(40_000, 39_000) },
    pruned(40_000, 30_000),
    compacted(usageOf(1000, null)),
    { type: "compaction_failed", error: "x", reason: "summary_failed" },
    answered(usageOf(30_000, 20_000)),
  ]);
  expect(cost.unpricedModels).toEqual([]);
  expect(cost.turns[0]?.compactions[0]).toMatchObject({
    rewrittenTokens: null,
    rewrittenUsd: null,
  });
  expect(cost.compacting).toMatchObject({ compacted: 1, pruned: 1, failed: 1 });
});

test("records that came back count in each call that has them", () => {
  const recalled = (tokens: number, replaces?: true): DurableEvent => ({
    type: "memory_recalled",
    records: [],
    tokens,
    ...(replaces ? { replaces } : {}),
  });
  const call = answered(usageOf(1000, null));
  const events = [asked, recalled(100), call, call, recalled(50), call, recalled(20, true), call];
  const cost = ledgerOf([...events, compacted(NO_USAGE), call]);
  expect(cost.recalled).toEqual({ times: 3, tokens: 100 + 100 + 150 + 20 });
});

test("records that a person refused count in no later call, nor do they come back with an undo", () => {
  const record = (id: string): RecalledRecord => {
    return { id, turn: 1, said_by: "user", score: 0.8, text: `The ${id} is open. `.repeat(9) };
  };
  const records = [record("a"), record("b")];
  const tokens = tokensOfRecords(records);
  const one = tokensOfRecords(records.slice(1));
  const refused = (id: string): DurableEvent => ({ type: "recall_refused", records: [id] });
  const call = answered(usageOf(1000, null));
  const log = [
    asked,
    { type: "memory_recalled", records, tokens } as const,
    call,
    refused("a"),
    call,
  ];
  const spent = (...more: DurableEvent[]) => ledgerOf([...log, ...more]).recalled.tokens;
  expect(Math.abs(spent() - tokens - one)).toBeLessThan(2);
  expect(spent(refused("b"), call)).toBe(spent());
  const undone = { type: "compaction_undone", undone: 7 } as const;
  expect(spent(compacted(NO_USAGE), call, refused("b"), undone, call)).toBe(spent());
});

test("calls make up turns, and turns the session, whatever happens and however many are listed", () => {
  const usage = fc.record({
    input_tokens: fc.nat(300_000),
    output_tokens: fc.nat(9000),
    cache_read_tokens: fc.option(fc.nat(300_000)),
    cache_creation_tokens: fc.option(fc.nat(300_000)),
  });
  const model = fc.constantFrom(MODEL, "openai/gpt-5.2", "own/model");
  const event = fc.oneof(
    fc.constant(asked),
    fc.tuple(usage, model).map(([used, by]) => answered(used, by)),
    fc.tuple(usage, model).map(([used, by]) => compacted(used, by)),
    usage.map(
      (used): DurableEvent => ({
        type: "compaction_failed",
        error: "x",
        reason: "summary_failed",
        usage: used,
      }),
    ),
    fc.constant(pruned(9000, 5000, 2000)),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), (log, most) => {
      const cost = ledgerOf([asked, ...log], most);
      const paid = log.reduce(
        (sum, each) => ("usage" in each && each.usage ? addUsage(sum, each.usage) : sum),
        NO_USAGE,
      );
      expect(cost.usage).toEqual(tokenUsage(paid));
      expect(cost.turns.length).toBeLessThanOrEqual(most);
      for (const { calls, ...turn } of cost.turns) {
        expect(dollarsOf(calls)).toBeCloseTo(dollarsOf([turn]), 9);
        expect(inputOf(calls)).toBe(inputOf([turn]));
      }
      expect(dollarsOf([cost.earlier, ...cost.turns])).toBeCloseTo(dollarsOf([cost]), 9);
      expect(inputOf([cost.earlier, ...cost.turns])).toBe(inputOf([cost]));
      expect(cost.earlier.calls + cost.turns.flatMap(({ calls }) => calls).length).toBe(cost.calls);
    }),
  );
});

type Part = { readonly costUsd: number | null; readonly usage: { readonly inputTokens: number } };

const dollarsOf = (parts: readonly Part[]) =>
  parts.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);

const inputOf = (parts: readonly Part[]) =>
  parts.reduce((sum, { usage }) => sum + usage.inputTokens, 0);
