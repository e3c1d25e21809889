import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type CostOutlook, compactHistory } from "../src/compaction/compact-history.ts";
import type { CompactHistoryResult } from "../src/compaction/compact-history-result.ts";
import { splitWords } from "../src/compaction/kept-words.ts";
import { countLooseMessages, measureHistory } from "../src/compaction/measure-history.ts";
import { type CompactionConfig, DEFAULT_COMPACTION_CONFIG } from "../src/core/compactor.ts";
import {
  isSummary,
  type Message,
  summaryMessage,
  toolResults,
  toolUses,
} from "../src/core/message.ts";
import {
  estimateTokens,
  jsonBytes,
  messageWeight,
  tokensOfWeight,
  withShortenedOutput,
} from "../src/core/tokens.ts";
import {
  arbitraryContinuation,
  arbitraryHistory,
  arbitrarySummary,
  arbitraryThreshold,
  type ScriptedSummary,
} from "./support/arbitrary-histories.ts";
import { GIVEN_SEED } from "./support/given-seed.ts";
import { note } from "./support/running-test.ts";
import { LONG, sampled, trials } from "./support/trials.ts";

/** Each runs a history, and up to two continuations of what became of it. */
const RUNS = trials(12, 5500);

interface Scenario {
  readonly config: Partial<CompactionConfig> & { readonly autoCompactThreshold: number };
  readonly contextWindow: number | undefined;
  readonly summary: ScriptedSummary;
  readonly onSummaryFailure: "keep" | "fallback";
  readonly pruneToolOutput: boolean;
  readonly force: boolean;
  readonly instructions: string;
  readonly outlook: CostOutlook | undefined;
}

const arbitraryScenario: fc.Arbitrary<Scenario> = fc.record({
  config: fc.record(
    {
      autoCompactThreshold: arbitraryThreshold,
      recentTurnBudget: fc.constantFrom(0, 1, 2, 4, 50),
      maxSummaryTokens: fc.constantFrom(1, 100, 4096),
      windowSize: fc.constantFrom(1, 3, 12),
    },
    { requiredKeys: ["autoCompactThreshold"] },
  ),
  contextWindow: fc.option(fc.constantFrom(300, 2000, 8000, 200_000), { nil: undefined }),
  summary: arbitrarySummary,
  onSummaryFailure: fc.constantFrom("keep", "fallback"),
  pruneToolOutput: fc.boolean(),
  force: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
  instructions: fc.constantFrom("", "Keep the numbers.", "x".repeat(10_000)),
  outlook: fc.option(
    fc.record({
      read: fc.constantFrom(0, 0.1, 1),
      write: fc.constantFrom(1, 1.25),
      output: fc.constantFrom(0, 5),
      isWarm: fc.boolean(),
      growth: fc.constantFrom(0, 50, 5000),
      calls: fc.constantFrom(1, 30, 1000),
    }),
    { nil: undefined },
  ),
});

const arbitraryPins = fc.array(fc.nat(), { maxLength: 3 });

/** What one compaction was given and what it did. */
interface Compaction {
  readonly scenario: Scenario;
  readonly source: readonly Message[];
  readonly pins: readonly number[];
  readonly result: CompactHistoryResult;
  readonly requests: readonly { readonly messages: Message[]; readonly maxTokens: number }[];
}

async function compact(
  scenario: Scenario,
  source: readonly Message[],
  pins: readonly number[],
): Promise<Compaction> {
  const { contextWindow, summary, config, outlook, ...options } = scenario;
  const requests: Compaction["requests"][number][] = [];
  const result = await compactHistory({
    ...config,
    ...options,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(outlook === undefined ? {} : { outlook }),
    messages: source,
    pins,
    summarize: async ({ messages, maxTokens }) => {
      requests.push({ messages, maxTokens });
      if (summary.kind === "throws") throw new Error("the provider is down");
      return summary.text;
    },
  });
  return { scenario, source, pins, result, requests };
}

