import { describe, expect, test } from "vitest";
import { LONG } from "../../test/support/trials.ts";
import type { CompactionConfig, Compactor, EngineCompactor } from "../core/compactor.ts";
import { isSummary, type Message, summaryMessage } from "../core/message.ts";
import { estimateTokens } from "../core/tokens.ts";
import { checkRebuild } from "./check-rebuild.ts";
import { compactHistory } from "./compact-history.ts";
import type { CompactHistoryOptions } from "./compact-history-options.ts";
import { DefaultCompactor } from "./default-compactor.ts";
import type { SummaryRequest } from "./write-summary.ts";

const filler = " and so on".repeat(60);
const user = (content: string): Message => ({ role: "user", content: content + filler });
const assistant = (content: string): Message => ({ role: "assistant", content: content + filler });
const turns = (count: number): Message[] =>
  Array.from({ length: count }, (_, turn) => [user(`u${turn}`), assistant(`a${turn}`)]).flat();

function round(id: string, output: string): Message[] {
  return [
    { role: "assistant", content: "", tool_calls: [{ id, name: "run", args: {} }] },
    { role: "tool_results", results: [{ tool_use_id: id, content: output, is_error: false }] },
  ];
}

const config = { autoCompactThreshold: 2000 };
const source: readonly Message[] = [
  { role: "system", content: "Be brief." },
  assistant("Hello!"),
  summaryMessage("Older."),
  ...turns(10),
];

/** Compacts `source` with a summariser that answers `answer`, and counts its calls. */
async function compact(
  answer: unknown,
  options: Partial<CompactHistoryOptions> = {},
  settings: Partial<CompactionConfig> = config,
) {
  const requests: SummaryRequest[] = [];
  const result = await compactHistory({
    messages: source,
    ...settings,
    summarize: async (request) => {
      requests.push(request);
      if (answer instanceof Error) throw answer;
      return answer as string;
    },
    ...options,
  });
  return { result, requests };
}

test("a request says whether the newest message leaves too", async () => {
  const messages = [...turns(4), user("Read all of it."), ...round("c1", "x ".repeat(900))];
  const told: boolean[] = [];
  for (const targetTokens of [300, 400, 600, 900, 1_200]) {
    const { result, requests } = await compact("u0, a0, u1.", { messages, targetTokens });
    const places = result.discarded.map(({ index }) => index);
    for (const { newestLeaves = false } of requests) {
      expect(newestLeaves).toBe(places.includes(messages.length - 1));
      told.push(newestLeaves);
    }
  }
  expect(new Set(told)).toEqual(new Set([true, false]));
});

describe("a summary that is asked for at the end of the last request", () => {
  const continues = { messages: source, toolTokens: 0 };

  test("has nothing of the newest results, which stay and which no request has had", async () => {
    const messages = [...source, user("Go on."), ...round("c1", "one"), ...round("c2", "two")];
    const wide = { messages, continues: { messages, toolTokens: 0 }, contextWindow: 20_000 };
    const { requests } = await compact("The story so far: u0, a0, u1 and a1.", wide);
    expect(requests[0]?.messages.slice(0, -1)).toEqual(messages.slice(0, -2));
  });

  test("has that request at its beginning, and the prompt at its end", async () => {
    const wide = { continues, contextWindow: 20_000 };
    const { requests } = await compact("The story so far: u0, a0, u1 and a1.", wide);
    const [request] = requests;
    expect(request?.continues).toBe(true);
    expect(request?.messages.slice(0, -1)).toEqual(source);
    expect(JSON.stringify(request?.messages.at(-1))).toContain("CONTEXT COMPACTION");
  });

  test.each([
    ["does not fit the window", { continues, contextWindow: 4000 }],
    [
      "does not fit with its tools",
      { continues: { messages: source, toolTokens: 16_000 }, contextWindow: 20_000 },
    ],
  ])("is a request of its own when it %s", async (_, options) => {
    const { requests } = await compact("The story so far: u0, a0, u1 and a1.", options);
    expect(requests[0]?.continues).toBeUndefined();
    expect(JSON.stringify(requests[0]?.messages)).toContain("<record>");
    expect(estimateTokens(requests[0]?.messages ?? [])).toBeLessThan(options.contextWindow);
  });

  test("is asked for once more as a record when it says the request again", async () => {
    const echo =
      "The conversation above is about to leave the context window, except for its newest part.";
    const { requests, result } = await compact(echo, { continues, contextWindow: 20_000 });
    expect(requests.map((request) => request.continues)).toEqual([true, undefined]);
    expect(result).toMatchObject({ outcome: "compacted", rejected: ["echo", "echo"] });
  });
});

