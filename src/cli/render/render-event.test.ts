import { expect, test } from "vitest";
import { NO_USAGE } from "../../core/usage.ts";
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

test("a result says how the call went: its exit code, why it was denied, or that it was interrupted", () => {
  const shown = (result: string, is_error: boolean, name = "run_command") =>
    renderEvent({
      type: "tool_execution_completed",
      id: "1",
      name,
      result,
      is_error,
      duration_ms: 12,
    });
  const failed = (error: string, message: string) =>
    shown(JSON.stringify({ error, message }), true);
  expect(shown("[exit code 0]\nok", false)).toBe("  ✓ run_command (12 ms): [exit code 0] ok\n");
  expect(shown("[exit code 2]\nno", false)).toBe("  ✗ run_command (12 ms): [exit code 2] no\n");
  expect(shown("[killed by SIGKILL]", false)).toMatch(/^ {2}✗ run_command/);
  expect(shown("[exit code 2] in a file", false, "read_file")).toMatch(/^ {2}✓ read_file/);
  expect(failed("denied", "The user denied this call: not today")).toBe(
    "  ✗ run_command denied: not today\n",
  );
  expect(
    failed("denied", "The user denied this call and gave no reason. Do not try it again."),
  ).toBe("  ✗ run_command denied\n");
  expect(failed("denied", "The settings do not allow run_command.")).toBe(
    "  ✗ run_command denied: The settings do not allow run_command.\n",
  );
  expect(failed("interrupted", "The turn was interrupted.")).toBe(
    "  ✗ run_command interrupted: The turn was interrupted.\n",
  );
  expect(failed("execution_failed", "No such folder.")).toBe(
    "  ✗ run_command (12 ms): No such folder.\n",
  );
  expect(shown("boom", true)).toBe("  ✗ run_command (12 ms): boom\n");
});

test("most events print nothing", () => {
  expect(renderEvent({ type: "text_delta", delta: "a" })).toBe("");
  expect(renderEvent({ type: "run_completed", session_id: "s", result: "", usage: NO_USAGE })).toBe(
    "",
  );
});

test("what came back from memory is told with why it did, and the best of it", () => {
  const record = (score: number, text: string) => ({
    id: text,
    turn: 1,
    said_by: "user",
    score,
    text,
  });
  expect(
    renderEvent({
      type: "memory_recalled",
      records: [record(0.5, "Two."), record(0.81, "One.")],
      tokens: 90,
      bar: 0.42,
    }),
  ).toBe(
    "  ↶ From memory: 2 records, 90 tokens; the best has 0.81, needed is 0.42\n    user: One.\n    user: Two.\n",
  );
});

test("what a model or a provider made up stays on its line", () => {
  const name = "ls\r\u001b[2K\n  allowed by you: rm";
  const shown = "ls �[2K allowed by you: rm";
  const lines = [
    renderEvent({ type: "tool_call_requested", id: "1", name, args: {} }),
    renderEvent({
      type: "tool_execution_completed",
      id: "1",
      name,
      result: "ok",
      is_error: false,
      duration_ms: 1,
    }),
    renderEvent({ type: "compaction_failed", error: name, reason: "summary_timeout" }),
  ];
  for (const line of lines) {
    expect(line).toContain(shown);
    expect(line.split("\n")).toHaveLength(2);
  }
});
