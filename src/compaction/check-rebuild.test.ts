import { expect, test } from "vitest";
import type { RebuildConstraints, RebuildResult } from "../core/compactor.ts";
import { type Message, summaryMessage } from "../core/message.ts";
import { checkRebuild, type Violation } from "./check-rebuild.ts";
import { DefaultCompactor } from "./default-compactor.ts";

const filler = "and so on ".repeat(60);
const user = (content: string): Message => ({ role: "user", content: content + filler });
const source: readonly Message[] = [
  { role: "system", content: "Be brief." },
  summaryMessage(`Older. ${filler}`),
  user("u0"),
  { role: "assistant", content: "", tool_calls: [{ id: "c", name: "run", args: {} }] },
  {
    role: "tool_results",
    results: [{ tool_use_id: "c", content: "x".repeat(4000), is_error: false }],
  },
  user("u1"),
  { role: "assistant", content: `a1${filler}` },
  user("u2"),
];

/** A rebuild that discards these positions and puts this in the place of the first. */
function discarding(positions: number[], inserted: Message[] = [summaryMessage("S")]) {
  const left = new Set(positions);
  const messages = source.flatMap((message, index) => {
    if (!left.has(index)) return [message];
    return index === positions[0] ? inserted : [];
  });
  return {
    messages,
    discarded: positions.flatMap((index) => source[index] ?? []),
    discardedAt: positions,
    summaryBytesMax: 100,
    shortened: [],
  } satisfies RebuildResult;
}

const good = discarding([1, 2, 3, 4]);

test("a sound rebuild has no violations, and neither has one that does nothing", () => {
  expect(checkRebuild(source, good)).toEqual([]);
  expect(checkRebuild(source, discarding([]))).toEqual([]);
  const own = new DefaultCompactor().rebuildHistory(source, "S", { targetTokens: 800 });
  expect(checkRebuild(source, own, { targetTokens: 800 })).toEqual([]);
});

const CASES: [Violation, RebuildResult, RebuildConstraints?][] = [
  ["not_a_partition", { ...good, messages: good.messages.slice(0, -1) }],
  ["not_a_partition", { ...good, messages: structuredClone(good.messages) }],
  ["not_a_partition", { ...good, messages: good.messages.toReversed() }],
  ["not_a_partition", { ...good, discardedAt: [2, 1, 3, 4] }],
  ["not_a_partition", { ...good, discarded: good.discarded.slice(1) }],
  ["bad_summary", discarding([1, 2, 3, 4], [summaryMessage("S"), summaryMessage("T")])],
  ["bad_summary", discarding([1, 2, 3, 4], [user("I am the summary.")])],
  ["bad_summary", { ...discarding([]), messages: [summaryMessage("S"), ...source] }],
  ["summary_too_long", { ...good, summaryBytesMax: 0 }],
  ["system_message_left", discarding([0, 1, 2, 3, 4])],
  ["last_user_message_left", discarding([1, 2, 3, 4, 5, 6, 7])],
  ["pin_left", good, { pinned: new Set([2]) }],
  ["pair_parted", discarding([1, 2, 4])],
  ["old_summary_stayed", discarding([2, 3, 4])],
  ["bad_shortening", { ...discarding([]), ...changed(4, { role: "tool_results", results: [] }) }],
  [
    "not_smaller",
    { ...discarding([1, 2], [summaryMessage("S".repeat(5000))]), summaryBytesMax: 1e4 },
  ],
  ["not_below_target", discarding([1, 2]), { targetTokens: 800 }],
];

function changed(index: number, replacement: Message) {
  const original = source[index] as Message;
  return {
    messages: source.with(index, replacement),
    shortened: [{ index, original, replacement, outputs: [{ toolUseId: "c", keptBytes: 10 }] }],
  };
}

test.each(CASES)("%s is found", (violation, result, constraints) => {
  expect(checkRebuild(source, result, constraints)).toContain(violation);
});

test("a history that no longer starts with a user message is found", () => {
  const spoken = source.slice(2);
  const result: RebuildResult = {
    messages: spoken.slice(1),
    discarded: spoken.slice(0, 1),
    discardedAt: [0],
    summaryBytesMax: 0,
    shortened: [],
  };
  expect(checkRebuild(spoken, result)).toEqual(["starts_without_user"]);
  expect(checkRebuild(spoken, result, { pinned: new Set([2]) })).toEqual([]);
});
