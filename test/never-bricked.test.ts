import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { estimateTokens } from "../src/core/tokens.ts";
import {
  createSessionService,
  defineTool,
  type EventEnvelope,
  type Message,
  type ServiceOptions,
  SessionError,
} from "../src/index.ts";
import { type ScriptedReply, scriptedModel } from "../src/testing.ts";
import { GIVEN_SEED } from "./support/given-seed.ts";
import { sampled, trials } from "./support/trials.ts";

type Payload = EventEnvelope["payload"];
type Request = Parameters<ReturnType<typeof scriptedModel>["stream"]>[0];

const NO_WAIT = { initialDelayMs: 1, maxDelayMs: 5 };
const WORDS =
  "the build of the parser went through and the tests of the second module fail with a timeout because its queue is full ";

function text(length: number, start = ""): string {
  return `${start} ${WORDS.repeat(Math.ceil(length / WORDS.length))}`.slice(0, length);
}

function asksForSummary({ messages }: Request): boolean {
  return JSON.stringify(messages.at(-1)).includes("CONTEXT COMPACTION");
}

async function session(
  reply: (request: Request) => ScriptedReply,
  { contextWindow, ...options }: Partial<ServiceOptions> & { readonly contextWindow?: number } = {},
) {
  const model = scriptedModel(reply, contextWindow === undefined ? {} : { contextWindow });
  const service = createSessionService({ model, retry: NO_WAIT, compaction: {}, ...options });
  const { sessionId } = await service.createSession({});
  const events: Payload[] = [];
  const say = (prompt: string, request: object = {}) =>
    service.startTurn(
      { sessionId, prompt, ...request },
      { onEvent: ({ payload }) => void events.push(payload) },
    );
  const of = <Type extends Payload["type"]>(type: Type) =>
    events.filter((event): event is Extract<Payload, { type: Type }> => event.type === type);
  return { service, sessionId, model, say, events, of };
}

/** Refuses what is longer than its window by its own count. */
function strict(
  window: number,
  count: (messages: readonly Message[]) => number,
  reply: (request: Request) => ScriptedReply,
) {
  return (request: Request): ScriptedReply =>
    count(request.messages) > window ? { error: "CONTEXT_WINDOW_EXCEEDED" } : reply(request);
}

const byBytes = (messages: readonly Message[]) =>
  Math.ceil(Buffer.byteLength(JSON.stringify(messages)) / 4);

describe("a summariser that always fails ends no session", () => {
  const failures: Record<string, ScriptedReply> = {
    "is unavailable": { error: "MODEL_UNAVAILABLE" },
    "says nothing": { text: "" },
    "says an error": "Error: 503 Service Unavailable",
  };
  const cells = [true, false].flatMap((known) =>
    Object.entries(failures).map(([how, failure]) => ({ how, failure, known })),
  );
  for (const { how, failure, known } of sampled(cells, { of: 2, at: 0 }, "cases")) {
    test(`${how}, ${known ? "window known" : "window not known"}`, async () => {
      const reply = strict(20_000, byBytes, (request) =>
        asksForSummary(request) ? failure : text(3000, "answer"),
      );
      const { say, of } = await session(reply, known ? { contextWindow: 20_000 } : {});
      for (let turn = 0; turn < 40; turn += 1) {
        expect((await say(text(2000, `Question ${turn}`))).text).toContain("answer");
      }
      const completed = of("compaction_completed");
      expect(completed.length).toBeGreaterThan(0);
      for (const event of completed) {
        expect(event.summarised_by).toBe("fallback");
        expect(event.report?.summary?.last_step).toBe(true);
      }
    });
  }
});