describe("the outcome for a history", () => {
  test("it gives the positions of the messages that stayed", async () => {
    const { result } = await compact("The story so far.");
    const stayed = result.messages.filter((message) => !isSummary(message));
    expect(result.retained.map((position) => source[position])).toEqual(stayed);
    const left = result.discarded.map(({ index }) => index);
    expect([...result.retained, ...left].sort((a, b) => a - b)).toEqual([...source.keys()]);
    const same = await compact("", {}, { autoCompactThreshold: 1_000_000 });
    expect(same.result.retained).toEqual([...source.keys()]);
  });

  test("opaque tokens count for the message that they are sent with", async () => {
    const opaqueTokens = new Map([[4, 5_000]]);
    const { result } = await compact("Short.", { opaqueTokens }, { autoCompactThreshold: 6_000 });
    expect(result.tokensBefore).toBe(estimateTokens(source) + 5_000);
    expect(result.retained).not.toContain(4);
    expect(result.tokensAfter).toBe(estimateTokens(result.messages));
  });

  test("messages that are joined stay and leave together", async () => {
    const last = source.length - 1;
    const joined = [[3, last]] as const;
    const { result } = await compact("Short.", { joined, pins: [last] });
    expect(result.outcome).toBe("compacted");
    expect(result.retained).toContain(3);
    const parted = new DefaultCompactor({ recentTurnBudget: 2 }).rebuildHistory(source, "Short.");
    expect(checkRebuild(source, parted)).not.toContain("pair_parted");
    expect(checkRebuild(source, parted, { joined })).toContain("pair_parted");
    expect(() => checkRebuild(source, parted, { joined: [[0, last + 1]] })).toThrow(
      `joined names position ${last + 1}`,
    );
  });

  test("it is compacted: the result has the discarded messages, the reasons and the summary", async () => {
    const { result, requests } = await compact("  The story so far.\n", { userWordsTokens: 0 });
    expect(result).toMatchObject({
      outcome: "compacted",
      summary: "The story so far.",
      summarizedBy: "model",
      pruned: [],
      tokensBefore: estimateTokens(source),
      tokensAfter: estimateTokens(result.messages),
    });
    expect(result.messages.slice(0, 2)).toEqual([source[0], summaryMessage("The story so far.")]);
    const whys = Object.groupBy(result.discarded, ({ why }) => why);
    expect(whys.before_first_turn?.map(({ index }) => index)).toEqual([1]);
    expect(whys.previous_summary?.map(({ index }) => index)).toEqual([2]);
    expect(whys.older_turn).toHaveLength(16);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.messages).toHaveLength(2);
    expect(requests[0]?.maxTokens).toBeLessThanOrEqual(4096);
  });

  test("messages of the last turn that left are marked as such", async () => {
    const rounds = [..."abcdefghijklmnop"].flatMap((id) => round(id, filler));
    const { result } = await compact("S", { messages: [user("u"), ...rounds] });
    expect(new Set(result.discarded.map(({ why }) => why))).toEqual(
      new Set(["earlier_in_last_turn"]),
    );
  });

  test("below the threshold it is left alone", async () => {
    const { result, requests } = await compact("S", {}, {});
    expect(result).toMatchObject({ outcome: "unchanged", reason: "below_threshold" });
    expect(result.messages).toEqual(source);
    expect(requests).toEqual([]);
  });

  test("with `force` it is compacted below the threshold", async () => {
    const { result } = await compact("S", { force: true }, {});
    expect(result.outcome).toBe("compacted");
    expect(result.messages.slice(2)).toEqual(turns(10).slice(-8));
  });

  test("when every message has to stay, no model is called", async () => {
    const messages = [user("x".repeat(20_000))];
    const { result, requests } = await compact("S", { messages });
    expect(result).toMatchObject({ outcome: "unchanged", reason: "nothing_to_discard" });
    expect(requests).toEqual([]);
  });

  test("old tool output is pruned first, and that can be enough", async () => {
    const messages = [user("u"), ...round("a", "x".repeat(9000)), ...round("b", filler)];
    const { result, requests } = await compact("S", { messages });
    expect(result).toMatchObject({
      outcome: "pruned",
      discarded: [],
      pruned: [{ index: 2, toolUseId: "a", keptBytes: 256 }],
      summary: null,
      summarizedBy: "none",
    });
    expect(requests).toEqual([]);
    const whole = await compact("S", { messages, pruneToolOutput: false });
    expect(whole.result.messages).toHaveLength(5);
  });

  test("without room for a summary no model is called", async () => {
    const last = user("x".repeat(7100));
    const { result, requests } = await compact("S", { messages: [...turns(10), last] });
    expect(result).toMatchObject({
      outcome: "compacted",
      messages: [last],
      summary: null,
      summarizedBy: "none",
    });
    expect(requests).toEqual([]);
  });

  test("a summary that alone is too long is cut, and no model is called", async () => {
    const old = summaryMessage("Older. ".repeat(2000));
    const { result, requests } = await compact("S", { messages: [old, ...turns(2)] });
    expect(result).toMatchObject({ outcome: "compacted", summarizedBy: "none" });
    expect(result.discarded).toEqual([{ message: old, index: 0, why: "previous_summary" }]);
    expect(result.summary).toMatch(/^Older\..* \[…\]$/);
    expect(requests).toEqual([]);
  });

  test("compacting again at once does nothing", async () => {
    const first = await compact("S");
    const { result, requests } = await compact("S", { messages: first.result.messages });
    expect(result).toMatchObject({ outcome: "unchanged", reason: "below_threshold" });
    expect(requests).toEqual([]);
  });

  test("pins stay, by their position", async () => {
    const { result } = await compact("S", { pins: [5] });
    expect(result.messages).toContain(source[5]);
    expect(result.messages).not.toContain(source[4]);
  });

  test("without a summariser the summary needs no model", async () => {
    const result = await compactHistory({ messages: source, ...config });
    expect(result).toMatchObject({ outcome: "compacted", summarizedBy: "fallback" });
    expect(result.summary).toContain("[Start] u0");
  });

  test("the discarded previous summary is marked, so that it is not indexed again", async () => {
    const { result } = await compact("S");
    const summaries = result.discarded.filter(({ message }) => isSummary(message));
    expect(summaries.map(({ why }) => why)).toEqual(["previous_summary"]);
  });
});

