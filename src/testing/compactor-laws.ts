import assert from "node:assert/strict";
import type { CompactionContext, EngineCompactor, RebuildResult } from "../core/compactor.ts";
import { isSummary, type Message, SUMMARY_PREFIX, toolResults, toolUses } from "../core/message.ts";
import { estimateTokens, jsonBytes } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";
import { expects, type Law, lawsOf } from "./law.ts";

/**
 * The promises of every compactor. `open` returns one with its default settings; the laws read them from
 * `config`.
 */
export const compactorLaws: readonly Law<EngineCompactor>[] = lawsOf({
  "call 0 never compacts": async (compactor) => {
    assert.equal(compactor.shouldCompact(full(compactor, { currentTurn: 0 })), false);
  },
  "no compaction comes sooner than minTurnsBetweenCompactions after the last, unless the history has outgrown the context window":
    async (compactor) => {
      const { minTurnsBetweenCompactions: guard, autoCompactThreshold } = compactor.config;
      const due = (since: number, contextWindow: number) =>
        compactor.shouldCompact(
          full(compactor, { currentTurn: 10 + since, lastCompactionTurn: 10, contextWindow }),
        );
      if (guard > 0) assert.equal(due(guard - 1, autoCompactThreshold * 2), false);
      assert.equal(due(guard, autoCompactThreshold * 2), true);
      assert.equal(due(0, autoCompactThreshold), true);
    },
  "either measure that reaches the threshold triggers": async (compactor) => {
    const { autoCompactThreshold: threshold } = compactor.config;
    const due = (lastInputTokens: number, estimatedHistoryTokens: number) =>
      compactor.shouldCompact(full(compactor, { lastInputTokens, estimatedHistoryTokens }));
    assert.equal(due(threshold, 0), true);
    assert.equal(due(0, threshold), true);
    assert.equal(due(threshold - 1, threshold - 1), false);
  },
  "twice the window of messages triggers, where there is a window": async (compactor) => {
    const { windowSize = Infinity } = compactor.config;
    const due = (looseMessages: number) =>
      compactor.shouldCompact(
        full(compactor, { lastInputTokens: 0, estimatedHistoryTokens: 0, looseMessages }),
      );
    assert.equal(due(2 * windowSize - 1), false);
    assert.equal(due(Math.min(2 * windowSize, 1000)), windowSize < Infinity);
  },
  "it does not depend on the clock or on chance, and discards the same messages for every summary":
    async (compactor) => {
      for (const { messages, targetTokens } of SITUATIONS) {
        const [first, ...others] = ["Short.", "", "long ".repeat(50_000), "Short."].map((summary) =>
          compactor.rebuildHistory(messages, summary, { targetTokens }),
        );
        for (const other of others) assert.deepEqual(other.discardedAt, first?.discardedAt);
        assert.deepEqual(others.at(-1), first);
      }
    },
  "retained and discarded messages are exactly the source, each in its old order": (compactor) =>
    inEverySituation(compactor, ({ messages }, { result, stayed }) => {
      assert.deepEqual(
        result.discarded,
        result.discardedAt.map((index) => messages[index]),
      );
      const left = new Set(result.discardedAt);
      assert.equal(left.size, result.discarded.length);
      const shortened = new Map(
        result.shortened.map(({ original, replacement }) => [original, replacement]),
      );
      assert.deepEqual(
        stayed,
        messages
          .filter((_, index) => !left.has(index))
          .map((message) => shortened.get(message) ?? message),
      );
    }),
  "every system message and the last user message stay word for word": (compactor) =>
    inEverySituation(compactor, ({ messages }, { stayed }) => {
      const last = messages.findLast(startsTurn);
      const must = messages.filter((message) => message.role === "system" || message === last);
      for (const message of must)
        expects(
          stayed.includes(message),
          "every system message and the last user message to stay",
          stayed,
        );
    }),
  "a tool result is never parted from its call": (compactor) =>
    inEverySituation(compactor, (_, { stayed }) => {
      const calls = stayed.flatMap((message) => toolUses(message).map(({ id }) => id));
      const results = stayed.flatMap((message) =>
        toolResults(message).map((result) => result.tool_use_id),
      );
      assert.deepEqual(results, calls);
    }),
  "pinned messages stay, with the tool calls or results that belong to them": async (compactor) => {
    for (const { messages, targetTokens } of SITUATIONS) {
      for (const pin of [1, 2, 3]) {
        const pinned = new Set([pin]);
        const { discardedAt } = compactor.rebuildHistory(messages, "Short.", {
          targetTokens,
          pinned,
        });
        expects(!discardedAt.includes(pin), `the pinned message ${pin} to stay`, { discardedAt });
        const isWhole = !discardedAt.includes(2) && !discardedAt.includes(3);
        if (pin > 1)
          expects(isWhole, "the call 2 and its result 3 to stay together", { discardedAt });
      }
    }
  },
  "a summary is never a turn, and never retained by the next compaction": async (compactor) => {
    for (const { messages, targetTokens } of SITUATIONS) {
      const once = compactor.rebuildHistory(messages, "The first.", { targetTokens });
      const grown = [...once.messages, ...turns(9, 400)];
      const twice = compactor.rebuildHistory(grown, "The second.", { targetTokens });
      const summaries = twice.messages.filter(isSummary).map((message) => message.role);
      expects(summaries.length <= 1, "at most one summary", summaries.length);
      const text = JSON.stringify(twice.messages);
      expects(!text.includes("The first."), "no message with the previous summary", twice.messages);
    }
  },
  "a rebuilt history is smaller than its source, however long the summary": async (compactor) => {
    for (const { messages, targetTokens } of SITUATIONS) {
      for (const summary of ["Short.", "long ".repeat(50_000), "\u0001".repeat(50_000)]) {
        const result = compactor.rebuildHistory(messages, summary, { targetTokens });
        const [before, after] = [jsonBytes(messages), jsonBytes(result.messages)];
        expects(after < before, `fewer than ${before} bytes of messages`, after);
        const bytes = summaryBytes(result);
        expects(
          bytes <= result.summaryBytesMax,
          `a summary of at most ${result.summaryBytesMax} bytes`,
          bytes,
        );
      }
    }
  },
  "it ends below the target whenever system messages, pins and the last user message alone would": (
    compactor,
  ) =>
    inEverySituation(compactor, ({ targetTokens }, { result }) => {
      const tokens = estimateTokens(result.messages);
      expects(tokens < targetTokens, `fewer than ${targetTokens} tokens`, tokens);
    }),
  "no more messages stay than the window has, but for one group that is more by itself": async (
    compactor,
  ) => {
    const { windowSize } = compactor.config;
    if (windowSize === undefined) return;
    const talk: Situation = { messages: turns(windowSize, 10), targetTokens: 100_000 };
    for (const { messages, targetTokens } of [...SITUATIONS, talk]) {
      const result = compactor.rebuildHistory(messages, "Short.", { targetTokens });
      const last = messages.findLast(startsTurn);
      const loose = result.messages.filter(
        (message) => message.role !== "system" && message !== last && !isSummary(message),
      );
      expects(result.discarded.length > 0, "a discarded message", result.discarded);
      const most = Math.max(windowSize, 2);
      expects(
        loose.length <= most,
        `at most ${most} messages besides those that must stay`,
        loose.length,
      );
    }
  },
  "when nothing can be discarded, no summary is put in": async (compactor) => {
    const messages: Message[] = [
      { role: "system", content: "s".repeat(4000) },
      { role: "user", content: "u".repeat(4000) },
    ];
    for (const targetTokens of [100, 100_000]) {
      const result = compactor.rebuildHistory(messages, "Short.", { targetTokens, force: true });
      assert.deepEqual(result.messages, messages);
      assert.deepEqual([result.discarded, result.shortened, result.summaryBytesMax], [[], [], 0]);
    }
  },
});

