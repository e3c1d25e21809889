import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { defineTool } from "@earendil-works/pi-coding-agent";
import { tool as langChainTool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { Agent as MastraAgent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import {
  Agent,
  type AgentInputItem,
  tool as agentsTool,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
} from "@openai/agents";
import {
  generateText,
  isStepCount,
  type ModelMessage,
  streamText,
  tool,
  wrapLanguageModel,
} from "ai";
import { createAgent } from "langchain";
import OpenAI from "openai";
import { rkatMiddleware as modelMiddleware, type PrepareStep, rkatPrepareStep } from "rkat/ai-sdk";
import { rkatMiddleware } from "rkat/langchain";
import { rkatProcessor } from "rkat/mastra";
import { rkatFilter, rkatModel, rkatSession } from "rkat/openai-agents";
import { sqliteStores } from "rkat/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  type BilledRequest,
  type LocalProvider,
  type LocalProviderOptions,
  startLocalProvider,
} from "../../examples/hosts/local-provider.ts";
import { startPi } from "./pi-session.ts";

setTracingDisabled(true);

const CONTEXT_WINDOW = 8_000;

const WORDS = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ".repeat(
  12,
);
const SUMMARY =
  "The user and the assistant talked of the crane, the cargo, the quay, the pilot and the tide.";

/** A chat in a host's loop: each prompt reads a file, and is answered. */
type Say = (prompt: string) => Promise<unknown>;

const description = "Reads a file.";
const schema = z.object({ path: z.string() });

const aiTools = { read: tool({ description, inputSchema: schema, execute: () => WORDS }) };
const settings = {
  instructions: "Be brief.",
  tools: aiTools,
  stopWhen: isStepCount(5),
  maxRetries: 0,
};

/** A loop whose model has the middleware. */
function wrapped(baseURL: string, options: { readonly prepareStep?: PrepareStep } = {}): Say {
  const middleware = modelMiddleware({ contextWindow: CONTEXT_WINDOW });
  const own = createOpenAI({ apiKey: "local", baseURL }).chat("gpt-5");
  const model = wrapLanguageModel({ model: own, middleware });
  const messages: ModelMessage[] = [];
  return async (content) => {
    messages.push({ role: "user", content });
    const { responseMessages } = await generateText({ model, messages, ...options, ...settings });
    messages.push(...responseMessages);
  };
}

/** pi, whose memory outside of it is a program that does nothing. */
function pi(api: string, baseUrl: string, cost: object): Say {
  const starting = startSailor(api, baseUrl, cost);
  return async (prompt) => {
    const { session, problems } = await starting;
    await session.prompt(prompt);
    expect(problems).toEqual([]);
    expect(session.state.messages.at(-1)).toMatchObject({ stopReason: "stop" });
  };
}

async function startSailor(api: string, baseUrl: string, cost: object) {
  const model = { id: "sailor", contextWindow: CONTEXT_WINDOW, maxTokens: 1_000, cost };
  const read = defineTool({
    ...{ name: "read", label: "read", description },
    parameters: z.toJSONSchema(schema) as never,
    execute: async () => ({ content: [{ type: "text", text: WORDS }], details: undefined }),
  });
  const { session, problems } = await startPi({
    providers: { local: { baseUrl, api, apiKey: "none", models: [model] } },
    systemPrompt: "Be brief.",
    ...{ reserveTokens: 1_600, keepRecentTokens: 800, tool: read },
  });
  onTestFinished(() => session.dispose());
  return { session, problems };
}

/** An agent of Mastra's with a thread, whose answers are streamed or not. */
function mastra(model: unknown, isStreamed: boolean): Say {
  const rkat = rkatProcessor({ contextWindow: CONTEXT_WINDOW });
  const read = createTool({
    ...{ id: "read", description, inputSchema: schema },
    execute: async () => WORDS,
  });
  const agent = new MastraAgent({
    ...{ id: "sailor", name: "Sailor", instructions: "Be brief.", model, maxRetries: 0 },
    ...{ tools: { read }, memory: new MockMemory() },
    ...{ inputProcessors: [rkat], errorProcessors: [rkat] },
  } as never);
  const memory = { thread: "one", resource: "ada", options: { lastMessages: 1_000 } };
  return async (content) => {
    if (!isStreamed) return await agent.generate(content, { maxSteps: 5, memory });
    const answer = await agent.stream(content, { maxSteps: 5, memory });
    return await answer.text;
  };
}

type AgentsModel = OpenAIResponsesModel | OpenAIChatCompletionsModel;

const sailor = (model: AgentsModel) =>
  new Agent({
    ...{ name: "Sailor", instructions: "Be brief.", model, modelSettings: { store: false } },
    tools: [agentsTool({ name: "read", description, parameters: schema, execute: () => WORDS })],
  });

const clientAt = (baseURL: string) => new OpenAI({ apiKey: "local", baseURL, maxRetries: 0 });