test("a provider that refuses again and again gets less each time, down to what has to stay", async () => {
  let refuses = false;
  const sizes: number[] = [];
  const { say, of, model } = await session((request) => {
    if (asksForSummary(request)) return { error: "CONTEXT_WINDOW_EXCEEDED" };
    if (!refuses || request.messages.length === 1) return text(2000, "answer");
    sizes.push(byBytes(request.messages));
    return { error: "CONTEXT_WINDOW_EXCEEDED" };
  });
  for (let turn = 0; turn < 8; turn += 1) await say(text(2000, `Question ${turn}`));
  refuses = true;
  expect((await say("and now?")).text).toContain("answer");
  expect(sizes.length).toBeGreaterThan(2);
  expect(sizes).toEqual([...new Set(sizes)].sort((a, b) => b - a));
  expect(of("context_overflow")).toHaveLength(sizes.length);
  expect(model.requests.at(-1)?.messages).toEqual([{ role: "user", content: "and now?" }]);
});

test("a provider that refuses even that is the answer", async () => {
  const { say } = await session(() => ({ error: "CONTEXT_WINDOW_EXCEEDED" }));
  await expect(say("first")).rejects.toMatchObject({ code: "CONTEXT_WINDOW_EXCEEDED" });
});

describe("tokens are what the provider counts", () => {
  const tool = defineTool({
    name: "look",
    description: text(4000, "Looks at things."),
    input: z.object({}),
    execute: () => "seen",
  });

  test("a count at the threshold triggers, also when tools are offered", async () => {
    const usage = { input_tokens: 120_000, output_tokens: 5 };
    const { say, of } = await session(
      (request) => (asksForSummary(request) ? text(300, "Done:") : { text: text(900), usage }),
      { tools: [tool] },
    );
    for (let turn = 0; turn < 6; turn += 1) await say(text(400, `Question ${turn}`));
    expect(of("compaction_completed").length).toBeGreaterThan(0);
  });

  // As tokenizers count random base64: 1.44 characters a token.
  const countBase64 = (messages: readonly Message[]) =>
    Math.ceil(
      messages.reduce(
        (sum, { role, ...message }) => sum + JSON.stringify(message).length / 1.44,
        0,
      ),
    );
  const BLOBS = [
    [20, 60_000],
    [60, 128_000],
    [20, 128_000],
    [60, 200_000],
  ] as const;
  for (const [kilobytes, window] of sampled(BLOBS, { of: 4, at: 0 }, "cases")) {
    for (const reports of [true, false]) {
      test(`base64 of ${kilobytes} KB a turn does not overflow ${window} tokens again and again, counts ${reports ? "told" : "not told"}`, async () => {
        const reply = strict(window, countBase64, (request) => {
          if (asksForSummary(request)) return text(300, "Summary: blobs were decoded.");
          const input_tokens = reports ? countBase64(request.messages) : 0;
          return { text: "decoded", usage: { input_tokens, output_tokens: 3 } };
        });
        const { say, of } = await session(reply, { contextWindow: window });
        for (let turn = 0; turn < 14; turn += 1) {
          const blob = Buffer.from(crypto.getRandomValues(new Uint8Array(kilobytes * 768)));
          await say(`Decode ${blob.toString("base64")}`);
        }
        expect(of("run_failed")).toEqual([]);
        expect(of("context_overflow").length).toBeLessThanOrEqual(1);
      });
    }
  }

  test("what an overflow taught survives a restart", async () => {
    const first = await session(
      strict(
        10_000,
        (messages) => 3 * byBytes(messages),
        (request) =>
          asksForSummary(request)
            ? text(300, "The build of the parser:")
            : { text: text(2000), usage: { input_tokens: 0, output_tokens: 0 } },
      ),
      { contextWindow: 10_000 },
    );
    for (let turn = 0; turn < 20; turn += 1) await first.say(text(1000, `Question ${turn}`));
    expect(first.of("context_overflow").length).toBeLessThanOrEqual(2);
  });

  test("a picture counts by its pixels", async () => {
    const { say, of } = await session(() => ({ text: "a cat", usage: { input_tokens: 5000 } }));
    const data = png(1200, 900, 1_000_000);
    const image = { type: "image", media_type: "image/png", data } as const;
    for (let turn = 0; turn < 3; turn += 1) {
      await say("", { prompt: [{ type: "text", text: "What is this?" }, image] });
    }
    expect(of("compaction_completed")).toEqual([]);
    expect(estimateTokens([{ role: "user", content: [image] }])).toBeLessThan(6000);
  });
});

