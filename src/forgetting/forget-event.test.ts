import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { DurableEvent, StateBefore } from "../core/event.ts";
import { NO_USAGE } from "../core/usage.ts";
import { FORGETTING, forgottenEvent, withoutCopies } from "./forget-event.ts";
import { ForgottenPhrases } from "./forgotten-phrases.ts";

const SECRET = "the vault opens with tangerine-9417 and Ottilie";
const phrases = new ForgottenPhrases([SECRET]);
const said = (text: string) => `${text}: ${SECRET}.`;

type Type = DurableEvent["type"];
type Sample<Of extends Type> = Extract<DurableEvent, { readonly type: Of }>;

const BEFORE: StateBefore = {
  memory: true,
  turns: 1,
  message_count: 2,
  history: [{ from: 2, to: 3, turns_before: 0, ordinal: 0 }],
  summary: null,
  pruned: [],
  pins: [2],
  task: { goal: said("Goal"), sub_tasks: [], scratchpad: { note: said("Note") }, active_files: [] },
  shown_task: { after: 2, text: said("Task") },
  denied: [{ tool: "send", args: "{}", reason: said("No") }],
  instructions: [{ id: 1, message: 2, text: said("Never") }],
  instructions_left_out: [],
  recalled: [{ before: 2, text: said("Record"), ids: ["s:1"] }],
  brought_back: [{ message: 2, after: 3, text: said("Brought") }],
};

/** One event of each type, with the text wherever an event may have one. */
const SAMPLES: { readonly [Of in Type]: Sample<Of> } = {
  session_created: {
    type: "session_created",
    session_id: "s",
    settings: {
      model: "m",
      memory: true,
      labels: {},
      source: { agent: "codex", native_id: "1", title: said("Title") },
    },
  },
  session_archived: { type: "session_archived", session_id: "s" },
  session_unarchived: { type: "session_unarchived", session_id: "s" },
  session_deleted: { type: "session_deleted", session_id: "s" },
  session_remembered: { type: "session_remembered", session_id: "s" },
  session_titled: { type: "session_titled", session_id: "s", title: said("Title") },
  message_added: { type: "message_added", message: { role: "system", content: said("Rule") } },
  host_items_changed: {
    type: "host_items_changed",
    items: [
      { type: "message", role: "user", content: said("Prompt") },
      { type: "function_call", name: "send", arguments: JSON.stringify({ name: said("Arg") }) },
      { type: "tool_use", id: "c", input: { name: said("Arg") } },
    ],
  },
  skills_resolved: { type: "skills_resolved", skills: ["x"], injection_bytes: 1 },
  knowledge_applied: { type: "knowledge_applied", rules: ["rule:x"], injection_bytes: 1 },
  run_started: { type: "run_started", session_id: "s", prompt: said("Prompt") },
  run_completed: {
    type: "run_completed",
    session_id: "s",
    result: said("Result"),
    usage: NO_USAGE,
  },
  run_failed: { type: "run_failed", session_id: "s", error: said("Error"), code: "AGENT_ERROR" },
  run_paused: { type: "run_paused", session_id: "s", reason: "approval_required" },
  run_resumed: { type: "run_resumed", session_id: "s" },
  turn_started: { type: "turn_started", turn_number: 0 },
  reasoning_complete: { type: "reasoning_complete", content: said("Thought") },
  text_complete: { type: "text_complete", content: said("Answer") },
  tool_call_requested: {
    type: "tool_call_requested",
    id: "c",
    name: "send",
    args: { text: [said("Arg")], [SECRET]: 1 },
  },
  turn_completed: { type: "turn_completed", stop_reason: "end_turn", usage: NO_USAGE },
  tool_approval_requested: {
    type: "tool_approval_requested",
    approval_id: "a",
    id: "c",
    name: "send",
    args: { text: said("Arg") },
    goal: said("Goal"),
  },
  tool_approval_resolved: {
    type: "tool_approval_resolved",
    approval_id: "a",
    id: "c",
    name: "send",
    decision: "deny",
    reason: said("No"),
    by: "user",
    allows: { tool: "send", command: said("Command"), for: "session" },
  },
  approval_revoked: { type: "approval_revoked", tool: "send", command: said("Command") },
  tool_execution_started: { type: "tool_execution_started", id: "c", name: "send" },
  tool_execution_completed: {
    type: "tool_execution_completed",
    id: "c",
    name: "send",
    result: said("Result"),
    is_error: false,
    duration_ms: 1,
  },
  tool_execution_timed_out: {
    type: "tool_execution_timed_out",
    id: "c",
    name: "send",
    timeout_ms: 1,
  },
  tool_result_received: { type: "tool_result_received", id: "c", name: "send", is_error: false },
  context_overflow: {
    type: "context_overflow",
    model: "m",
    estimated_input_tokens: 1,
    input_tokens_min: 2,
  },
  compaction_started: {
    type: "compaction_started",
    input_tokens: 1,
    estimated_history_tokens: 1,
    message_count: 1,
  },
  compaction_completed: {
    type: "compaction_completed",
    summary_tokens: 1,
    messages_before: 2,
    messages_after: 1,
    tokens_before: 2,
    tokens_after: 1,
    summary: said("Summary"),
    discarded: [],
    discarded_messages: 0,
    pruned: [],
    summarised_by: "model",
    usage: NO_USAGE,
    before: BEFORE,
  },
  compaction_failed: { type: "compaction_failed", error: said("Error"), reason: "summary_failed" },
  memory_recalled: {
    type: "memory_recalled",
    records: [{ id: "s:1", turn: 0, said_by: "user", score: 1, text: said("Record") }],
    tokens: 1,
  },
  tool_output_pruned: {
    type: "tool_output_pruned",
    pruned: [],
    tokens_before: 1,
    tokens_after: 1,
    before: BEFORE,
  },
  compaction_undone: { type: "compaction_undone", undone: 1, left_out: [2] },
  messages_brought_back: {
    type: "messages_brought_back",
    messages: [{ message: 3, said_by: "user", time: "2026-01-01", text: said("Brought") }],
  },
  recall_refused: { type: "recall_refused", records: ["m"] },
  recall_allowed: { type: "recall_allowed", records: ["m"] },
  session_forked: { type: "session_forked", fork: "f", event: 1 },
  history_inherited: {
    type: "history_inherited",
    from: { session: "s", event: 9 },
    summary: { session: "s", event: 8, text: said("Inherited"), index: 0 },
    pruned: [],
    recalled: [{ before: 2, text: said("Recalled"), ids: ["m"] }],
    brought_back: [{ message: 0, after: 0, text: said("Brought before") }],
    pins: [],
    task: {
      goal: said("Inherited goal"),
      sub_tasks: [{ id: 1, text: said("Inherited step"), done: false }],
      scratchpad: { note: said("Inherited note") },
      active_files: [],
    },
    shown_task: { after: 0, text: said("Inherited record") },
    denied: [{ tool: "t", args: said("Inherited args"), reason: said("Inherited reason") }],
    instructions: [{ id: 1, message: 2, text: said("Inherited wish") }],
    instructions_left_out: [],
    token_factors: {},
  },
  text_forgotten: { type: "text_forgotten", messages: [], events: [] },
  task_updated: {
    type: "task_updated",
    changed: {
      goal: said("Goal"),
      sub_tasks: [{ id: 1, text: said("Do"), done: false }],
      scratchpad: { [SECRET]: said("Note") },
      active_files: [said("File")],
    },
    by: "user",
  },
  message_pinned: { type: "message_pinned", message: 1 },
  message_unpinned: { type: "message_unpinned", message: 1 },
  budget_warning: { type: "budget_warning", budget_type: "time", used: 1, limit: 2, percent: 0.5 },
  event_lost: { type: "event_lost", was: "text_complete" },
  retrying: {
    type: "retrying",
    attempt: 1,
    max_attempts: 2,
    error: said("Error"),
    delay_ms: 1,
  },
};

