import { expect, onTestFinished, test } from "vitest";
import { rkatMiddleware as modelMiddleware, rkatPrepareStep } from "../src/ai-sdk.ts";
import { aiSdkView } from "../src/hosts/ai-sdk-view.ts";
import { HostChats } from "../src/hosts/host-chats.ts";
import type { ModelRequest } from "../src/hosts/langchain-summary.ts";
import { createSessionService } from "../src/index.ts";
import { rkatMiddleware, rkatStore } from "../src/langchain.ts";
import { rkatProcessor } from "../src/mastra.ts";
import { rkatFilter } from "../src/openai-agents.ts";
import { sqliteStores } from "../src/sqlite.ts";

const SUMMARY = "The harbour was visited, and the crane lifted the cargo over the quay.";

const CARGO = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ".repeat(
  20,
);

test("a process keeps the windows of the chats that were used last, and no more", () => {
  const chats = new HostChats({ view: aiSdkView });
  const often = chats.of({ id: "often" });
  const windows = Array.from({ length: 5_000 }, (_, index) => {
    chats.of({ id: "often" });
    return chats.of({ id: `${index}` });
  });
  expect(chats.size).toBe(200);
  expect(chats.of({ id: "often" })).toBe(often);
  for (const index of [4_999, 4_801]) expect(chats.of({ id: `${index}` })).toBe(windows[index]);
  expect(chats.of({ id: "0" })).not.toBe(windows[0]);
});

test("a chat whose window was dropped goes on with its summary", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  let summaries = 0;
  const rkat = rkatMiddleware({
    contextWindow: 1_000,
    stores,
    summarize: async () => {
      summaries += 1;
      return SUMMARY;
    },
  });
  onTestFinished(async () => {
    await rkat.close();
    await stores.close();
  });
  const long = [
    ...Array.from({ length: 4 }, (_, index) => [
      { type: "human", content: `Visit ${index} to the harbour. ${CARGO}` },
      { type: "ai", content: `Visited ${index}. ${CARGO}` },
    ]).flat(),
    { type: "human", content: "What now?" },
  ];
  const sent = async (thread: string, messages: ModelRequest["messages"]) => {
    const runtime = { configurable: { thread_id: thread } };
    const model = { invoke: async () => "" };
    const request = { model, messages, state: { messages }, runtime };
    return await rkat.wrapModelCall(request, (compacted) => compacted.messages);
  };
  const first = await sent("first", long);
  expect(summaries).toBe(1);
  for (const index of Array(250).keys())
    await sent(`${index}`, [{ type: "human", content: "Hi." }]);
  const again = await sent("first", structuredClone(long));
  expect(again).toEqual(first);
  expect(summaries).toBe(1);
});

/** A call of a conversation without a thread. Resolves to what is sent. */
type Sends = (said: readonly string[], inputTokens: number) => Promise<unknown>;

/** One adapter for several conversations. */
const WITHOUT_THREAD: Record<string, (summarize: () => Promise<string>) => Sends> = {
  LangChain(summarize) {
    const rkat = rkatMiddleware({ contextWindow: 3_000, summarize });
    return (said, input_tokens) => {
      const messages = said.map((content, index) =>
        index % 2 === 0
          ? { type: "human", content }
          : { type: "ai", content, usage_metadata: { input_tokens } },
      );
      const model = { invoke: async () => "" };
      const request = { model, messages, state: { messages }, runtime: {} };
      return rkat.wrapModelCall(request, (sent) => sent.messages);
    };
  },
  Mastra(summarize) {
    const rkat = rkatProcessor({ contextWindow: 3_000, summarize });
    return async (said, inputTokens) => {
      const prompt = said.map((content, index) => ({
        role: index % 2 === 0 ? ("user" as const) : ("assistant" as const),
        content,
      }));
      const steps = inputTokens === 0 ? [] : [{ usage: { inputTokens } }];
      return (await rkat.processLLMRequest({ prompt, model: aiSdkModel, steps, state: {} })).prompt;
    };
  },
};

test.each(Object.entries(WITHOUT_THREAD))(
  "in %s, two conversations without a thread that begin the same are kept apart",
  async (_, open) => {
    let summaries = 0;
    const send = open(async () => {
      summaries += 1;
      return SUMMARY;
    });
    const chats = [
      { color: "red", text: CARGO.slice(0, 500), said: ["Hello."], counted: 0 },
      { color: "blue", text: "", said: ["Hello."], counted: 0 },
    ];
    for (const turn of Array(12).keys()) {
      for (const { color, text, said, counted } of chats) {
        const sent = JSON.stringify(await send([...said], counted));
        expect(sent).toContain(turn === 0 ? "Hello." : `the ${color} crane`);
        expect(sent).not.toContain(color === "red" ? "blue" : "red");
        said.push(`The ${color} ship. ${text}`, `And the ${color} crane, visit ${turn}?`);
      }
      // The provider counts as rkat does.
      for (const chat of chats)
        chat.counted = Math.ceil(chat.said.slice(0, -2).join("").length / 4);
    }
    // Neither is near its window.
    expect(summaries).toBe(0);
  },
);

test("a model of the AI SDK is sent a summary as parts, which is all that its providers take", async () => {
  const middleware = modelMiddleware({ contextWindow: 1_000, summarize: async () => SUMMARY });
  const part = (text: string) => [{ type: "text", text }];
  const prompt = Array.from({ length: 5 }, (_, index) => [
    { role: "user", content: part(`Visit ${index} to the harbour. ${CARGO}`) },
    { role: "assistant", content: part(`Visited ${index}. ${CARGO}`) },
  ]).flat();
  const params = { prompt: [...prompt, { role: "user", content: part("What now?") }] };
  const compacted = await middleware.transformParams({ params, model: aiSdkModel } as never);
  const { prompt: sent } = compacted as typeof params;
  expect(JSON.stringify(sent)).toContain(SUMMARY);
  for (const { content } of sent) expect(content).toBeInstanceOf(Array);
});

