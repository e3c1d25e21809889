import { describe, expect, test } from "vitest";
import type { CompactionContext } from "../core/compactor.ts";
import {
  isSummary,
  type Message,
  SUMMARY_PREFIX,
  summaryMessage,
  toolResults,
} from "../core/message.ts";
import { estimateTokens } from "../core/tokens.ts";
import { compactorLaws } from "../testing/compactor-laws.ts";
import { textSize } from "./cut-text.ts";
import { DefaultCompactor } from "./default-compactor.ts";
import { summaryText } from "./render-transcript.ts";

for (const law of compactorLaws) {
  test(`law: ${law.name}`, () => law.holds(async () => new DefaultCompactor()));
  test(`law, with a window: ${law.name}`, () =>
    law.holds(async () => new DefaultCompactor({ windowSize: 6 })));
}

const FILLER = " and so on".repeat(30);

const user = (content: string): Message => ({ role: "user", content: content + FILLER });
const assistant = (content: string): Message => ({ role: "assistant", content: content + FILLER });
const system = (content: string): Message => ({ role: "system", content });

/** An assistant message with reasoning that calls a tool, and the tool's result. */
function round(id: string, output = FILLER): Message[] {
  return [
    {
      role: "block_assistant",
      blocks: [
        {
          block_type: "reasoning",
          data: { text: "Let me look.", meta: { provider: "anthropic", signature: "sig" } },
        },
        { block_type: "tool_use", data: { id, name: "read_file", args: { path: "a.ts" } } },
      ],
      stop_reason: "tool_use",
    },
    { role: "tool_results", results: [{ tool_use_id: id, content: output, is_error: false }] },
  ];
}

const turns = (count: number): Message[] =>
  Array.from({ length: count }, (_, turn) => [user(`u${turn}`), assistant(`a${turn}`)]).flat();

const due: CompactionContext = {
  lastInputTokens: 100_000,
  messageCount: 10,
  estimatedHistoryTokens: 0,
  lastCompactionTurn: undefined,
  currentTurn: 5,
};

describe("the decision to compact", () => {
  const compactor = new DefaultCompactor();

  test("has the specification's constants", () => {
    expect(compactor.config).toEqual({
      autoCompactThreshold: 100_000,
      recentTurnBudget: 4,
      maxSummaryTokens: 4096,
      minTurnsBetweenCompactions: 3,
    });
    expect(compactor.maxSummaryTokens()).toBe(4096);
  });

  test("refuses nonsensical settings", () => {
    for (const config of [
      { autoCompactThreshold: 0 },
      { recentTurnBudget: -1 },
      { maxSummaryTokens: 0.5 },
      { minTurnsBetweenCompactions: Number.NaN },
    ]) {
      expect(() => new DefaultCompactor(config)).toThrow(/^\w+ is .*; it has to be/);
    }
    expect(() => new DefaultCompactor({ autoCompactTreshold: 5 } as object)).toThrow(
      "autoCompactTreshold is not a compaction setting.",
    );
  });

  test("first turn never", () => {
    expect(compactor.shouldCompact({ ...due, currentTurn: 0 })).toBe(false);
    expect(compactor.shouldCompact({ ...due, currentTurn: 1 })).toBe(true);
  });

  test("a follow-up run begins where the session's count of calls stands, not at 0", () => {
    const resumed = { ...due, currentTurn: 7, lastCompactionTurn: 2 };
    expect(compactor.shouldCompact(resumed)).toBe(true);
  });

  test("loop guard", () => {
    const after = (calls: number) =>
      compactor.shouldCompact({ ...due, lastCompactionTurn: 5, currentTurn: 5 + calls });
    expect([0, 1, 2, 3].map(after)).toEqual([false, false, false, true]);
  });

  test("a clock that was turned back counts as no time at all", () => {
    expect(compactor.shouldCompact({ ...due, currentTurn: 2, lastCompactionTurn: 9 })).toBe(false);
  });

  test("history capacity crossing bypasses the loop guard", () => {
    const grown = { ...due, lastCompactionTurn: 5, estimatedHistoryTokens: 200_000 };
    expect(compactor.shouldCompact({ ...grown, contextWindow: 200_001 })).toBe(false);
    expect(compactor.shouldCompact({ ...grown, contextWindow: 200_000 })).toBe(true);
    expect(compactor.shouldCompact(grown)).toBe(false);
  });

  test("dual threshold", () => {
    const measured = (lastInputTokens: number, estimatedHistoryTokens: number) =>
      compactor.shouldCompact({ ...due, lastInputTokens, estimatedHistoryTokens });
    expect(measured(100_000, 0)).toBe(true);
    expect(measured(0, 100_000)).toBe(true);
    expect(measured(99_999, 99_999)).toBe(false);
  });

  test("a history of images compacts by its estimate, when no text tells its size", () => {
    const image = { type: "image", media_type: "image/png", data: "A".repeat(400) } as const;
    const messages: Message[] = [{ role: "user", content: Array(40).fill(image) }];
    const estimatedHistoryTokens = estimateTokens(messages);
    expect(compactor.shouldCompact({ ...due, lastInputTokens: 0, estimatedHistoryTokens })).toBe(
      true,
    );
  });
});