/** Every promise, by its name, with what it says of one compaction. */
const PROMISES: Record<string, (compaction: Compaction) => void> = {
  "a rebuilt history passes its own check": ({ result }) => {
    assert.ok(result.outcome !== "unchanged" || result.reason !== "invalid_rebuild");
  },
  "what stayed and what left is exactly the source": ({ source, result }) => {
    const left = new Set(result.discarded.map(({ index }) => index));
    for (const { index, message } of result.discarded) assert.equal(source[index], message);
    const shorter = new Set(result.pruned.map(({ index }) => index));
    const isNew = result.summary === null ? 0 : 1;
    assert.equal(result.messages.length, source.length - left.size + isNew);
    const place = result.discarded[0]?.index ?? 0;
    const stayed = isNew ? result.messages.toSpliced(place, 1) : result.messages;
    const indexes = source.flatMap((_, index) => (left.has(index) ? [] : [index]));
    indexes.forEach((index, at) => {
      if (!shorter.has(index)) assert.equal(stayed[at], source[index]);
    });
  },
  "the log can repeat it": ({ source, result }) => {
    const shortened = [...source];
    for (const { index, ...kept } of result.pruned) {
      shortened[index] = withShortenedOutput(shortened[index] as Message, kept);
    }
    const left = new Set(result.discarded.map(({ index }) => index));
    const place = Math.min(...left);
    const messages = shortened.flatMap((message, index) => {
      if (!left.has(index)) return [message];
      return index === place && result.summary !== null ? [summaryMessage(result.summary)] : [];
    });
    assert.equal(JSON.stringify(messages), JSON.stringify(result.messages));
  },
  "a tool call and its result stay together": ({ source, result }) => {
    const left = new Set(result.discarded.map(({ index }) => index));
    for (const [call, answer] of pairsOf(source)) {
      assert.equal(left.has(call), left.has(answer), `parts ${call} from ${answer}`);
    }
  },
  "system messages and the last user message stay word for word": ({ source, result }) => {
    const last = source.findLast(isUser);
    const must = source.filter((message) => message.role === "system" || message === last);
    for (const message of must) assert.ok(result.messages.includes(message));
  },
  "pins stay": ({ source, pins, result }) => {
    const gone = new Set([...result.discarded, ...result.pruned].map(({ index }) => index));
    for (const pin of pins) assert.ok(!gone.has(pin) || isSummary(source[pin] as Message));
  },
  "it gets below the threshold where system messages, pins and the last user message would": ({
    scenario,
    source,
    pins,
    result,
    requests,
  }) => {
    const failed = requests.length > 0 && ["bad", "throws"].includes(scenario.summary.kind);
    if (failed && keeps(scenario, source)) return;
    const threshold = scenario.config.autoCompactThreshold;
    if (estimateTokens(fixed(source, pins)) < threshold) {
      assert.ok(estimateTokens(result.messages) < threshold);
    }
  },
  "it never grows": ({ source, result }) => {
    const [before, after] = [source, result.messages].map((all) => JSON.stringify(all)) as [
      string,
      string,
    ];
    if (result.outcome === "unchanged") assert.equal(after, before);
    else assert.ok(Buffer.byteLength(after) < Buffer.byteLength(before));
  },
  "an empty, blank or failed summary deletes nothing while the history fits the window": ({
    scenario,
    source,
    result,
    requests,
  }) => {
    const { kind } = scenario.summary;
    if (kind === "text" || kind === "worthless" || requests.length === 0) return;
    if (keeps(scenario, source)) {
      assert.equal(result.outcome, "unchanged");
      return;
    }
    assert.equal(result.summarizedBy, "fallback");
    const lastStep = scenario.onSummaryFailure === "keep" || undefined;
    assert.equal(result.outcome === "compacted" && result.lastStep, lastStep);
  },
  "a summary that is worth nothing is never taken": ({ scenario, result }) => {
    if (scenario.summary.kind !== "worthless" || result.outcome !== "compacted") return;
    assert.notEqual(result.summarizedBy, "model");
    assert.notEqual(result.summary, scenario.summary.text);
  },
  "the summary request fits the window": ({ scenario, result, requests }) => {
    const window = scenario.contextWindow ?? scenario.config.autoCompactThreshold;
    for (const { messages, maxTokens } of requests) {
      assert.ok(estimateTokens(messages) + maxTokens <= window);
      assert.ok(messages.every(({ role }) => role === "user"));
    }
    // It is asked once, and once more when what it said is worth nothing.
    const rejected = result.outcome === "compacted" ? (result.rejected?.length ?? 0) : 2;
    assert.ok(requests.length <= Math.min(2, 1 + rejected));
  },
  "a summary takes no more than its room": ({ scenario, result }) => {
    const max = scenario.config.maxSummaryTokens ?? DEFAULT_COMPACTION_CONFIG.maxSummaryTokens;
    const { summary } = splitWords(result.summary ?? "");
    assert.ok(Buffer.byteLength(summary) <= max * 4);
    const words = Buffer.byteLength(result.summary ?? "") - Buffer.byteLength(summary);
    assert.ok(words <= 4 * 0.8 * scenario.config.autoCompactThreshold);
  },
  "a summary takes no more than two thirds of what it stands for, besides the words that it carries on":
    ({ result }) => {
      const summary = result.messages.find(isSummary);
      if (result.outcome !== "compacted" || result.summary === null || !summary) return;
      const left = result.discarded.map(({ message }) => messageWeight(message) + 1);
      const weight = left.reduce((sum, each) => sum + each, 0);
      const without = splitWords(result.summary).summary;
      const words = messageWeight(summary) - messageWeight(summaryMessage(without));
      assert.ok(messageWeight(summary) + 1 <= ((weight - words) * 2) / 3 + words);
    },
  "no previous summary stays when a turn leaves": ({ source, result }) => {
    if (result.discarded.length === 0) return;
    const old = source.filter(isSummary);
    assert.ok(!result.messages.some((message) => old.includes(message)));
  },
  "nothing happens below the threshold unless asked, or crowded": ({
    scenario,
    source,
    pins,
    result,
  }) => {
    const { autoCompactThreshold, windowSize = Infinity } = scenario.config;
    if (scenario.force || estimateTokens(source) >= autoCompactThreshold) return;
    if (countLooseMessages(source, pins) >= 2 * windowSize) return;
    assert.equal(result.outcome, "unchanged");
  },
  "no more messages stay than the window has, but for one group": ({
    scenario,
    pins,
    source,
    result,
  }) => {
    const { windowSize } = scenario.config;
    if (windowSize === undefined || result.outcome !== "compacted") return;
    const at = movedPins(pins, { scenario, source, pins, result, requests: [] });
    const loose = countLooseMessages(result.messages, at);
    const groups = measureHistory(result.messages).groups.map(({ members }) => members.length);
    assert.ok(loose <= Math.max(windowSize, ...groups));
  },
  "the first message but system messages is a user message if it was": ({
    source,
    pins,
    result,
  }) => {
    const isSpoken = ({ role }: Message) => role !== "system";
    const answersLater = pairsOf(source).some(([call, answer]) =>
      source.slice(call, answer).some(isUser),
    );
    if (
      pins.length > 0 ||
      answersLater ||
      !source.find(isSpoken) ||
      !isUser(source.find(isSpoken) as Message)
    )
      return;
    assert.equal(result.messages.find(isSpoken)?.role, "user");
  },
};

