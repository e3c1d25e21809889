// A LangChain agent that never outgrows its model's window, and finds again what left it.
//
//   npm run test:hosts                      (once, to install what is in this folder)
//   npx node examples/hosts/langchain.ts    (no key: the model is a program on this machine)
import assert from "node:assert/strict";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { createSessionService } from "rkat";
import { rkatMiddleware } from "rkat/langchain";
import { sqliteStores } from "rkat/sqlite";
import { z } from "zod";
import { startLocalProvider } from "./local-provider.ts";

const CONTEXT_WINDOW = 4_000;
const BUILDS = 30;

// A model that looks at thirty builds, one after the other.
const provider = await startLocalProvider({
  contextWindow: CONTEXT_WINDOW,
  call: (step) => (step < BUILDS ? { name: "build_log", args: { build: 1000 + step } } : undefined),
});

const buildLog = tool(
  ({ build }) =>
    `Build ${build} took ${build % 7} minutes.\n${"All steps are green.\n".repeat(40)}`,
  {
    name: "build_log",
    description: "The log of a build.",
    schema: z.object({ build: z.int() }),
  },
);

const stores = sqliteStores({ path: ":memory:" });
const rkat = rkatMiddleware({ contextWindow: CONTEXT_WINDOW, stores });
const agent = createAgent({
  model: new ChatOpenAI({
    model: "local",
    apiKey: "none",
    configuration: { baseURL: provider.urls.openai },
  }),
  tools: [buildLog],
  checkpointer: new MemorySaver(),
  middleware: [rkat],
});

const { messages } = await agent.invoke(
  { messages: [{ role: "user", content: "Which of the last thirty builds was slow?" }] },
  { configurable: { thread_id: "builds" }, recursionLimit: 100 },
);

const { billed } = provider;
const largest = Math.max(...billed.map(({ inputTokens }) => inputTokens));
assert(largest <= CONTEXT_WINDOW);
console.log(messages.at(-1)?.text);
console.log(`${billed.length} requests, the largest of ${largest} tokens.`);
console.log(`${billed.filter(({ kind }) => kind === "summary").length} summaries.`);

// What left the agent's history is in the stores, like every session.
const sessions = createSessionService({ model: "none", stores });
const [first] = await sessions.searchHistory({ query: "Build 1000 took", limit: 1 });
assert(first);
console.log(`Found again: ${first.content.slice(0, 27)}`);

await rkat.close();
await sessions.close();
await stores.close();
await provider.close();