interface Situation {
  readonly messages: readonly Message[];
  readonly targetTokens: number;
}

/** Many turns, one turn that is too large, and one tool output that is. All begin with S U A T. */
const SITUATIONS: readonly Situation[] = [
  { messages: [system("Be brief."), ...turns(12, 300)], targetTokens: 1500 },
  {
    messages: [system("Be brief."), user("Go."), ...rounds(40, 300), system("One more rule.")],
    targetTokens: 1500,
  },
  {
    messages: [system("Be brief."), ...turns(2, 20_000), user("And?"), ...rounds(1, 20_000)],
    targetTokens: 1500,
  },
];

interface Rebuilt {
  readonly result: RebuildResult;
  /** The rebuilt history without its new summary. */
  readonly stayed: readonly Message[];
}

async function inEverySituation(
  compactor: EngineCompactor,
  check: (situation: Situation, rebuilt: Rebuilt) => void,
): Promise<void> {
  for (const situation of SITUATIONS) {
    const { messages, targetTokens } = situation;
    const result = compactor.rebuildHistory(messages, "Short.", { targetTokens });
    check(situation, { result, stayed: result.messages.filter((message) => !isSummary(message)) });
  }
}

function full(compactor: EngineCompactor, context: Partial<CompactionContext>): CompactionContext {
  const { autoCompactThreshold } = compactor.config;
  return {
    lastInputTokens: autoCompactThreshold,
    messageCount: 10,
    estimatedHistoryTokens: autoCompactThreshold,
    lastCompactionTurn: undefined,
    currentTurn: 1,
    ...context,
  };
}

function summaryBytes({ messages }: RebuildResult): number {
  const summary = messages.find(isSummary);
  if (summary?.role !== "user" || typeof summary.content !== "string") return 0;
  return jsonBytes(summary.content.slice(SUMMARY_PREFIX.length)) - 2;
}

function system(content: string): Message {
  return { role: "system", content };
}

function user(content: string): Message {
  return { role: "user", content };
}

/** Turns of a question, a tool call with its result, and an answer. */
function turns(count: number, outputLength: number): Message[] {
  return Array.from({ length: count }, (_, turn): Message[] => [
    user(`Question ${turn}`),
    ...rounds(1, outputLength, `turn_${turn}`),
    { role: "assistant", content: `Answer ${turn}` },
  ]).flat();
}

function rounds(count: number, outputLength: number, name = "call"): Message[] {
  return Array.from({ length: count }, (_, round): Message[] => {
    const id = `${name}_${round}`;
    const content = "o".repeat(outputLength);
    return [
      { role: "assistant", content: "", tool_calls: [{ id, name: "look", args: {} }] },
      { role: "tool_results", results: [{ tool_use_id: id, content, is_error: false }] },
    ];
  }).flat();
}