const openAIModel = { getResponse: async () => ({ output: [] }) };
const aiSdkModel = {
  provider: "openai",
  modelId: "local",
  doGenerate: async () => ({ content: [] }),
};
const langChainModel = { invoke: async () => "" };

/** The message as LangChain has it. */
function ofLangChain(message: { readonly role: string } | null) {
  return message && { ...message, type: message.role === "user" ? "human" : message.role };
}

interface Call {
  readonly history: unknown;
  readonly system?: string;
  readonly contextWindow?: number;
  readonly model?: unknown;
}

/** One call of each adapter, as its host makes it. */
const ADAPTERS: Readonly<Record<string, (call: Call) => Promise<unknown>>> = {
  "LangChain's middleware": async ({ history, system, model = langChainModel, ...options }) => {
    const messages = (Array.isArray(history) ? history.map(ofLangChain) : history) as never;
    const systemMessage = system === undefined ? {} : { systemMessage: { content: system } };
    const request = { model, messages, state: { messages }, runtime: {}, ...systemMessage };
    return await rkatMiddleware(options).wrapModelCall(request as ModelRequest, (sent) => sent);
  },
  "Mastra's processor": async ({ history, system, model = aiSdkModel, ...options }) => {
    const instructions = system === undefined ? [] : [{ role: "system", content: system }];
    const prompt = Array.isArray(history) ? [...instructions, ...history] : history;
    const request = { prompt: prompt as never, model, steps: [], state: {} };
    return await rkatProcessor(options).processLLMRequest(request);
  },
  "the AI SDK's prepareStep": async ({ history, system, model = aiSdkModel, ...options }) => {
    const instructions = system === undefined ? {} : { instructions: system };
    const step = { messages: history as never, steps: [], model, ...instructions };
    return await rkatPrepareStep(options)(step);
  },
  "the AI SDK's middleware": async ({ history, system, model = aiSdkModel, ...options }) => {
    const instructions = system === undefined ? [] : [{ role: "system", content: system }];
    const prompt = Array.isArray(history) ? [...instructions, ...history] : history;
    const call = { params: { prompt }, model };
    return await modelMiddleware(options).transformParams(call as never);
  },
  "the filter of the OpenAI Agents SDK": async ({
    history,
    system,
    model = openAIModel,
    ...options
  }) => {
    const instructions = system === undefined ? {} : { instructions: system };
    const modelData = { input: history as never, ...instructions };
    return await rkatFilter(options)({ modelData, agent: { model } } as never);
  },
};

const GREETING = [{ role: "user", content: "Hello." }];

test.each(Object.entries(ADAPTERS))(
  "bad input to %s is named at the first call",
  async (_, call) => {
    const contextWindow = 10_000;
    await call({ history: GREETING, contextWindow });
    await expect(call({ history: "Hello.", contextWindow })).rejects.toThrow(
      /(messages|prompt|input|history).* is (a )?string, not an array/,
    );
    await expect(call({ history: [...GREETING, null], contextWindow })).rejects.toThrow(
      /\[1\] is null, not a message/,
    );
    const unknown = [...GREETING, { role: "robot", content: "Beep." }];
    await expect(call({ history: unknown, contextWindow })).rejects.toThrow(/"robot"\. Known are/);
    await expect(call({ history: GREETING, contextWindow, model: "a-name" })).rejects.toThrow(
      /summar/,
    );
    const system = "You look after the harbour, its cranes and its pilots. ".repeat(1_000);
    await expect(call({ history: GREETING, contextWindow, system })).rejects.toThrow(
      /instructions/,
    );
  },
);

test("an item of a store is forgotten with what memory has of it, and the others stay", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  const store = rkatStore({ stores });
  const sessions = createSessionService({ model: "none", stores });
  onTestFinished(async () => {
    await store.close();
    await sessions.close();
    await stores.close();
  });
  const ada = ["users", "ada"];
  await store.put(ada, "drink", {
    text: "She drinks green tea.",
    cups: [431_043_104_310],
    from: { city: "Bergen" },
  });
  await store.put(ada, "drink", { text: "She drinks coffee." });
  await store.put(ada, "town", { summary: "She lives by the harbour of Bergen." });
  await store.put(ada, "boat", { text: "She sails the Ottilie.", of: ["oak"] });
  for (const query of ["green tea", "sails the Ottilie"]) {
    const [found] = await sessions.searchMemory({ query });
    await sessions.forgetMemory({ ids: [found?.id ?? ""] });
  }

  const [entry] = await sessions.listMemory({ limit: 1 });
  const log = await Array.fromAsync(stores.events.read(entry?.sessionId ?? "", 0));
  expect(JSON.stringify(log)).not.toMatch(/green tea|431043104310|Ottilie|oak/);
  const values = (await store.search(ada)).map(({ key, value }) => [key, value]);
  expect(Object.fromEntries(values)).toEqual({
    drink: { text: "She drinks coffee." },
    town: { summary: "She lives by the harbour of Bergen." },
    boat: { text: "[forgotten]", of: ["[forgotten]"] },
  });
  const found = await store.search(ada, { query: "Who lives by the harbour of Bergen?" });
  expect(found.map(({ key }) => key)).toEqual(["town"]);
});
