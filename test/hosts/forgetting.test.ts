import { createOpenAI } from "@ai-sdk/openai";
import { tool as langChainTool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import { generateText, isStepCount, type ModelMessage, tool } from "ai";
import { createAgent, HumanMessage } from "langchain";
import { createSessionService } from "rkat";
import { rkatPrepareStep } from "rkat/ai-sdk";
import { rkatMiddleware } from "rkat/langchain";
import { rkatProcessor } from "rkat/mastra";
import { sqliteStores } from "rkat/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { startLocalProvider } from "../../examples/hosts/local-provider.ts";

type Stores = ReturnType<typeof sqliteStores>;

/** A program that talks to an agent until it ends. What the framework keeps itself outlives it. */
interface Program {
  ask(prompt: string): Promise<unknown>;
  close(): Promise<void>;
}

const description = "Reads a file.";
const schema = z.object({ path: z.string() });
const LONG = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ".repeat(
  12,
);
const read = async ({ path }: { path: string }) => `${path} has the number ${path.length}. ${LONG}`;
const contextWindow = 3_000;

const HOSTS: Record<string, (url: string) => (stores: Stores) => Program> = {
  "AI SDK 7"(url) {
    const messages: ModelMessage[] = [];
    const model = createOpenAI({ apiKey: "local", baseURL: url }).chat("gpt");
    const tools = { read: tool({ description, inputSchema: schema, execute: read }) };
    return (stores) => {
      const prepareStep = rkatPrepareStep({ contextWindow, stores, chatId: () => "one" });
      return {
        async ask(content) {
          messages.push({ role: "user", content });
          const stopWhen = isStepCount(20);
          const options = { model, tools, messages, prepareStep, stopWhen };
          messages.push(...(await generateText(options)).responseMessages);
        },
        close: () => prepareStep.close(),
      };
    };
  },
  LangChain(baseURL) {
    const checkpointer = new MemorySaver();
    const configuration = { baseURL };
    const model = new ChatOpenAI({ model: "gpt", apiKey: "local", configuration });
    const tools = [langChainTool(read, { name: "read", description, schema })];
    return (stores) => {
      const rkat = rkatMiddleware({ contextWindow, stores });
      const agent = createAgent({ model, tools, middleware: [rkat], checkpointer });
      const config = { configurable: { thread_id: "one" }, recursionLimit: 100 };
      return {
        ask: (prompt) => agent.invoke({ messages: [new HumanMessage(prompt)] }, config),
        close: () => rkat.close(),
      };
    };
  },
  Mastra(url) {
    const memory = new MockMemory();
    const tools = {
      read: createTool({ id: "read", description, inputSchema: schema, execute: read }),
    };
    return (stores) => {
      const rkat = rkatProcessor({ contextWindow, stores });
      const model = { providerId: "local", modelId: "gpt", url, apiKey: "none" } as const;
      const settings = { name: "Sailor", instructions: "", model, tools, memory };
      const agent = new Agent({ id: "sailor", ...settings, inputProcessors: [rkat] });
      const thread = { thread: "one", resource: "ada", options: { lastMessages: 1_000 } };
      return {
        ask: (prompt) => agent.generate(prompt, { maxSteps: 20, memory: thread }),
        close: () => rkat.close(),
      };
    };
  },
};

test.each(Object.entries(HOSTS))(
  "%s: no later summary is told of a forgotten text, although the framework still has it",
  async (_, host) => {
    const SECRET = "The code of the lighthouse is 4711-Q.";
    let steps = 0;
    const server = await startLocalProvider({
      call: (step) =>
        step < steps ? { name: "read", args: { path: `part-${step}.ts` } } : undefined,
      summary: (body) => {
        const told = JSON.stringify(body).includes(SECRET) ? SECRET : "";
        return `The crane lifts the cargo over the quay, and the pilot reads part-0.ts. ${told}`;
      },
    });
    onTestFinished(() => server.close());
    const stores = sqliteStores({ path: ":memory:" });
    onTestFinished(() => stores.close());
    const start = host(server.urls.openai);
    const summaries = () =>
      server.billed.flatMap(({ kind, body }) => (kind === "summary" ? [JSON.stringify(body)] : []));

    const first = start(stores);
    await first.ask(SECRET);
    steps = 14;
    await first.ask("Read fourteen parts.");
    await first.close();
    expect(summaries().join()).toContain(SECRET);

    const sessions = createSessionService({ model: "none", stores });
    const [hit] = await sessions.searchMemory({ query: "code of the lighthouse", limit: 1 });
    expect(hit?.content).toContain(SECRET);
    await sessions.forgetMemory({ ids: [hit?.id ?? ""] });
    const before = summaries().length;

    const second = start(stores);
    await second.ask("Read fourteen parts again.");
    await second.close();
    expect(summaries().length).toBeGreaterThan(before);
    expect(summaries().slice(before).join()).not.toContain("4711-Q");
    const found = await sessions.searchHistory({ query: "code of the lighthouse 4711-Q" });
    expect(JSON.stringify(found)).not.toContain("4711-Q");
    await sessions.close();
  },
  120_000,
);