/** An agent of the OpenAI Agents SDK whose items a session keeps. */
function agentsSession(given: AgentsModel): Say {
  const stores = sqliteStores({ path: ":memory:" });
  const model = rkatModel(given);
  const session = rkatSession<AgentInputItem>({ stores, model, contextWindow: CONTEXT_WINDOW });
  onTestFinished(async () => {
    await session.close();
    await stores.close();
  });
  const options = { session, callModelInputFilter: session.filter };
  return async (content) => await run(sailor(model), content, options);
}

/** An agent of the OpenAI Agents SDK whose answers are streamed, and whose items a list keeps. */
function agentsList(given: AgentsModel): Say {
  const agent = sailor(rkatModel(given));
  const callModelInputFilter = rkatFilter({ contextWindow: CONTEXT_WINDOW });
  let items: AgentInputItem[] = [];
  return async (content) => {
    const asked: AgentInputItem[] = [...items, { role: "user", content }];
    const result = await run(agent, asked, { callModelInputFilter, stream: true });
    await result.completed;
    items = result.history;
  };
}

const OPENAI_COST = { input: 1, output: 8, cacheRead: 0.1, cacheWrite: 0 };
const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const ANTHROPIC_COST = { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 };

const LOOPS: Readonly<Record<string, (urls: LocalProvider["urls"]) => Say>> = {
  "AI SDK, prepareStep, OpenAI": ({ openai }) => {
    const prepareStep = rkatPrepareStep({ contextWindow: CONTEXT_WINDOW, chatId: () => "chat" });
    const model = createOpenAI({ apiKey: "local", baseURL: openai }).responses("gpt-5");
    const messages: ModelMessage[] = [];
    const providerOptions = { openai: { store: false } };
    return async (content) => {
      messages.push({ role: "user", content });
      const { steps, responseMessages } = await generateText({
        ...{ model, messages, prepareStep, providerOptions },
        ...settings,
      });
      messages.push(...responseMessages);
      // The model of a step is still the caller's.
      expect(steps.map((step) => step.model)).toEqual(
        steps.map(() => ({ provider: "openai.responses", modelId: "gpt-5" })),
      );
    };
  },
  "AI SDK, prepareStep, streamed, Anthropic": ({ anthropic }) => {
    const prepareStep = rkatPrepareStep({ contextWindow: CONTEXT_WINDOW, chatId: () => "chat" });
    const model = createAnthropic({ apiKey: "local", baseURL: anthropic })("claude-sonnet-4-5");
    const messages: ModelMessage[] = [];
    return async (content) => {
      messages.push({ role: "user", content });
      const result = streamText({ model, messages, prepareStep, ...settings });
      await result.consumeStream();
      messages.push(...(await result.responseMessages));
    };
  },
  "AI SDK, prepareStep before the middleware": ({ openai }) =>
    wrapped(openai, {
      prepareStep: rkatPrepareStep({ contextWindow: CONTEXT_WINDOW, chatId: () => "chat" }),
    }),
  "AI SDK, middleware": ({ openai }) => wrapped(openai),
  LangChain: ({ openai }) => {
    const configuration = { baseURL: openai };
    const agent = createAgent({
      model: new ChatOpenAI({ model: "gpt-5", apiKey: "local", maxRetries: 0, configuration }),
      tools: [langChainTool(async () => WORDS, { name: "read", description, schema })],
      systemPrompt: "Be brief.",
      middleware: [rkatMiddleware({ contextWindow: CONTEXT_WINDOW })],
      checkpointer: new MemorySaver(),
    });
    const config = { configurable: { thread_id: "chat" } };
    return (content) => agent.invoke({ messages: [{ role: "user", content }] }, config);
  },
  Mastra: ({ openai }) =>
    mastra({ providerId: "openai", modelId: "gpt-5", url: openai, apiKey: "none" }, false),
  "Mastra, streamed, a model of the AI SDK": ({ anthropic }) =>
    mastra(createAnthropic({ apiKey: "local", baseURL: anthropic })("claude-sonnet-4-5"), true),
  "OpenAI Agents, a session": ({ openai }) =>
    agentsSession(new OpenAIResponsesModel(clientAt(openai), "gpt-5")),
  "OpenAI Agents, a list, streamed": ({ openai }) =>
    agentsList(new OpenAIChatCompletionsModel(clientAt(openai), "gpt-5")),
  "pi, chat completions": ({ openai }) => pi("openai-completions", openai, OPENAI_COST),
  "pi, responses": ({ openai }) => pi("openai-responses", openai, OPENAI_COST),
  "pi, Anthropic": ({ anthropic }) =>
    pi("anthropic-messages", anthropic.replace(/\/v1$/, ""), ANTHROPIC_COST),
};