// Takes over two seconds: each history is compacted up to three times, and each time held against every promise.
test("every promise holds for every history, and for every continuation of it", async () => {
  let compactions = 0;
  const outcomes: Record<string, number> = {};
  const check = fc.asyncProperty(
    arbitraryHistory,
    fc.array(arbitraryContinuation, { maxLength: 2 }),
    arbitraryPins,
    arbitraryScenario,
    async (history, continuations, pinSeeds, scenario) => {
      let source = frozen(history);
      let pins = history.length === 0 ? [] : pinSeeds.map((seed) => seed % history.length);
      for (const continuation of [[], ...continuations]) {
        source = frozen([...source, ...continuation]);
        const compaction = await compact(scenario, source, pins);
        for (const [promise, holds] of Object.entries(PROMISES)) {
          named(promise, compaction, () => holds(compaction));
        }
        const { result } = compaction;
        pins = movedPins(pins, compaction);
        if (result.outcome !== "unchanged") {
          const again = await compact(scenario, result.messages, pins);
          named("compacting again at once does nothing and calls no model", again, () => {
            assert.equal(again.requests.length, 0);
            assert.equal(again.result.outcome, "unchanged");
          });
        }
        source = frozen(result.messages);
        compactions += 1;
        const outcome = result.outcome === "unchanged" ? result.reason : result.outcome;
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      }
    },
  );
  const seed = GIVEN_SEED ?? 20_260_101;
  // Shrinking such histories takes minutes; the outline of what failed says enough.
  await fc.assert(check, { numRuns: RUNS, seed, endOnFailure: true });
  if (LONG) note(`seed ${seed}: ${compactions} compactions, ${JSON.stringify(outcomes)}`);
  expect(compactions).toBeGreaterThan(1.8 * RUNS);
}, 120_000);