/** The head of a PNG file of so many pixels, and bytes after it. */
function png(width: number, height: number, bytes: number): string {
  const head = Buffer.alloc(24 + bytes);
  head.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head.toString("base64");
}

describe("a compaction is paid for", () => {
  test("the budget is looked at after it, and a failed summary counts", async () => {
    const paid = { input_tokens: 18_000, output_tokens: 0 };
    const cheap = { input_tokens: 190, output_tokens: 10 };
    const { say, of } = await session(
      (request) =>
        asksForSummary(request) ? { text: "", usage: paid } : { text: text(3000), usage: cheap },
      { compaction: { autoCompactThreshold: 2500, minTurnsBetweenCompactions: 0 } },
    );
    for (let turn = 0; turn < 3; turn += 1) await say(text(600, `Question ${turn}`));
    const before = of("run_completed").at(-1)?.usage.input_tokens ?? 0;
    const end = await say(text(600, "Question 3"), { budget: { maxTotalTokens: 10_000 } });
    expect(of("compaction_failed").at(-1)).toMatchObject({ usage: paid });
    expect(end).toMatchObject({ stopReason: "budget_exhausted", modelCalls: 0 });
    const after = of("run_completed").at(-1)?.usage.input_tokens ?? 0;
    expect(after - before).toBe(18_000);
    expect(end.usage.inputTokens).toBe(18_000);
  });
});

test("what is sent beside the history, however large, does not wipe the running turn", async () => {
  const work = defineTool({
    name: "work",
    description: "Works.",
    input: z.object({}),
    execute: () => text(600, "worked"),
  });
  const requests: Request[] = [];
  const { say, of } = await session(
    (request) => {
      if (asksForSummary(request)) return "The build of the parser went through, tests fail.";
      requests.push(request);
      const usage = { input_tokens: 230_000, output_tokens: 10 };
      const toolCalls = [{ id: `c${requests.length}`, name: "work", args: {} }];
      return requests.length < 30 ? { toolCalls, usage } : { text: "done", usage };
    },
    { tools: [work], compaction: { autoCompactThreshold: 100_000 } },
  );
  await say("Go.");
  expect(of("compaction_completed").length + of("tool_output_pruned").length).toBeLessThan(2);
  expect(requests.at(-1)?.messages.length).toBeGreaterThan(2 * 25);
});

test("an error of another kind is still thrown as it is", async () => {
  const { say } = await session(() => new SessionError("PROVIDER_ERROR", { detail: "no" }));
  await expect(say("hi")).rejects.toMatchObject({ code: "PROVIDER_ERROR" });
});

