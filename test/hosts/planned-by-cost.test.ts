import { createOpenAI } from "@ai-sdk/openai";
import { tool as langChainTool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import { generateText, isStepCount, type ModelMessage, tool, wrapLanguageModel } from "ai";
import { createAgent } from "langchain";
import type { ModelPrice } from "rkat";
import { rkatMiddleware as modelMiddleware, rkatPrepareStep } from "rkat/ai-sdk";
import { rkatMiddleware } from "rkat/langchain";
import { rkatProcessor } from "rkat/mastra";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { startLocalProvider } from "../../examples/hosts/local-provider.ts";

const WORDS = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ";
const OUTPUT = WORDS.repeat(16);
const SUMMARY = "The user and the assistant talked of the crane, the cargo, the quay and the tide.";

/** A chat in a host's loop: each prompt reads a file, and is answered. */
type Say = (prompt: string) => Promise<unknown>;

const description = "Reads a file.";
const schema = z.object({ path: z.string() });
const aiTools = { read: tool({ description, inputSchema: schema, execute: () => OUTPUT }) };
const settings = { instructions: "Be brief.", tools: aiTools, stopWhen: isStepCount(5) };

function compaction(price: ModelPrice) {
  return { contextWindow: 12_000, prices: { "openai/gpt-5": price, "local/gpt-5": price } };
}

const LOOPS: Readonly<Record<string, (url: string, price: ModelPrice) => Say>> = {
  "AI SDK, prepareStep": (baseURL, price) => {
    const prepareStep = rkatPrepareStep({ ...compaction(price), chatId: () => "chat" });
    const model = createOpenAI({ apiKey: "local", baseURL }).responses("gpt-5");
    const providerOptions = { openai: { store: false } };
    const messages: ModelMessage[] = [];
    return async (content) => {
      messages.push({ role: "user", content });
      const { responseMessages } = await generateText({
        ...{ model, messages, prepareStep, providerOptions, ...settings },
      });
      messages.push(...responseMessages);
    };
  },
  "AI SDK, prepareStep with a summariser of its own": (baseURL, price) => {
    const summarize = async () => SUMMARY;
    const prepareStep = rkatPrepareStep({
      ...compaction(price),
      ...{ chatId: () => "chat", summarize },
    });
    const model = createOpenAI({ apiKey: "local", baseURL }).chat("gpt-5");
    const messages: ModelMessage[] = [];
    return async (content) => {
      messages.push({ role: "user", content });
      const { responseMessages } = await generateText({
        ...{ model, messages, prepareStep, ...settings },
      });
      messages.push(...responseMessages);
    };
  },
  "AI SDK, middleware": (baseURL, price) => {
    const middleware = modelMiddleware(compaction(price));
    const own = createOpenAI({ apiKey: "local", baseURL }).chat("gpt-5");
    const model = wrapLanguageModel({ model: own, middleware });
    const messages: ModelMessage[] = [];
    return async (content) => {
      messages.push({ role: "user", content });
      const { responseMessages } = await generateText({ model, messages, ...settings });
      messages.push(...responseMessages);
    };
  },
  LangChain: (baseURL, price) => {
    const agent = createAgent({
      model: new ChatOpenAI({ model: "gpt-5", apiKey: "local", configuration: { baseURL } }),
      tools: [langChainTool(async () => OUTPUT, { name: "read", description, schema })],
      systemPrompt: "Be brief.",
      middleware: [rkatMiddleware(compaction(price))],
      checkpointer: new MemorySaver(),
    });
    const config = { configurable: { thread_id: "chat" } };
    return (content) => agent.invoke({ messages: [{ role: "user", content }] }, config);
  },
  Mastra: (url, price) => {
    const rkat = rkatProcessor(compaction(price));
    const agent = new Agent({
      ...{ id: "harbour", name: "Harbour", instructions: "Be brief." },
      model: { providerId: "local", modelId: "gpt-5", url, apiKey: "none" },
      memory: new MockMemory(),
      ...{ inputProcessors: [rkat], errorProcessors: [rkat] },
      tools: {
        read: createTool({
          id: "read",
          description,
          inputSchema: schema,
          execute: async () => OUTPUT,
        }),
      },
    } as never);
    const memory = { thread: "chat", resource: "ada", options: { lastMessages: 10_000 } };
    return (prompt) => agent.generate(prompt, { maxSteps: 5, memory });
  },
};

/** Whether a chat was first compacted by a summary, or by shortened tool output. */
async function firstWay(open: (url: string, price: ModelPrice) => Say, price: ModelPrice) {
  const server = await startLocalProvider({
    answer: (index) =>
      index % 2 === 0
        ? { toolCalls: [{ id: `call_${index}`, name: "read", args: { path: `${index}.md` } }] }
        : `Done, number ${index}: ${WORDS.repeat(12)}`,
    summary: () => SUMMARY,
  });
  onTestFinished(() => server.close());
  const say = open(server.urls.openai, price);
  for (let turn = 0; turn < 30; turn += 1) {
    await say(`Task ${turn}: what about the tide?`);
    const sent = JSON.stringify(server.billed.at(-1)?.body);
    if (sent.includes("[Context compacted]")) return "a summary";
    if (sent.includes("of old tool output pruned")) return "pruned";
  }
  return "neither";
}

describe.each(Object.entries(LOOPS))("%s", (_, open) => {
  test("prunes tool output where reading from the cache costs nothing, and summarises where it costs as much as new input", async () => {
    const pruned = { input: 1, output: 100, cacheRead: 0, cacheWrite: 0 };
    expect(await firstWay(open, pruned)).toBe("pruned");
    const summarised = { input: 1, output: 0.001, cacheRead: 1, cacheWrite: 1 };
    expect(await firstWay(open, summarised)).toBe("a summary");
  });
});