test("superseded system messages may leave, others never; in need only what has to stay does", async () => {
  const check = fc.asyncProperty(
    arbitraryHistory,
    arbitraryPins,
    fc.nat(),
    fc.boolean(),
    arbitraryScenario,
    async (history, pinSeeds, seed, bare, scenario) => {
      const source = frozen(history);
      const pins = history.length === 0 ? [] : pinSeeds.map((pin) => pin % history.length);
      const systems = source.flatMap(({ role }, index) => (role === "system" ? [index] : []));
      const superseded = systems.filter((_, at) => (seed >> (at % 30)) % 2 === 1 && at > 0);
      const may = new Set(superseded);
      const { summary, contextWindow, config, outlook, ...options } = scenario;
      const result = await compactHistory({
        ...config,
        ...options,
        ...(contextWindow === undefined ? {} : { contextWindow }),
        ...(outlook === undefined ? {} : { outlook }),
        messages: source,
        pins,
        superseded,
        bare,
        summarize: async () => (summary.kind === "throws" ? "" : summary.text),
      });
      assert.ok(result.outcome !== "unchanged" || result.reason !== "invalid_rebuild");
      const left = new Set(result.discarded.map(({ index }) => index));
      for (const index of systems) assert.ok(!left.has(index) || may.has(index));
      const pinned = new Set(pins);
      const has = fixed(source, pins).filter(
        (message) => !source.some((each, at) => each === message && may.has(at) && !pinned.has(at)),
      );
      for (const message of has) assert.ok(result.messages.includes(message));
      if (bare && result.outcome === "compacted") {
        assert.equal(result.summary, null);
        assert.ok(result.messages.length <= fixed(source, pins).length);
      }
    },
  );
  await fc.assert(check, { numRuns: trials(12, 3000), seed: 20_260_102, endOnFailure: true });
}, 120_000);

const CONVERSATIONS = new URL("../../shared/bench/data/", import.meta.url);

// Takes over two seconds: a real conversation is long, and is compacted again and again.
test(
  "every promise holds along real conversations",
  async (context) => {
    if (!existsSync(CONVERSATIONS)) {
      context.skip("the real conversations are not on this machine");
      return;
    }
    const config = { autoCompactThreshold: 4000 };
    const scenario: Scenario = { ...PLAIN, config, summary: { kind: "text", text: "So far." } };
    let compactions = 0;
    const some = sampled(realConversations(), { of: 30, at: 29 }, "cases");
    for (const conversation of some) {
      let history: readonly Message[] = [];
      let weight = 0;
      for (const message of conversation) {
        history = [...history, message];
        weight += messageWeight(message);
        if (tokensOfWeight(weight, history.length) < config.autoCompactThreshold) continue;
        const compaction = await compact(scenario, history, []);
        for (const [promise, holds] of Object.entries(PROMISES)) {
          named(promise, compaction, () => holds(compaction));
        }
        compactions += 1;
        history = compaction.result.messages;
        weight = history.reduce((sum, each) => sum + messageWeight(each), 0);
      }
    }
    if (LONG) note(`${compactions} compactions of real conversations`);
    expect(compactions).toBeGreaterThan(LONG ? 100 : 50);
  },
  LONG ? 600_000 : 120_000,
);