describe("the threshold", () => {
  const huge = turns(400);

  test("is the configured one", async () => {
    const { result } = await compact("S", { messages: huge, contextWindow: 1_000_000 });
    expect(result.tokensAfter).toBeLessThan(2000);
  });

  test("is 80 % of a known window when nothing is configured", async () => {
    const messages = huge.slice(0, 100);
    const estimate = estimateTokens(messages);
    const at = async (contextWindow: number) => {
      const { result } = await compact(
        "S",
        {
          messages,
          contextWindow,
        },
        {},
      );
      return result.outcome;
    };
    expect(await at(Math.ceil(estimate / 0.8) + 10)).toBe("unchanged");
    expect(await at(Math.floor(estimate / 0.8) - 10)).toBe("compacted");
  });

  test("is at most 100 000 when nothing is configured", async () => {
    const { result } = await compact("S", { messages: [...huge, ...huge] }, {});
    expect(result).toMatchObject({ outcome: "compacted" });
    expect(result.tokensBefore).toBeGreaterThan(100_000);
    expect(result.tokensAfter).toBeLessThan(100_000);
  });
});

describe("a summary that fails", () => {
  const FAILURES = [
    [new Error("the provider is down"), "summary_failed", "the provider is down"],
    ["Error: 529 Overloaded", "summary_failed", "529 Overloaded"],
    ["", "empty_summary", "empty"],
    [" \n\u200b", "empty_summary", "empty"],
    [undefined, "empty_summary", "empty"],
  ] as const;

  test.each(FAILURES)("leaves everything as it was: %s", async (answer, reason, detail) => {
    const { result } = await compact(answer);
    expect(result).toMatchObject({ outcome: "unchanged", reason, discarded: [] });
    expect(result.messages).toEqual(source);
    expect(result.outcome === "unchanged" && result.detail).toContain(detail);
  });

  test.each(FAILURES)("is replaced by the fallback when asked: %s", async (answer, reason) => {
    const { result } = await compact(answer, { onSummaryFailure: "fallback" });
    expect(result).toMatchObject({
      outcome: "compacted",
      summarizedBy: "fallback",
      failure: { reason },
    });
    expect(result.summary).toContain("[Start] u0");
  });

  test("includes one that does not come in time; its request is aborted", async () => {
    let aborted = false;
    const { result } = await compact("S", {
      summaryTimeoutMs: 5,
      summarize: ({ signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => {
            aborted = true;
          });
        }),
    });
    expect(result).toMatchObject({ outcome: "unchanged", reason: "summary_timeout" });
    expect(aborted).toBe(true);
  });
});