/** Text that people and models write themselves is no copy. */
const OWN_WORDS: readonly Type[] = ["run_started", "text_complete"];

const contract = readFileSync(new URL("../core/event.ts", import.meta.url), "utf8");
const TYPES = contract
  .slice(0, contract.indexOf("export type TransientEvent"))
  .matchAll(/readonly type: "(\w+)"/g);

test("every event of the log has its row, which says how it is forgotten", () => {
  const types = [...new Set(Array.from(TYPES, ([, type]) => type))].sort();
  expect(Object.keys(FORGETTING).sort()).toEqual(types);
  expect(Object.keys(SAMPLES).sort()).toEqual(types);
});

describe("no copy of a text is left in", () => {
  test.each(Object.values(SAMPLES))("$type", (event) => {
    const rest = withoutCopies(event, phrases);
    const without = OWN_WORDS.includes(event.type)
      ? forgottenEvent(event, "phrases", phrases)
      : rest;
    expect(JSON.stringify(without)).not.toContain("tangerine");
    expect(withoutCopies(rest, phrases)).toBe(rest);
    const everything = forgottenEvent(rest, "everything", phrases);
    expect(JSON.stringify(everything)).not.toContain("tangerine");
    expect(everything.type).toBe(event.type);
  });
});

test("an added message is forgotten with its standing instructions", () => {
  const added: DurableEvent = {
    type: "message_added",
    message: { role: "user", content: "Never paint. Always say tangerine." },
    instructions: [
      { id: 1, text: "Never paint." },
      { id: 2, text: "Always say tangerine." },
    ],
  };
  const phrase = new ForgottenPhrases(["Always say tangerine."]);
  expect(forgottenEvent(added, "phrases", phrase)).toMatchObject({
    message: { content: "Never paint. [forgotten]." },
    instructions: [{ id: 1, text: "Never paint." }],
  });
  expect(JSON.stringify(forgottenEvent(added, "message", phrase))).not.toContain("paint");
});

test("a message is forgotten with its words, and not with its calls", () => {
  expect(forgottenEvent(SAMPLES.tool_call_requested, "message", phrases)).toEqual(
    SAMPLES.tool_call_requested,
  );
  expect(forgottenEvent(SAMPLES.tool_call_requested, "everything", phrases)).toMatchObject({
    args: { text: ["[forgotten]"], "[forgotten]": "[forgotten]" },
  });
  expect(forgottenEvent(SAMPLES.run_started, "message", phrases)).toMatchObject({
    prompt: "[forgotten]",
  });
  expect(forgottenEvent(SAMPLES.run_started, "phrases", phrases)).toMatchObject({
    prompt: "Prompt: [forgotten].",
  });
});