/** A server whose model reads one file in each turn, and what it was asked for summaries. */
async function serve(options: LocalProviderOptions = {}) {
  const server = await startLocalProvider({
    answer: (index) =>
      index % 2 === 0
        ? { toolCalls: [{ id: `call_${index}`, name: "read", args: { path: `${index}.md` } }] }
        : `Done, number ${index}: ${WORDS.repeat(2)}`,
    summary: () => SUMMARY,
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

async function talk(say: Say, turns = 10): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await say(`Task ${turn}: what about the tide?`);
}

const summariesOf = ({ billed }: LocalProvider) => billed.filter(({ kind }) => kind === "summary");
const isRecord = ({ body }: BilledRequest) => JSON.stringify(body).includes("<record>");
const sentIn = ({ body }: BilledRequest) =>
  [body.messages ?? body.input].flat().map((message) => JSON.stringify(message));

describe.each(Object.entries(LOOPS))("%s: a summary", (_, open) => {
  test("is asked for at the end of the last request, which the provider has in its cache", async () => {
    const server = await serve();
    await talk(open(server.urls));
    const [asked] = summariesOf(server);
    if (!asked) throw new Error("There was no summary.");
    const before = server.billed[server.billed.indexOf(asked) - 1];
    if (!before) throw new Error("There was no request before it.");
    expect(isRecord(asked)).toBe(false);
    expect(asked.cachedTokens).toBeGreaterThan(0.8 * before.inputTokens);
    expect(asked.body.tools).toEqual(before.body.tools);
    expect(sentIn(asked).at(-1)).toContain("Answer with the summary alone.");
    // The prompt that has no answer yet stays, and is not summarised.
    const next = server.billed[server.billed.indexOf(asked) + 1];
    const prompts = sentIn(next as BilledRequest).filter((text) => text.includes("Task "));
    const newest = /Task \d/.exec(prompts.at(-1) ?? "")?.[0] ?? "?";
    if (sentIn(before).every((text) => !text.includes(newest))) {
      expect(sentIn(asked).join()).not.toContain(newest);
    }
    expect(sentIn(next as BilledRequest).join()).toContain(SUMMARY);
  });

  test("is asked for without the newest results, which stay and which no request has had", async () => {
    const server = await serve({
      answer: (index) =>
        index % 4 < 3
          ? {
              text: `Step ${index}: ${WORDS.repeat(2)}`,
              toolCalls: [{ id: `call_${index}`, name: "read", args: { path: `${index}.md` } }],
            }
          : `Done, number ${index}.`,
    });
    await talk(open(server.urls), 6);
    const { billed } = server;
    const within = summariesOf(server).flatMap((asked) => {
      const [before, , next] = billed.slice(billed.indexOf(asked) - 1) as BilledRequest[];
      const newest = sentIn(next as BilledRequest).at(-1) ?? "";
      return before && newest.includes("call_") ? [{ asked, before, newest }] : [];
    });
    expect(within.length).toBeGreaterThan(0);
    for (const { asked, before, newest } of within) {
      expect(isRecord(asked)).toBe(false);
      expect(sentIn(asked)).not.toContain(newest);
      // pi sends an answer before the prompt for the summary.
      const sent = sentIn(asked).slice(0, -1);
      expect(sentIn(before).join()).toContain(sent.findLast((text) => !text.includes("Noted.")));
    }
  });

  test("is asked for in a request of its own when the model calls a tool instead, and from then on", async () => {
    const server = await serve({
      summary: (body) =>
        JSON.stringify(body).includes("<record>")
          ? SUMMARY
          : { toolCalls: [{ id: "call", name: "read", args: { path: "more.md" } }] },
    });
    await talk(open(server.urls), 24);
    const asked = summariesOf(server).map(isRecord);
    expect(asked.length).toBeGreaterThan(2);
    expect(asked).toEqual(asked.map((_, index) => index > 0));
  });
});

describe("pi: a summary is a request of its own", () => {
  test("where the conversation has a credential", async () => {
    const server = await serve();
    const say = pi("openai-completions", server.urls.openai, OPENAI_COST);
    await say("The password is hunter2-Emden-48x, use that.");
    await talk(say);
    const [first] = summariesOf(server);
    expect(first && isRecord(first)).toBe(true);
    expect(JSON.stringify(summariesOf(server).map(({ body }) => body))).not.toContain("hunter2");
  });

  test("where pi knows no price of the model", async () => {
    const server = await serve();
    await talk(pi("openai-completions", server.urls.openai, NO_COST));
    const asked = summariesOf(server).map(isRecord);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked).toEqual(asked.map(() => true));
  });

  test("where another model answers now, which has nothing of it in its cache", async () => {
    const server = await serve();
    const { session } = await startSailor("openai-completions", server.urls.openai, OPENAI_COST);
    for (let turn = 0; turn < 3; turn += 1) await session.prompt(`Task ${turn}: ${WORDS}`);
    expect(summariesOf(server)).toEqual([]);
    const model = session.model;
    if (!model) throw new Error("pi has no model.");
    await session.setModel({ ...model, id: "pilot" });
    await session.compact();
    expect(summariesOf(server).map(isRecord)).toEqual([true]);
  });

  test("where the provider refuses it at the end of the last one, and nothing is lost", async () => {
    const refuses = (body: BilledRequest["body"]) =>
      JSON.stringify(body).includes("<record>") ? SUMMARY : { status: 400, message: "no" };
    const server = await serve({ summary: refuses });
    await talk(pi("openai-completions", server.urls.openai, OPENAI_COST));
    const asked = summariesOf(server).map(isRecord);
    expect(asked.slice(0, 2)).toEqual([false, true]);
    expect(JSON.stringify(server.billed.at(-1)?.body)).toContain(SUMMARY);
  });
});