describe("the caller's abort", () => {
  test("rejects with its reason, even if the summariser goes on", async () => {
    const controller = new AbortController();
    const pending = compact("S", {
      signal: controller.signal,
      summarize: () => new Promise(() => {}),
    });
    controller.abort(new Error("stop"));
    await expect(pending).rejects.toThrow("stop");
  });

  test("rejects at once when already aborted", async () => {
    await expect(compact("S", { signal: AbortSignal.abort(new Error("stop")) })).rejects.toThrow(
      "stop",
    );
  });
});

describe("a compactor of your own", () => {
  const own = new DefaultCompactor(config);
  const compactor = (rebuildHistory: EngineCompactor["rebuildHistory"]): EngineCompactor => ({
    config: own.config,
    shouldCompact: (context) => own.shouldCompact(context),
    compactionPrompt: () => "Summarise!",
    maxSummaryTokens: () => 50,
    rebuildHistory,
  });

  test("decides which messages stay and what the model is asked", async () => {
    const { requests, result } = await compact("S", {
      compactor: compactor((...request) => own.rebuildHistory(...request)),
    });
    expect(result.outcome).toBe("compacted");
    expect(requests[0]).toMatchObject({ maxTokens: 50, messages: [{}, { content: "Summarise!" }] });
  });

  test("changes nothing when its result is not sound, and no model is called", async () => {
    const { result, requests } = await compact("S", {
      compactor: compactor((messages) => ({
        messages: messages.slice(0, -1),
        discarded: messages.slice(-1),
        discardedAt: [messages.length - 1],
        summaryBytesMax: 100,
        shortened: [],
      })),
    });
    expect(result).toMatchObject({ outcome: "unchanged", reason: "invalid_rebuild" });
    expect(result.messages).toEqual(source);
    expect(requests).toEqual([]);
  });

  test("changes nothing when it throws, or when its discarded messages depend on the summary", async () => {
    const throwing = compactor(() => {
      throw new Error("no idea");
    });
    const fickle = compactor((messages, summary, constraints) =>
      own.rebuildHistory(messages, summary, {
        ...constraints,
        ...(summary === "" ? {} : { targetTokens: 900 }),
      }),
    );
    for (const each of [throwing, fickle]) {
      const { result } = await compact("S", { compactor: each });
      expect(result).toMatchObject({ outcome: "unchanged", reason: "invalid_rebuild" });
    }
  });
});