describe("a summary that is worth nothing is not committed", () => {
  const worthless: Record<string, (request: Request) => string> = {
    "the prompt echoed": ({ messages }) => contentText(messages.at(-1)),
    "a refusal": () => "I'm sorry, but I can't help with that.",
    "a refusal in German": () => "Es tut mir leid, aber dabei kann ich Ihnen nicht helfen.",
    "a refusal in Chinese": () => "抱歉,我无法协助处理这个请求。",
    "a full stop": () => ".",
    "a request for the conversation": () => "Please provide the conversation you want summarised.",
    "a phrase again and again": () => "The conversation continues. ".repeat(80),
    "another subject": () =>
      "The Amazon rainforest holds a tenth of all known species, and its rivers carry more water than any others on the continent.",
  };
  for (const [what, answer] of sampled(Object.entries(worthless), { of: 3, at: 1 }, "cases")) {
    test(what, async () => {
      const asked: Request[] = [];
      const { say, of } = await session(
        (request) => {
          if (!asksForSummary(request))
            return `I looked at it. ${TALK[request.messages.length % TALK.length]}`;
          asked.push(request);
          return answer(request);
        },
        { compaction: { autoCompactThreshold: 1500, recentTurnBudget: 1 } },
      );
      for (let turn = 0; turn < 40; turn += 1) await say(`${turn}: ${TALK[turn % TALK.length]}`);
      const completed = of("compaction_completed");
      expect(completed.length).toBeGreaterThan(0);
      for (const event of completed) {
        expect(event.summarised_by).toBe("fallback");
        expect(event.summary_score).toBe(event.report?.summary?.score);
        expect(event.report?.summary?.rejected).toHaveLength(2);
      }
      expect(asked).toHaveLength(2 * completed.length);
    });
  }

  test("the second answer is taken when it is one", async () => {
    let calls = 0;
    const { say, of } = await session(
      (request) => {
        if (!asksForSummary(request))
          return `I looked at it. ${TALK[request.messages.length % TALK.length]}`;
        calls += 1;
        return calls % 2 === 1 ? "." : TALK.slice(0, 6).join(" ");
      },
      { compaction: { autoCompactThreshold: 1500, recentTurnBudget: 1 } },
    );
    for (let turn = 0; turn < 20; turn += 1) await say(`${turn}: ${TALK[turn % TALK.length]}`);
    expect(of("compaction_completed")[0]).toMatchObject({
      summarised_by: "model",
      report: { summary: { rejected: ["wordless"], last_step: false } },
    });
  });
});

const TALK = [
  "The nightly import into the warehouse dies in src/jobs/importOrders.ts with error 57014.",
  "Marta from support counts 412 orders of Northwind that never arrived in Rotterdam.",
  "Commit 3fa91c2 wrapped order_no in lower(), and the planner scans seventeen million rows.",
  "Write the migration as migrations/0042_order_no_lower.sql and build the index concurrently.",
  "The dashboard at https://grafana.example/d/orders shows the queue growing every evening.",
  "Never touch the production database yourself; send me the statements in ops/backfill.sql.",
  "Rename the retry queue to orders.retry.30s and give up after five attempts.",
  "Contoso complains about duplicate invoices since the release of version 4.7.1.",
];

function contentText(message: Message | undefined): string {
  return message?.role === "user" && typeof message.content === "string" ? message.content : "";
}

describe("a compaction is worth its price", () => {
  test("many huge tool results take one summary at the most", async () => {
    for (const kilobytes of sampled([20, 45, 60, 200], { of: 3, at: 0 }, "cases")) {
      const dump = text(kilobytes * 1024);
      const read = defineTool({
        name: "read",
        description: "",
        input: z.object({}),
        execute: () => dump,
      });
      let left = 14;
      const { say, of } = await session(
        (request) => {
          if (asksForSummary(request)) return text(300, "Summary of the parser build:");
          left -= 1;
          return left >= 0 ? { toolCalls: [{ id: `c${left}`, name: "read", args: {} }] } : "done";
        },
        {
          tools: [read],
          compaction: { autoCompactThreshold: 13_000, minTurnsBetweenCompactions: 1 },
          contextWindow: 16_000,
        },
      );
      expect((await say("Read it fourteen times.")).text).toBe("done");
      expect(of("compaction_started").length, `${kilobytes} KB`).toBeLessThanOrEqual(1);
    }
  });

  test("what leaves is worth more than what takes its place", async () => {
    const { say, of, service, sessionId } = await session(
      (request) => (asksForSummary(request) ? text(9000, "Summary of the parser build:") : "ok"),
      { compaction: { windowSize: 6, minTurnsBetweenCompactions: 0 } },
    );
    for (let turn = 0; turn < 40; turn += 1) await say(`Turn ${turn} of the parser build`);
    await service.compact({ sessionId });
    for (const event of of("compaction_completed")) {
      expect(event.tokens_before - event.tokens_after).toBeGreaterThan(50);
    }
  });
});

