import { expect, test } from "vitest";
import { NO_USAGE } from "../../../core/usage.ts";
import { renderEvent } from "./render-event.ts";

test("compactions are told in the specification's words", () => {
  expect(
    renderEvent({
      type: "compaction_started",
      input_tokens: 120_000,
      estimated_history_tokens: 118_000,
      message_count: 42,
    }),
  ).toBe("  ⟳ Compaction started: 120000 input tokens, ~118000 history tokens, 42 messages\n");
  expect(
    renderEvent({
      type: "compaction_completed",
      summary_tokens: 812,
      messages_before: 42,
      messages_after: 9,
      tokens_before: 118_000,
      tokens_after: 5000,
      summary: "They talked.",
      discarded: [],
      discarded_messages: 34,
      pruned: [],
      summarised_by: "model",
      usage: NO_USAGE,
    }),
  ).toBe("  ✓ Compaction complete: 42 → 9 messages, 812 summary tokens\n");
  expect(
    renderEvent({ type: "compaction_failed", error: "no answer", reason: "summary_timeout" }),
  ).toBe("  ✗ Compaction failed (continuing): no answer\n");
});

test("turns are counted from 1, and long things are cut", () => {
  expect(renderEvent({ type: "turn_started", turn_number: 0 })).toContain("Turn 1");
  const args = { text: "é".repeat(200) };
  const call = renderEvent({ type: "tool_call_requested", id: "1", name: "write", args });
  expect(Buffer.byteLength(call)).toBeLessThanOrEqual("  → write ...\n".length + 2 + 100);
  expect(call).toMatch(/\.\.\.\n$/);
});

test("most events print nothing", () => {
  expect(renderEvent({ type: "text_delta", delta: "a" })).toBe("");
  expect(renderEvent({ type: "run_completed", session_id: "s", result: "", usage: NO_USAGE })).toBe(
    "",
  );
});
