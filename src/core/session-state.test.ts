import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import type { DurableEvent, StoredEvent } from "./event.ts";
import { spansOf } from "./history-entry.ts";
import { isSummary, type Message, summaryMessage, toolResults, toolUses } from "./message.ts";
import { type ReadLog, SessionState } from "./session-state.ts";
import { estimateTokens } from "./tokens.ts";
import { NO_USAGE } from "./usage.ts";

/** One thing that happens to a session; numbers pick among what is there. */
type Step =
  | {
      readonly does: "turn";
      readonly text: string;
      readonly calls: number;
      readonly recalls?: number;
    }
  | { readonly does: "refuse"; readonly pick: number }
  | { readonly does: "system" | "summary" }
  | { readonly does: "prune"; readonly pick: number }
  | { readonly does: "task"; readonly goal: string; readonly by: "agent" | "user" }
  | { readonly does: "pin" | "unpin"; readonly pick: number }
  | { readonly does: "compact"; readonly keep: readonly boolean[]; readonly summary: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant("turn"),
      text: fc.string(),
      calls: fc.nat(3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom("system", "summary") }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constantFrom("prune", "pin", "unpin"),
      pick: fc.nat(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant("task"),
      goal: fc.constantFrom("", "Ship it.", "日本語"),
      by: fc.constantFrom("agent", "user"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant("compact"),
      keep: fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }),
      summary: fc.boolean(),
    }),
  },
) as fc.Arbitrary<Step>;

/** A step in a session to which memory comes back by itself. */
const recallingStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: step },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant("turn" as const),
      text: fc.string(),
      calls: fc.nat(3),
      recalls: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant("refuse" as const), pick: fc.nat() }),
  },
);

/** The events of a step, for a session that stands where `state` does. */
function eventsOf(step: Step, state: SessionState): DurableEvent[] {
  switch (step.does) {
    case "system":
      return [{ type: "message_added", message: { role: "system", content: "rule" } }];
    case "summary":
      // The history of another session may begin with one.
      return [
        {
          type: "message_added",
          message: summaryMessage("what was elsewhere"),
          imported: { ids: [`elsewhere:${state.seq}`], boundary: "compaction" },
        },
      ];
    case "turn": {
      const calls = Array.from({ length: step.calls }, (_, index) => `call_${index}`);
      return [
        { type: "run_started", session_id: "s", prompt: step.text },
        ...recalled(step.recalls ?? 0, state.seq),
        { type: "turn_started", turn_number: 0 },
        { type: "text_complete", content: `answer to ${step.text}` },
        ...calls.map(
          (id) =>
            ({
              type: "tool_call_requested",
              id,
              name: "t",
              args: { path: `${step.text}.ts` },
            }) as const,
        ),
        { type: "turn_completed", stop_reason: "tool_use", usage: NO_USAGE },
        // Results come in any order; the message has them in the order of the calls.
        ...calls.toReversed().map(
          (id): DurableEvent => ({
            type: "tool_execution_completed",
            id,
            name: "t",
            result: `${id} ${step.text} `.repeat(40),
            is_error: false,
            duration_ms: 1,
          }),
        ),
        { type: "run_completed", session_id: "s", result: "", usage: NO_USAGE },
      ];
    }
    case "refuse": {
      const ids = state.recalled.shown.flatMap((shown) => shown.ids);
      const id = ids[step.pick % Math.max(1, ids.length)];
      return id === undefined ? [] : [{ type: "recall_refused", records: [id] }];
    }
    case "task":
      return [{ type: "task_updated", changed: { goal: step.goal }, by: step.by }];
    case "pin":
    case "unpin": {
      const entry = state.history[step.pick % Math.max(1, state.history.length)];
      if (!entry) return [];
      const type = step.does === "pin" ? "message_pinned" : "message_unpinned";
      return [{ type, message: entry.id }];
    }
    case "prune": {
      const withResults = state.history.filter((entry) => toolResults(entry.message).length > 0);
      const entry = withResults[step.pick % Math.max(1, withResults.length)];
      const result = entry && toolResults(entry.message)[0];
      if (!result) return [];
      const pruned = [{ message: entry.id, tool_use_id: result.tool_use_id, kept_bytes: 20 }];
      return [{ type: "tool_output_pruned", pruned, tokens_before: 0, tokens_after: 0 }];
    }
    case "compact": {
      // Results go where their calls go, as every compaction has it.
      let keep = true;
      const leaving = state.history.filter((entry, index) => {
        if (toolResults(entry.message).length === 0)
          keep = step.keep[index % step.keep.length] ?? true;
        return !keep && !isSummary(entry.message);
      });
      if (leaving.length === 0) return [];
      return [
        {
          type: "compaction_completed",
          summary_tokens: 1,
          messages_before: 0,
          messages_after: 0,
          tokens_before: 0,
          tokens_after: 0,
          summary: step.summary ? "what was" : null,
          discarded: spansOf(leaving),
          discarded_messages: leaving.length,
          pruned: [],
          summarised_by: "model",
          usage: NO_USAGE,
        },
      ];
    }
  }
}

