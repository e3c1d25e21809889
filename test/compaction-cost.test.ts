import { expect, test } from "vitest";
import { z } from "zod";
import { type AgentRun, agentRuns } from "../bench/hosts/agent-run.ts";
import { compactHistory } from "../src/compaction/compact-history.ts";
import { DefaultCompactor } from "../src/compaction/default-compactor.ts";
import type { Message } from "../src/core/message.ts";
import { messageWeight } from "../src/core/tokens.ts";
import { createHistoryWindow, createSessionService, defineTool } from "../src/index.ts";
import { scriptedModel } from "../src/testing.ts";
import { messageView } from "./support/message-view.ts";
import { note } from "./support/running-test.ts";
import { LONG, trials } from "./support/trials.ts";

/** Prices as parts of that of a fresh input token. */
const PRICES = {
  anthropic: { read: 0.1, write: 1.25, output: 5 },
  openai: { read: 0.1, write: 1, output: 8 },
} as const;

const SUMMARY_TOKENS = 300;

const weights = new WeakMap<Message, number>();

function tokensOf(messages: readonly Message[]): number {
  const sum = messages.reduce((total, message) => {
    const weight = weights.get(message) ?? messageWeight(message) + 1;
    weights.set(message, weight);
    return total + weight;
  }, 1);
  return Math.ceil(sum / 4);
}

interface Paid {
  readonly cost: number;
  readonly summaries: number;
  readonly prunings: number;
}

/** What a recorded run costs when its history is compacted at the threshold, with and without an outlook. */
async function play(
  run: AgentRun,
  threshold: number,
  prices: (typeof PRICES)[keyof typeof PRICES],
  plans: boolean,
): Promise<Paid> {
  let history: Message[] = [{ role: "system", content: run.instructions }];
  let sent: readonly Message[] = [];
  let cost = 0;
  let calls = 0;
  let callsSince = 0;
  let tokensThen = 0;
  let lastAttempt = -3;
  let summaries = 0;
  let prunings = 0;
  const compactor = new DefaultCompactor({ autoCompactThreshold: threshold });
  const compact = async () => {
    const tokens = tokensOf(history);
    const due = tokens >= threshold && calls > 0 && calls - lastAttempt >= 3;
    if (!due) return;
    lastAttempt = calls;
    let asked = 0;
    const result = await compactHistory({
      messages: history,
      compactor,
      contextWindow: threshold * 3,
      continues: { messages: history, toolTokens: 0 },
      onSummaryFailure: "fallback",
      summarize: async ({ messages, continues }) => {
        asked += 1;
        const input = tokensOf(messages) * (continues ? prices.read : 1);
        cost += input + SUMMARY_TOKENS * prices.output;
        return summaryOf(history);
      },
      ...(plans
        ? {
            outlook: {
              ...prices,
              isWarm: true,
              growth: (tokens - tokensThen) / Math.max(1, callsSince),
              calls,
            },
          }
        : {}),
    });
    summaries += asked;
    prunings += Number(result.outcome === "pruned");
    if (result.outcome === "unchanged") return;
    history = [...result.messages];
    callsSince = 0;
    tokensThen = result.tokensAfter;
  };
  const call = async (answer: Message) => {
    await compact();
    const same = sent.findIndex((message, at) => message !== history[at]);
    const cached = tokensOf(history.slice(0, same < 0 ? sent.length : same));
    const fresh = tokensOf(history) - cached;
    cost += cached * prices.read + fresh * prices.write + tokensOf([answer]) * prices.output;
    sent = [...history];
    history.push(answer);
    calls += 1;
    callsSince += 1;
  };
  await eachMessage(run, history, call);
  return { cost, summaries, prunings };
}

/** What a recorded run costs in another's loop, whose window is told what the provider has in its cache, or not. */
async function playWindow(
  run: AgentRun,
  contextWindow: number,
  price: (typeof PRICES)[keyof typeof PRICES],
  tells: boolean,
): Promise<number> {
  const model = "made/up";
  const history: Message[] = [{ role: "system", content: run.instructions }];
  let sent: readonly Message[] = [];
  let cost = 0;
  const { read, write, output } = price;
  const window = createHistoryWindow<Message>({
    view: messageView,
    contextWindow,
    prices: { [model]: { input: 1, cacheRead: read, cacheWrite: write, output } },
    onSummaryFailure: "fallback",
    summarize: async ({ messages }) => {
      cost += tokensOf(messages) + SUMMARY_TOKENS * output;
      return summaryOf(history);
    },
  });
  const call = async (answer: Message) => {
    const isFirst = sent.length === 0;
    const cached = tells && !isFirst ? { model, atMs: Date.now() } : undefined;
    const { messages } = await window.apply(history, { cached });
    const same = sent.findIndex((message, at) => message !== messages[at]);
    const known = tokensOf(messages.slice(0, same < 0 ? sent.length : same));
    cost += known * read + (tokensOf(messages) - known) * write + tokensOf([answer]) * output;
    sent = messages;
    history.push(answer);
  };
  await eachMessage(run, history, call);
  await window.close();
  return cost;
}