describe("system messages that a host adds turn by turn", () => {
  const kinds: Record<string, (turn: number) => string> = {
    "of one kind": (turn) => text(1500, `Open files, turn ${turn}:`),
    "the same": () => text(1500, "Remember the house rules."),
    "each of its own": (turn) => text(1500, `${TALK[turn % 8]} ${turn} ${TALK[(turn * 3) % 8]}`),
  };
  for (const [kind, content] of sampled(Object.entries(kinds), { of: 3, at: 2 }, "cases")) {
    test(`${kind}: the session goes on`, async () => {
      const { say, of, model } = await session(
        (request) => (asksForSummary(request) ? TALK.join(" ") : "Fine."),
        { compaction: { autoCompactThreshold: 4000 } },
      );
      const prompt = { role: "system", content: "You are the build agent." } as const;
      for (let turn = 0; turn < 60; turn += 1) {
        const note = { role: "system", content: content(turn) } as const;
        const context = turn === 0 ? [prompt, note] : [note];
        await say(`Question ${turn}`, { context });
      }
      const last = model.requests.at(-1)?.messages ?? [];
      expect(last[0]).toEqual(prompt);
      expect(last).toContainEqual({ role: "system", content: content(59) });
      expect(estimateTokens(last)).toBeLessThan(6000);
      expect(of("run_failed")).toEqual([]);
    });
  }
});

// Takes over two seconds: each input is a session of up to sixteen turns.
test("no session is bricked, whatever the window, the tokenizer, the talk and the summariser", async () => {
  const arbitraryTurn = fc.record({
    kind: fc.constantFrom("prose", "base64", "Russian", "JSON"),
    length: fc.constantFrom(10, 200, 2000, 8000),
    tools: fc.nat(3),
  });
  const summaries: readonly ScriptedReply[] = [
    "",
    ".",
    { error: "MODEL_UNAVAILABLE" },
    { error: "CONTEXT_WINDOW_EXCEEDED" },
    "I'm sorry, I can't.",
    TALK.join(" "),
    text(60_000),
  ];
  const check = fc.asyncProperty(
    fc.array(arbitraryTurn, { minLength: 8, maxLength: 16 }),
    fc.constantFrom(...summaries),
    fc.constantFrom(0.8, 1, 1.7, 3),
    fc.boolean(),
    fc.boolean(),
    async (turns, summary, factor, known, reports) => {
      const window = 12_000;
      const count = (messages: readonly Message[]) => Math.ceil(factor * estimateTokens(messages));
      let calls = 0;
      const look = defineTool({
        name: "look",
        description: "Looks.",
        input: z.object({}),
        execute: () => text(9000, "Seen:"),
      });
      const reply = strict(window, count, (request) => {
        if (asksForSummary(request)) return summary;
        const input_tokens = reports ? count(request.messages) : 0;
        calls -= 1;
        if (calls >= 0)
          return {
            toolCalls: [{ id: `c${calls}`, name: "look", args: {} }],
            usage: { input_tokens },
          };
        return { text: text(600, "Answer"), usage: { input_tokens } };
      });
      const { say, of } = await session(reply, {
        tools: [look],
        builtinTools: false,
        ...(known ? { contextWindow: window } : {}),
      });
      for (const [index, { kind, length, tools }] of turns.entries()) {
        calls = tools;
        const prompt = `${index} ${SAMPLES[kind]?.(length)}`.slice(0, length + 4);
        // What the window cannot hold by itself is the user's to make shorter.
        if (count([{ role: "user", content: prompt }]) > window / 2) continue;
        await say(prompt);
      }
      expect(of("run_failed")).toEqual([]);
    },
  );
  await fc.assert(check, { numRuns: trials(4, 600), seed: GIVEN_SEED ?? 7 });
}, 120_000);

const SAMPLES: Record<string, (length: number) => string> = {
  prose: (length) => text(length),
  base64: (length) => Buffer.from(text(length)).toString("base64"),
  Russian: (length) => "Сборка прошла, а тесты второго модуля падают. ".repeat(length / 40 + 1),
  JSON: (length) => '{"id":1042,"sku":"A-113","qty":4,"price":12.5},'.repeat(length / 40 + 1),
};