const PLAIN: Omit<Scenario, "config" | "summary"> = {
  contextWindow: undefined,
  onSummaryFailure: "keep",
  pruneToolOutput: true,
  force: false,
  instructions: "",
  outlook: undefined,
};

/** Of two people, the first to speak is taken for the user. */
function realConversations(): Message[][] {
  const files = globSync("*/docs.jsonl", { cwd: CONVERSATIONS.pathname });
  return files.flatMap((file) => {
    const lines = readFileSync(new URL(file, CONVERSATIONS), "utf8").trimEnd().split("\n");
    const entries = lines.map(
      (line) => JSON.parse(line) as Record<"conv" | "speaker" | "text", string>,
    );
    const conversations = [...Map.groupBy(entries, ({ conv }) => conv).values()];
    return conversations.map((conversation) =>
      conversation.map(({ speaker, text }): Message => {
        const role = speaker === conversation[0]?.speaker ? "user" : "assistant";
        return { role, content: text };
      }),
    );
  });
}

function named(promise: string, compaction: Compaction, holds: () => void): void {
  try {
    holds();
  } catch (error) {
    const { scenario, source, pins, result } = compaction;
    const outline = {
      ...scenario,
      summary: scenario.summary.kind,
      pins,
      source: source.map(outlineOf),
      outcome: result.outcome === "unchanged" ? [result.reason, result.detail] : result.outcome,
      result: result.messages.map(outlineOf),
    };
    throw new Error(`broken: ${promise}\n${JSON.stringify(outline, undefined, 1)}`, {
      cause: error,
    });
  }
}

/** A message as its role, its calls or results, and its bytes. */
function outlineOf(message: Message): string {
  const ids = [
    ...toolUses(message).map(({ id }) => id),
    ...toolResults(message).map((result) => result.tool_use_id),
  ];
  const role = isSummary(message) ? "summary" : message.role;
  return [role, ...ids, jsonBytes(message)].join(" ");
}

/** Whether a failed summary leaves the history as it is. */
function keeps({ onSummaryFailure, contextWindow }: Scenario, source: readonly Message[]): boolean {
  return onSummaryFailure === "keep" && estimateTokens(source) < (contextWindow ?? Infinity);
}

function isUser(message: Message): boolean {
  return message.role === "user" && !isSummary(message);
}

/** Call and result by position: a result answers the nearest call of its id before it. */
function pairsOf(messages: readonly Message[]): [number, number][] {
  return messages.flatMap((message, index) =>
    toolResults(message).flatMap(({ tool_use_id }) => {
      const call = messages.findLastIndex(
        (caller, at) => at < index && toolUses(caller).some(({ id }) => id === tool_use_id),
      );
      return call < 0 ? [] : [[call, index] as [number, number]];
    }),
  );
}

/** System messages, the last user message, pins, and whatever belongs to a pin. */
function fixed(messages: readonly Message[], pins: readonly number[]): Message[] {
  const stay = new Set(pins.filter((pin) => !isSummary(messages[pin] as Message)));
  const pairs = pairsOf(messages);
  for (let size = -1; size < stay.size; ) {
    size = stay.size;
    for (const pair of pairs) {
      if (pair.some((index) => stay.has(index))) for (const index of pair) stay.add(index);
    }
  }
  stay.add(messages.findLastIndex(isUser));
  return messages.filter((message, index) => message.role === "system" || stay.has(index));
}

function movedPins(pins: readonly number[], { source, result }: Compaction): number[] {
  const left = new Set(result.discarded.map(({ index }) => index));
  const place = result.summary === null ? Infinity : Math.min(...left);
  return pins.flatMap((pin) => {
    if (left.has(pin) || source[pin] === undefined) return [];
    const before = [...left].filter((index) => index < pin).length;
    return [pin - before + (pin > place ? 1 : 0)];
  });
}

function frozen(messages: readonly Message[]): readonly Message[] {
  const freeze = (value: unknown) => {
    if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  };
  freeze(messages);
  return messages;
}