describe("the rebuilt history", () => {
  const compactor = new DefaultCompactor({ recentTurnBudget: 2 });
  const force = { force: true };

  test("preserves the system prompt, then has the summary, then the recent turns", () => {
    const prompt = system("You are terse.");
    const { messages } = compactor.rebuildHistory([prompt, ...turns(4)], "The story.", force);
    expect(messages).toEqual([prompt, summaryMessage("The story."), ...turns(4).slice(4)]);
    expect(messages[0]).toBe(prompt);
    expect(messages[1]).toMatchObject({ content: `${SUMMARY_PREFIX}The story.` });
    expect(SUMMARY_PREFIX.endsWith("duplicating work:\n\n")).toBe(true);
  });

  test("keeps recent turns, not just user messages", () => {
    const last = [user("u"), ...round("call_1"), assistant("a")];
    const { messages } = compactor.rebuildHistory([...turns(3), ...last], "S", force);
    expect(messages.slice(-4)).toEqual(last);
  });

  test("respects the turn budget", () => {
    for (const recentTurnBudget of [1, 2, 3, 5]) {
      const { messages } = new DefaultCompactor({ recentTurnBudget }).rebuildHistory(
        turns(9),
        "S",
        force,
      );
      expect(messages).toHaveLength(1 + recentTurnBudget * 2);
    }
  });

  test("a budget larger than the history leaves a history alone that is below its target", () => {
    const source = turns(2);
    const result = new DefaultCompactor().rebuildHistory(source, "S", force);
    expect(result).toMatchObject({ messages: source, discarded: [], summaryBytesMax: 0 });
  });

  test("a budget larger than the history still discards turns of one that is over its target", () => {
    const source = turns(3);
    const targetTokens = estimateTokens(source);
    const result = new DefaultCompactor().rebuildHistory(source, "S", { targetTokens });
    expect(result.discarded.length).toBeGreaterThan(0);
    expect(estimateTokens(result.messages)).toBeLessThan(targetTokens);
  });

  test("discarded messages are in order", () => {
    const source = turns(5);
    const { discarded, discardedAt } = compactor.rebuildHistory(source, "S", force);
    expect(discarded).toEqual(source.slice(0, 6));
    expect(discardedAt).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("a budget of zero discards all but the last user message", () => {
    const source = [system("S"), ...turns(3)];
    const { messages } = new DefaultCompactor({ recentTurnBudget: 0 }).rebuildHistory(
      source,
      "S",
      force,
    );
    expect(messages).toEqual([system("S"), summaryMessage("S"), user("u2")]);
  });

  test("with block assistant and tool results, four are kept and four discarded", () => {
    const source = [system("S"), user("u0"), ...round("c1"), assistant("a0"), ...turns(1)];
    const one = new DefaultCompactor({ recentTurnBudget: 1 });
    const { messages, discarded } = one.rebuildHistory(source, "S", force);
    expect(messages.map(({ role }) => role)).toEqual(["system", "user", "user", "assistant"]);
    expect(discarded.map(({ role }) => role)).toEqual([
      "user",
      "block_assistant",
      "tool_results",
      "assistant",
    ]);
  });

  test("a prior summary does not count as a turn, and is discarded with the old turns", () => {
    const old = summaryMessage(`The old story.${FILLER}`);
    const two = [system("S"), old, ...turns(2)];
    expect(compactor.rebuildHistory(two, "S", force).discarded).toEqual([]);
    const three = compactor.rebuildHistory([system("S"), old, ...turns(3)], "New.", force);
    expect(three.discarded).toEqual([old, ...turns(1)]);
    expect(three.messages.filter(isSummary)).toEqual([summaryMessage("New.")]);
  });

  test("every system message stays, wherever it is", () => {
    const source = [system("one"), system("two"), ...turns(2), system("three"), ...turns(2)];
    const { messages } = compactor.rebuildHistory(source, "S", force);
    expect(messages.map(({ role }) => role).slice(0, 4)).toEqual([
      "system",
      "system",
      "user",
      "system",
    ]);
  });

  test("messages before the first turn leave with the older turns", () => {
    const source = [assistant("Hello!"), ...turns(3)];
    const { discarded } = compactor.rebuildHistory(source, "S", force);
    expect(discarded).toEqual([assistant("Hello!"), ...turns(1)]);
  });

  test("does not retain a recent turn that is larger than the target", () => {
    const huge = [user("u"), assistant("x".repeat(20_000)), user("next"), assistant("a")];
    const { messages } = compactor.rebuildHistory([...turns(2), ...huge], "S", {
      targetTokens: 2000,
    });
    expect(messages).toEqual([summaryMessage("S"), user("next"), assistant("a")]);
  });

  test("shortens old tool output of the last turn before it cuts inside it", () => {
    const rounds = ["c1", "c2", "c3"].flatMap((id) => round(id, "x".repeat(4000)));
    const source = [...turns(1), user("u"), ...rounds];
    const { messages, shortened } = compactor.rebuildHistory(source, "S", { targetTokens: 3000 });
    expect(messages.map(({ role }) => role)).toEqual([
      "user",
      "user",
      ...Array(3).fill(["block_assistant", "tool_results"]).flat(),
    ]);
    expect(shortened.map(({ index }) => index)).toEqual([4, 6]);
    expect(messages.at(-1)).toBe(source.at(-1));
  });

  test("cuts inside a turn that is too large, between complete groups", () => {
    const rounds = Array.from({ length: 30 }, (_, call) => round(`c${call}`)).flat();
    const source = [user("u"), ...rounds];
    const { messages, discarded } = compactor.rebuildHistory(source, "S", { targetTokens: 2000 });
    expect(messages.slice(0, 2)).toEqual([user("u"), summaryMessage("S")]);
    expect(messages[2]?.role).toBe("block_assistant");
    expect(messages.slice(2)).toEqual(rounds.slice(discarded.length));
  });

  test("an output that is too large by itself is shortened, and nothing else is lost", () => {
    const source = [user("u"), ...round("c1", "x".repeat(400_000))];
    const result = compactor.rebuildHistory(source, "S", { targetTokens: 2000 });
    expect(result.discarded).toEqual([]);
    expect(result.messages).toHaveLength(3);
    expect(estimateTokens(result.messages)).toBeLessThan(2000);
    const [output] = toolResults(result.messages[2] as Message);
    expect(output?.content).toContain("bytes of old tool output pruned");
    expect(output?.content.length).toBeGreaterThan(3000);
  });

  test("parallel outputs that are too large share the room", () => {
    const ids = ["c1", "c2", "c3"];
    const source: Message[] = [
      user("u"),
      {
        role: "assistant",
        content: "",
        tool_calls: ids.map((id) => ({ id, name: "read_file", args: {} })),
      },
      {
        role: "tool_results",
        results: ids.map((id, index) => ({
          tool_use_id: id,
          content: '"'.repeat(index === 0 ? 50 : 50_000),
          is_error: false,
        })),
      },
    ];
    const { messages } = compactor.rebuildHistory(source, "S", { targetTokens: 2000 });
    const lengths = toolResults(messages[2] as Message).map(({ content }) => content.length);
    expect(lengths[0]).toBe(50);
    expect(lengths[1]).toBe(lengths[2]);
    expect(estimateTokens(messages)).toBeLessThan(2000);
  });

  test("without room for a summary there is none, and the target is met all the same", () => {
    const last = user("x".repeat(3500));
    const source = [...turns(6), last];
    const targetTokens = estimateTokens([last]) + 20;
    const result = compactor.rebuildHistory(source, "S", { targetTokens });
    expect(result).toMatchObject({ messages: [last], summaryBytesMax: 0 });
  });

  test("a target that cannot be reached leaves the newest work and a summary", () => {
    const huge = user("x".repeat(20_000));
    const source = [...turns(3), huge, ...round("c1"), ...round("c2")];
    const one = new DefaultCompactor({ recentTurnBudget: 1 });
    const { messages } = one.rebuildHistory(source, "S", { targetTokens: 4000 });
    expect(messages).toEqual([summaryMessage("S"), huge, ...round("c1"), ...round("c2")]);
    expect(one.rebuildHistory(messages, "S", { targetTokens: 4000 }).discarded).toEqual([]);
  });

  test("a summary that is too long is cut to its room, and says so", () => {
    const source = turns(40);
    for (const piece of ["plain ", "長い", "🎉", '"\n', "\u0001"]) {
      const result = compactor.rebuildHistory(source, piece.repeat(9000), { targetTokens: 1500 });
      const text = summaryText(result.messages[0] as Message);
      expect(text.endsWith(" […]")).toBe(true);
      expect(text.isWellFormed()).toBe(true);
      expect(textSize(text)).toBeLessThanOrEqual(result.summaryBytesMax);
      expect(textSize(text)).toBeGreaterThan(result.summaryBytesMax - 12);
      expect(estimateTokens(result.messages)).toBeLessThan(1500);
    }
  });

  test("ids that are used again pair with the nearest call before", () => {
    const source = [
      user("u0"),
      ...round("call_1"),
      user("u1"),
      ...round("call_1"),
      user("u2"),
      ...round("call_1"),
    ];
    const { messages } = compactor.rebuildHistory(source, "S", force);
    expect(messages).toEqual([summaryMessage("S"), ...source.slice(3)]);
  });

  test("the same object twice is two messages", () => {
    const again = user("again");
    const source = [again, assistant("a"), again, assistant("b"), again, assistant("c")];
    const result = compactor.rebuildHistory(source, "S", force);
    expect(result.discardedAt).toEqual([0, 1]);
    expect(result.messages).toEqual([summaryMessage("S"), ...source.slice(2)]);
  });

  test("a pinned result keeps its call, and neither is shortened", () => {
    const source = [user("u"), ...round("c1", "x".repeat(4000)), ...turns(9)];
    const result = compactor.rebuildHistory(source, "S", {
      pinned: new Set([2]),
      targetTokens: 2200,
    });
    expect(result.messages.slice(0, 3)).toEqual([summaryMessage("S"), ...source.slice(1, 3)]);
    expect(result.messages[2]).toBe(source[2]);
  });

  test("without being asked, nothing happens below the target", () => {
    const source = turns(9);
    const result = compactor.rebuildHistory(source, "S", {});
    expect(result.messages).toEqual(source);
    expect(result.summaryBytesMax).toBe(0);
  });
});

describe("the specification's rebuild, with a history and a summary alone", () => {
  const short = (count: number): Message[] =>
    Array.from({ length: count }, (_, turn): Message[] => [
      { role: "user", content: `u${turn}` },
      { role: "assistant", content: `a${turn}` },
    ]).flat();
  const rebuild = (messages: readonly Message[], recentTurnBudget = 2, summary = "Summary") =>
    new DefaultCompactor({ recentTurnBudget }).rebuildHistory(messages, summary);

  test("preserves the system prompt, inserts the summary, and discards in order, whatever the size", () => {
    const source = [system("Be brief."), ...short(6)];
    expect(rebuild(source)).toMatchObject({
      messages: [source[0], summaryMessage("Summary"), ...source.slice(-4)],
      discarded: source.slice(1, 9),
    });
    expect(summaryMessage("Summary").content).toBe(`${SUMMARY_PREFIX}Summary`);
  });

  test("keeps a summary whole, however long", () => {
    const summary = "long ".repeat(20_000);
    expect(rebuild(short(3), 1, summary).messages[0]).toEqual(summaryMessage(summary));
  });

  test("keeps everything when the budget is larger than the history", () => {
    const source = [system("Be brief."), ...short(2)];
    const { messages, discarded } = rebuild(source, 10);
    expect(discarded).toEqual([]);
    expect(messages).toEqual([source[0], summaryMessage("Summary"), ...source.slice(1)]);
  });

  test("discards everything with a budget of zero", () => {
    const source = [system("Be brief."), ...short(2)];
    expect(rebuild(source, 0)).toMatchObject({
      messages: [source[0], summaryMessage("Summary")],
      discarded: source.slice(1),
    });
  });

  test("keeps turns, not only user messages, with their tool results", () => {
    const source = [
      ...short(2),
      { role: "user", content: "u" } as const,
      ...round("t"),
      ...round("v"),
    ];
    const { messages, discarded } = rebuild(source, 1);
    expect(messages).toEqual([summaryMessage("Summary"), ...source.slice(4)]);
    expect(discarded).toEqual(source.slice(0, 4));
  });

  test("discards an older summary, which is no turn", () => {
    const source = [system("S"), summaryMessage("Old."), ...short(2)];
    const { messages, discarded } = rebuild(source, 2);
    expect(messages).toEqual([source[0], summaryMessage("Summary"), ...source.slice(2)]);
    expect(discarded).toEqual([source[1]]);
  });

  test("keeps as many turns as its budget says, however large they are", () => {
    const compactor = new DefaultCompactor({ autoCompactThreshold: 1000 });
    const source = turns(3).map(
      (message) => ({ ...message, content: "x".repeat(3000) }) as Message,
    );
    expect(
      compactor.shouldCompact({ ...due, estimatedHistoryTokens: estimateTokens(source) }),
    ).toBe(true);
    const { messages, discarded } = compactor.rebuildHistory(source, "S");
    expect(discarded).toEqual([]);
    expect(messages).toEqual([summaryMessage("S"), ...source]);
  });
});

describe("a window of messages", () => {
  const compactor = new DefaultCompactor({ windowSize: 4, recentTurnBudget: 1 });
  const talk = (count: number): Message[] =>
    Array.from({ length: count }, (_, turn): Message[] => [
      user(`u${turn}`),
      assistant(`a${turn}`),
    ]).flat();
  const rebuild = (messages: readonly Message[], constraints = {}) =>
    compactor
      .rebuildHistory(messages, "So far.", { targetTokens: 100_000, ...constraints })
      .messages.map((message) =>
        isSummary(message) ? "C" : String("content" in message ? message.content : "T").slice(0, 2),
      );

  test("without another trigger, it keeps as many turns as the window has room for", () => {
    expect(rebuild(talk(6))).toEqual(["C", "u4", "a4", "u5", "a5"]);
  });

  test("one message fewer, and nothing happens", () => {
    expect(rebuild(talk(4))).toEqual(["u0", "a0", "u1", "a1", "u2", "a2", "u3", "a3"]);
  });

  test("when tokens trigger, the turn budget holds as well", () => {
    const messages = talk(6);
    const targetTokens = estimateTokens(messages) - 10;
    expect(rebuild(messages, { targetTokens })).toEqual(["C", "u5", "a5"]);
  });

  test("pins do not count, and do not set it off again", () => {
    const pinned = new Set([0, 1, 2, 3]);
    expect(rebuild(talk(5), { pinned })).toHaveLength(10);
    expect(rebuild(talk(7), { pinned })).toEqual([
      "u0",
      "a0",
      "u1",
      "a1",
      "C",
      "u5",
      "a5",
      "u6",
      "a6",
    ]);
  });

  test("a long turn is cut between its groups", () => {
    const messages = [user("u0"), ...["a", "b", "c", "d", "e"].flatMap((id) => round(id))];
    expect(rebuild(messages)).toEqual(["u0", "C", "T", "T", "T", "T"]);
  });

  test("calls side by side stay together, even when they are more than the window", () => {
    const ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    const tool_calls = ids.map((id) => ({ id, name: "look", args: {} }));
    const results = ids.map(
      (id): Message => ({
        role: "tool_results",
        results: [{ tool_use_id: id, content: "x", is_error: false }],
      }),
    );
    const messages: Message[] = [
      ...talk(1),
      { role: "assistant", content: "", tool_calls },
      ...results,
    ];
    expect(rebuild(messages)).toHaveLength(12);
  });
});