/** Adds the messages of a run to a history, and asks for each answer of the model. */
async function eachMessage(
  run: AgentRun,
  history: Message[],
  call: (answer: Message) => Promise<void>,
): Promise<void> {
  for (const { prompt, steps, answer } of run.turns) {
    history.push({ role: "user", content: prompt });
    for (const { text, calls: asked } of steps) {
      const tool_calls = asked.map(({ id, path }) => ({ id, name: "read", args: { path } }));
      await call({ role: "assistant", content: text, tool_calls });
      const results = asked.map(({ id, output }) => ({
        tool_use_id: id,
        content: output,
        is_error: false,
      }));
      history.push({ role: "tool_results", results });
    }
    await call({ role: "assistant", content: answer });
  }
}

/** Sentences of the history, so that it is one of this conversation. */
function summaryOf(history: readonly Message[]): string {
  const said = history.flatMap((message) =>
    message.role === "user" || message.role === "assistant" ? [message.content] : [],
  );
  return said.join("\n").slice(-4 * SUMMARY_TOKENS);
}

/** Runs that follow each other in one session: cost differs where many compactions come. */
function longRuns(count: number): readonly AgentRun[] {
  const all = agentRuns(count * RUNS_OF_ONE);
  return Array.from({ length: count }, (_, at) => {
    const some = all.slice(at * RUNS_OF_ONE, (at + 1) * RUNS_OF_ONE);
    const turns = some.flatMap((run, part) => run.turns.map((turn) => withOwnIds(turn, part)));
    return { ...(some[0] as AgentRun), turns };
  });
}

const RUNS_OF_ONE = LONG ? 8 : 5;

function withOwnIds({ steps, ...turn }: AgentRun["turns"][number], part: number) {
  const named = steps.map((step) => ({
    ...step,
    calls: step.calls.map((call) => ({ ...call, id: `${part}-${call.id}` })),
  }));
  return { ...turn, steps: named };
}

test.each(Object.entries(PRICES))(
  "planning by cost makes no recorded run dearer than the plain threshold, and long ones cheaper (%s)",
  async (_, prices) => {
    for (const run of longRuns(trials(1, 6))) {
      for (const threshold of LONG ? [4000, 12_000, 30_000] : [30_000]) {
        const plain = await play(run, threshold, prices, false);
        const planned = await play(run, threshold, prices, true);
        if (LONG) note(`threshold ${threshold}: ${JSON.stringify({ plain, planned })}`);
        expect(planned.cost).toBeLessThanOrEqual(plain.cost);
        if (threshold === 30_000) expect(planned.cost).toBeLessThan(0.99 * plain.cost);
      }
    }
  },
  600_000,
);

test.each(Object.entries(PRICES))(
  "a window that is told of the cache plans by cost too, and makes long runs cheaper (%s)",
  async (_, prices) => {
    for (const run of longRuns(trials(1, 6))) {
      for (const contextWindow of LONG ? [40_000, 75_000] : [40_000]) {
        const plain = await playWindow(run, contextWindow, prices, false);
        const planned = await playWindow(run, contextWindow, prices, true);
        if (LONG) note(`window ${contextWindow}: ${Math.round(plain)} → ${Math.round(planned)}`);
        expect(planned).toBeLessThan(plain);
      }
    }
  },
  600_000,
);

test.each([
  ["compares, where the provider says what it has cached", 900, true],
  ["compares nothing, where it says nothing of a cache", null, false],
])("an agent %s", async (_, cached, compares) => {
  const usage = { input_tokens: 1000, output_tokens: 10, cache_read_tokens: cached };
  const look = (id: string) => ({ toolCalls: [{ id, name: "look", args: {} }], usage });
  const replies = [...["a", "b", "c", "d", "e"].map(look), { text: "Done.", usage }];
  const service = createSessionService({
    model: scriptedModel(replies, { id: "anthropic/claude-sonnet-4-5" }),
    tools: [
      defineTool({
        name: "look",
        description: "Looks around.",
        input: z.object({}),
        execute: () => "The herons of Emden stand in the reeds. ".repeat(250),
      }),
    ],
    builtinTools: false,
    compaction: { autoCompactThreshold: 10_000 },
  });
  const { sessionId } = await service.createSession({});
  const plans: unknown[] = [];
  await service.startTurn(
    { sessionId, prompt: "Look five times." },
    {
      onEvent: ({ payload }) => {
        if (payload.type === "tool_output_pruned") plans.push(payload.plan);
      },
    },
  );
  expect(plans).toEqual([
    compares
      ? {
          expected_calls: expect.any(Number),
          expected_tokens: expect.any(Number),
          // Of a single turn nothing could be summarised.
          other_tokens: null,
        }
      : undefined,
  ]);
  await service.close();
});