/** Records of other sessions, as many as that, two of each session. */
function recalled(count: number, seq: number): readonly DurableEvent[] {
  const records = Array.from({ length: count }, (_, at) => ({
    id: `r${at}`,
    session: `other ${Math.floor(at / 2)}`,
    turn: at,
    said_by: "user",
    score: 0.5,
    text: `said ${at}`,
  }));
  const replaces = seq % 5 === 0 ? { replaces: true as const } : {};
  return count === 0
    ? []
    : [{ type: "memory_recalled", records, tokens: count, bar: 0.5, ...replaces }];
}

/** Plays steps; returns the state that grew with them, and the log. */
function play(steps: readonly Step[], log: StoredEvent[] = [], state = new SessionState("s")) {
  for (const step of steps) {
    for (const event of eventsOf(step, state)) {
      const seq = log.length + 1;
      const stored = { seq, schema_version: 1, event_id: "", timestamp_ms: seq, event } as const;
      log.push(stored);
      state.apply(stored);
    }
  }
  return { state, log };
}

function reader(log: readonly StoredEvent[]): ReadLog {
  return async function* (afterSeq, toSeq = log.length) {
    yield* log.slice(afterSeq, toSeq);
  };
}

test("a session restored from its snapshot and its log is the session", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(recallingStep, { maxLength: 25 }),
      fc.array(recallingStep, { maxLength: 8 }),
      async (before, after) => {
        const { state, log } = play(before);
        const snapshot = JSON.parse(JSON.stringify(state.snapshot()));
        play(after, log, state);
        const restored = await SessionState.restore(snapshot, reader(log));
        expect(restored.history).toEqual(state.history);
        expect(restored.snapshot()).toEqual(state.snapshot());
        expect(restored.sentMessages).toEqual(state.sentMessages);
        play([{ does: "turn", text: "and on", calls: 2 }], [...log], restored);
        play([{ does: "turn", text: "and on", calls: 2 }], log, state);
        expect(restored.history).toEqual(state.history);
      },
    ),
    { numRuns: trials(30, 500) },
  );
});

test("a snapshot has no text of a recalled record: the log has it", async () => {
  const { state, log } = play([{ does: "turn", text: "t", calls: 0, recalls: 3 }]);
  const snapshot = state.snapshot();
  expect(JSON.stringify(snapshot)).not.toContain("said 1");
  const restored = await SessionState.restore(snapshot, reader(log));
  expect(JSON.stringify(restored.sentMessages)).toContain("said 1");
  expect(restored.sentMessages).toEqual(state.sentMessages);
});

test("a snapshot of an earlier version has the texts of recalled records itself", async () => {
  const { state, log } = play([{ does: "turn", text: "t", calls: 0, recalls: 3 }]);
  const { recalled_in: _, ...old } = { ...state.snapshot(), ...state.recalled.kept };
  const restored = await SessionState.restore(old, reader(log));
  expect(restored.sentMessages).toEqual(state.sentMessages);
});

test("however often a compaction is undone and redone, its session is read at most twice", async () => {
  const turn: Step = { does: "turn", text: "t", calls: 0 };
  const compact: Step = { does: "compact", keep: [false, true], summary: true };
  const { state, log } = play([turn, turn, compact]);
  const compacted = state.history;
  for (let undone = log.length; log.length < 40; undone = log.length) {
    const event = { type: "compaction_undone", undone } as const;
    const seq = undone + 1;
    log.push({ seq, schema_version: 1, event_id: "", timestamp_ms: seq, event });
  }
  let reads = 0;
  const counted: ReadLog = async function* (afterSeq, toSeq) {
    reads += 1;
    yield* reader(log)(afterSeq, toSeq);
  };
  const undoes = log.filter(({ event }) => event.type === "compaction_undone").length;
  const folded = await SessionState.fold("s", counted, log.length - (undoes % 2));
  expect(folded.history).toEqual(compacted);
  expect(reads).toBeLessThanOrEqual(2);
});

test("the running estimate is the estimate of the whole history", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const { state } = play(steps);
      expect(state.historyTokens).toBe(estimateTokens(state.messages));
    }),
  );
});