describe("the specification's compactor: four methods", () => {
  const own = new DefaultCompactor({ ...config, recentTurnBudget: 1 });
  const specified = (rebuildHistory?: Compactor["rebuildHistory"]): Compactor => ({
    shouldCompact: () => true,
    compactionPrompt: () => "Summarise!",
    maxSummaryTokens: () => 50,
    rebuildHistory:
      rebuildHistory ?? ((messages, summary) => own.rebuildHistory(messages, summary)),
  });

  test("works, and the engine puts the summary's prefix there", async () => {
    const literal = specified((messages, summary) => {
      const [first, ...rest] = messages as [Message, ...Message[]];
      return {
        messages: [first, { role: "user", content: summary }, ...rest.slice(-2)],
        discarded: rest.slice(0, -2),
      };
    });
    for (const compactor of [specified(), literal]) {
      const { requests, result } = await compact("Short.", {
        compactor,
        due: true,
        keepAnchors: false,
      });
      expect(requests[0]).toMatchObject({ maxTokens: 50 });
      expect(result).toMatchObject({ outcome: "compacted", summary: "Short." });
      expect(result.messages.find(isSummary)).toEqual(summaryMessage("Short."));
      expect(result.messages.length + result.discarded.length).toBe(source.length + 1);
    }
  });

  test("may discard one of two messages that say the same", async () => {
    const keepsFirst = specified((messages, summary) => ({
      messages: [...messages.slice(0, 2), summaryMessage(summary), ...messages.slice(-1)],
      discarded: messages.slice(2, -1),
    }));
    const messages: readonly Message[] = [
      { role: "user", content: "Go on." },
      { role: "assistant", content: "Begun." },
      { role: "user", content: "Go on." },
      { role: "assistant", content: "A long way to go. ".repeat(200) },
      { role: "user", content: "Thanks." },
    ];
    const { result } = await compact("Short.", { messages, compactor: keepsFirst, due: true });
    expect(result.discarded.map(({ index }) => index)).toEqual([2, 3]);
  });

  test("keeps pins and the last user message, although it would discard them", async () => {
    const greedy = specified((messages, summary) => ({
      messages: [summaryMessage(summary)],
      discarded: messages,
    }));
    const { result } = await compact("Short.", { compactor: greedy, due: true, pins: [3] });
    expect(result.outcome).toBe("compacted");
    const last = source.findLast(({ role }) => role === "user");
    for (const must of [source[0], source[3], last]) expect(result.messages).toContain(must);
  });

  test("a message that is missing, or in neither list, is named", async () => {
    const { rebuildHistory: _, ...without } = specified();
    await expect(compact("S", { compactor: without as Compactor })).rejects.toMatchObject({
      code: "INVALID_PARAMS",
      message: "compactor lacks rebuildHistory().",
    });
    const wrong = [
      [() => ({ messages: [] }), "no `discarded`"],
      [
        (messages: readonly Message[]) => ({ messages: [], discarded: messages.slice(1) }),
        "neither in",
      ],
      [
        () => ({ messages: [], discarded: [{ role: "user", content: "new" }] }),
        "not in the history",
      ],
    ] as const;
    for (const [rebuild, detail] of wrong) {
      const compactor = specified(rebuild as never);
      const { result } = await compact("S", { compactor, due: true });
      expect(result).toMatchObject({
        outcome: "unchanged",
        reason: "invalid_rebuild",
        detail: expect.stringContaining(detail),
      });
    }
  });
});

describe("a value that is not a history", () => {
  test.each([
    [{ messages: "no" }, "messages has to be an array"],
    [{ messages: [null] }, "messages[0] is not an object"],
    [{ messages: [user("u"), { role: "tool", content: "" }] }, 'messages[1].role is "tool"'],
    [{ messages: [{ role: "toString" }] }, 'messages[0].role is "toString"'],
    [{ messages: [{ role: "assistant", content: null }] }, "messages[0].content has to be a text"],
    [{ messages: [user("u")], pins: [1] }, "pins names position 1"],
    [{ messages: [user("u")], pins: [0.5] }, "pins names position 0.5"],
    [{ messages: [user("u")], joined: [[0, 1]] }, "joined names position 1"],
    [{ messages: [user("u")], joined: [[-1, 0]] }, "joined names position -1"],
    [{ messages: [user("u")], joined: [[0]] }, "a pair of positions"],
    [{ pins: 5 }, "pins: it has to be a list"],
    [{ injected: new Set([0]) }, "injected: it has to be a list"],
    [{ superseded: 0 }, "superseded: it has to be a list"],
    [{ speakers: { 0: "Ana" } }, "speakers: it has to be a Map from positions to names"],
    [{ speakers: new Map([[0, 5]]) }, "speakers: it has to be a Map from positions to names"],
    [{ targetTokens: 0 }, "targetTokens is 0"],
    [{ contextWindow: Number.NaN }, "contextWindow is NaN"],
    [{ autoCompactThreshold: -1 }, "autoCompactThreshold is -1"],
    [{ autoCompactTreshold: 5 }, "Did you mean autoCompactThreshold?"],
    [{ summarize: "gpt" }, "summarize has to be a function"],
  ])("is refused by name: %j", async (options, detail) => {
    const refused = compact("S", options as unknown as Partial<CompactHistoryOptions>);
    await expect(refused).rejects.toMatchObject({
      code: "INVALID_PARAMS",
      message: expect.stringContaining(detail),
    });
  });
});

