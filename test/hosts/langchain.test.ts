import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, HumanMessage } from "langchain";
import { rkatMiddleware } from "rkat/langchain";
import { expect, test } from "vitest";
import { z } from "zod";
import { type AdaptedLoop, adapterLaws } from "../../src/testing/adapter-laws.ts";
import { startScriptedServer } from "./scripted-server.ts";

function modelAt(baseURL: string) {
  return new ChatOpenAI({
    model: "gpt",
    apiKey: "local",
    maxRetries: 0,
    configuration: { baseURL },
  });
}

function readTool(output: (path: string) => string) {
  return tool(async ({ path }) => output(path), {
    name: "read",
    description: "Reads a file.",
    schema: z.object({ path: z.string() }),
  });
}

/** How an application keeps a conversation. */
const KEPT = {
  "in a thread": true,
  "by itself, whole": false,
};

function loop(inThread: boolean): AdaptedLoop {
  return {
    async run(script) {
      const { server, outputs, record } = await startScriptedServer(script);
      try {
        const agent = createAgent({
          model: modelAt(server.urls.openai),
          tools: [readTool((path) => outputs.get(path) ?? "")],
          systemPrompt: script.instructions,
          middleware: [rkatMiddleware({ contextWindow: script.contextWindow })],
          ...(inThread ? { checkpointer: new MemorySaver() } : {}),
        });
        const answers: string[] = [];
        let said: HumanMessage[] = [];
        for (const { prompt } of script.turns) {
          const asked = new HumanMessage(prompt);
          const messages = inThread ? [asked] : [...said, asked];
          const config = inThread ? { configurable: { thread_id: "one" } } : {};
          const state = await agent.invoke({ messages }, { ...config, recursionLimit: 100 });
          answers.push(state.messages.at(-1)?.text ?? "");
          said = state.messages as HumanMessage[];
        }
        expect(server.problems).toEqual([]);
        return record(answers);
      } finally {
        await server.close();
      }
    },
  };
}

for (const [how, inThread] of Object.entries(KEPT)) {
  for (const law of adapterLaws) {
    test(`a conversation kept ${how}: ${law.name}`, () => law.holds(async () => loop(inThread)));
  }
}