test("a message that left is in exactly one span of one compaction", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { state, log } = play(steps);
      const everything = new SessionState("s");
      const all: number[] = [];
      for (const stored of log) {
        const before = everything.messageCount;
        everything.apply(stored);
        const isGiven = stored.event.type === "message_added" && isSummary(stored.event.message);
        if (everything.messageCount > before && !isGiven) all.push(stored.seq);
      }
      const spans = log.flatMap(({ event }) =>
        event.type === "compaction_completed" ? event.discarded : [],
      );
      const left = all.filter((id) => !state.history.some((entry) => entry.id === id));
      for (const id of all) {
        const holding = spans.filter((span) => span.from <= id && id <= span.to);
        expect(holding.length).toBe(left.includes(id) ? 1 : 0);
      }
    }),
  );
});

test("a snapshot does not grow with the session", () => {
  const size = (turns: number) => {
    const steps = Array.from(
      { length: turns },
      (): Step => ({ does: "turn", text: "x", calls: 1 }),
    );
    // A number may get more digits.
    return JSON.stringify(play(steps).state.snapshot()).replaceAll(/\d+/g, "0").length;
  };
  expect(size(2000)).toBe(size(20));
});

test("until the history is rebuilt, what is sent begins with what was sent before", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const state = new SessionState("s");
      const log: StoredEvent[] = [];
      let before: readonly Message[] = [];
      for (const step of steps) {
        const { shown } = state.working;
        play([step], log, state);
        const sent = state.sentMessages;
        const rebuilt = step.does === "compact" || step.does === "prune";
        if (!rebuilt && state.working.shown === shown) {
          expect(sent.slice(0, before.length)).toEqual(before);
        }
        before = [...sent];
      }
    }),
  );
});

test("the task record is shown once, and never between a call and its results", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { state } = play(steps);
      const sent = state.sentMessages;
      expect(sent.filter((message) => !state.messages.includes(message)).length).toBe(
        state.working.shown ? 1 : 0,
      );
      sent.forEach((message, index) => {
        if (toolResults(message).length > 0) {
          expect(toolUses(sent[index - 1] as Message)).not.toEqual([]);
        }
      });
    }),
  );
});

test("what the user denied, and why, is shown word for word once the history is rebuilt", () => {
  const { state, log } = play([]);
  const call = { id: "c", name: "push", args: { branch: "main" } };
  const events: DurableEvent[] = [
    { type: "run_started", session_id: "s", prompt: "Release it." },
    { type: "tool_call_requested", ...call },
    { type: "turn_completed", stop_reason: "tool_use", usage: NO_USAGE },
    {
      type: "tool_approval_resolved",
      approval_id: "a",
      id: "c",
      name: "push",
      decision: "deny",
      reason: "Never push to main.",
      by: "user",
    },
  ];
  for (const event of events) {
    const seq = log.length + 1;
    const stored = { seq, schema_version: 1, event_id: "", timestamp_ms: seq, event } as const;
    log.push(stored);
    state.apply(stored);
  }
  expect(state.working.shown).toBeUndefined();
  play([{ does: "turn", text: "t", calls: 1 }], log, state);
  play([{ does: "compact", keep: [false, true], summary: true }], log, state);
  expect(state.working.shown?.text).toContain(
    'Denied by the user:\n- push {"branch":"main"}: Never push to main.',
  );
  const seq = log.length + 1;
  const event = { type: "task_updated", changed: {}, new_task: true, by: "user" } as const;
  state.apply({ seq, schema_version: 1, event_id: "", timestamp_ms: seq, event });
  expect(state.working.shown?.text ?? "").not.toContain("Denied");
});

test("the files of calls that succeeded are active, the last used last, and few", () => {
  const texts = Array.from({ length: 30 }, (_, index) => `f${index}`);
  const { state } = play(
    [...texts, "f5"].map((text) => ({ does: "turn", text, calls: 1 }) as const),
  );
  const { active_files } = state.working.task;
  expect(active_files).toHaveLength(20);
  expect(active_files.slice(-2)).toEqual(["f29.ts", "f5.ts"]);
});

test("a snapshot of an earlier version, without task and pins, is restored", async () => {
  const { state, log } = play([{ does: "turn", text: "t", calls: 0 }, { does: "summary" }]);
  const { task: _, denied: __, pins: ___, shown_task: ____, ...rest } = state.snapshot();
  const { recorded_compactions, ...old } = rest;
  expect(recorded_compactions).toBe(1);
  const restored = await SessionState.restore(old, reader(log));
  expect(restored.snapshot()).toEqual(state.snapshot());
});

test("the compactions of another agent are counted also when their summaries have left the window", async () => {
  const { state, log } = play([
    { does: "summary" },
    { does: "turn", text: "a", calls: 0 },
    { does: "turn", text: "b", calls: 0 },
    { does: "compact", keep: [false, false, true], summary: true },
  ]);
  expect(state.recordedCompactions).toBe(1);
  const restored = await SessionState.restore(state.snapshot(), reader(log));
  expect(restored.recordedCompactions).toBe(1);
});
