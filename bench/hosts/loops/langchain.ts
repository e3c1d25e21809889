import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import {
  type AgentMiddleware,
  createAgent,
  HumanMessage,
  summarizationMiddleware,
} from "langchain";
import { createSessionService } from "rkat";
import { rkatMiddleware } from "rkat/langchain";
import { sqliteStores } from "rkat/sqlite";
import { z } from "zod";
import type { Contender, HostLoop, Lab } from "../play-run.ts";
import { searchIn } from "./ai-sdk.ts";

const HOST = "LangChain 1.5";

function modelOf({ url }: Lab) {
  const configuration = { baseURL: url };
  return new ChatOpenAI({ model: "gpt", apiKey: "local", maxRetries: 0, configuration });
}

/** Keeps the conversation in a thread. */
function loopWith(lab: Lab, middleware: AgentMiddleware): HostLoop {
  const read = tool(async ({ path }) => lab.read(path), {
    name: "read",
    description: "Reads a file.",
    schema: z.object({ path: z.string() }),
  });
  const others = lab.otherTools.map(({ name, description }) =>
    tool(async () => "", { name, description, schema: z.object({}) }),
  );
  const agent = createAgent({
    model: modelOf(lab),
    tools: [read, ...others],
    systemPrompt: lab.instructions,
    middleware: [middleware],
    checkpointer: new MemorySaver(),
  });
  const config = { recursionLimit: 200, configurable: { thread_id: "run" } };
  return {
    async ask(prompt, picture) {
      const asked = new HumanMessage(picture ? withPicture(prompt, picture) : prompt);
      const { messages } = await agent.invoke({ messages: [asked] }, config);
      return messages.at(-1)?.text ?? "";
    },
  };
}

function withPicture(text: string, data: string) {
  const content = [
    { type: "text", text },
    { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } },
  ];
  return { content };
}

export const langChainContenders: readonly Contender[] = [
  {
    host: HOST,
    name: "`summarizationMiddleware`",
    async open(lab) {
      const trigger = { tokens: Math.floor(0.8 * lab.contextWindow) };
      // `keep` is the 20 messages of its default and its documentation.
      return loopWith(lab, summarizationMiddleware({ model: modelOf(lab), trigger } as never));
    },
  },
  {
    host: HOST,
    name: "rkat",
    async open(lab) {
      const stores = sqliteStores({ path: ":memory:" });
      const rkat = rkatMiddleware({ contextWindow: lab.contextWindow, stores });
      const sessions = createSessionService({ model: "none", stores });
      return {
        ...loopWith(lab, rkat as AgentMiddleware),
        search: (query) => searchIn(sessions, query),
        async close() {
          await rkat.close();
          await sessions.close();
          await stores.close();
        },
      };
    },
  },
];