/** Of four messages each. */
const TURNS = LONG ? 2500 : 500;

test(`a history of ${4 * TURNS} messages is brought below the threshold at once`, async () => {
  const messages = Array.from({ length: TURNS }, (_, index) => [
    user(`u${index}`),
    ...round(`c${index}`, filler),
    assistant("a"),
  ]).flat();
  const options = { messages, autoCompactThreshold: 100_000 };
  const { result } = await compact("S", { ...options, recentTurnBudget: 4 });
  expect(result.messages).toHaveLength(1 + 4 * 4);
  const more = (await compact("S", options)).result;
  expect(more.messages.length).toBeGreaterThan(1 + 4 * 4);
  expect(more.tokensAfter).toBeLessThanOrEqual(50_000);
});

test("large turns are fewer by default, and as many as a number says", async () => {
  const large = (turn: number) => [
    user(`u${turn} ${"w ".repeat(200)}`),
    assistant(`a${turn} ${"w ".repeat(200)}`),
  ];
  const messages = Array.from({ length: 12 }, (_, turn) => large(turn)).flat();
  const kept = async (options: Partial<CompactHistoryOptions>) => {
    const { result } = await compact("S", { messages, userWordsTokens: 0, ...options });
    const left = new Set(result.discarded.map(({ index }) => index));
    return messages.filter((_, index) => !left.has(index)).length / 2;
  };
  const each = estimateTokens(messages) / 12;
  const autoCompactThreshold = Math.floor(each * 9);
  expect(await kept({ autoCompactThreshold })).toBe(3);
  expect(await kept({ autoCompactThreshold, recentTurnBudget: 4 })).toBe(4);
  expect(await kept({ autoCompactThreshold: Math.floor(each * 3) })).toBe(1);
});

test("the provider's last count decides the trigger and how much has to leave", async () => {
  const talk = Array.from({ length: 20 }, (_, turn): Message[] => [
    { role: "user", content: `Question ${turn}${" and so on".repeat(60)}` },
    { role: "assistant", content: `Answer ${turn}${" and so on".repeat(60)}` },
  ]).flat();
  const options = { messages: talk, autoCompactThreshold: 10_000 };
  const estimate = estimateTokens(talk);
  expect(await compactHistory(options)).toMatchObject({ reason: "below_threshold" });
  const counted = await compactHistory({ ...options, lastInputTokens: 3 * estimate });
  expect(counted.outcome).toBe("compacted");
  expect(counted.tokensAfter * 3).toBeLessThan(10_500);
  // A count below the estimate is not believed: some servers leave out what they had cached.
  expect(await compactHistory({ ...options, lastInputTokens: 10 })).toMatchObject({
    reason: "below_threshold",
  });
});

test("a count far above the estimate is a fixed part, and takes no more than three quarters", async () => {
  const messages = [user("Go."), ...[..."abcdefghijkl"].flatMap((id) => round(id, filler))];
  const lastInputTokens = 230 * estimateTokens(messages);
  const small = { messages, lastInputTokens, autoCompactThreshold: 100_000 };
  expect(await compactHistory(small)).toMatchObject({ reason: "below_threshold" });
  const { result } = await compact("go on, run, and so on", {
    ...small,
    autoCompactThreshold: 4000,
  });
  expect(result.outcome).toBe("compacted");
  expect(result.retained).toContain(messages.length - 1);
  expect(result.summary).not.toBe(null);
  expect(result.tokensAfter).toBeGreaterThan(300);
});
