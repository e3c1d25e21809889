// An agent of the OpenAI Agents SDK in a small window. Its session is in rkat's stores, with all that was said.
//
//   npm run test:hosts                          (once, to install what is in this folder)
//   npx node examples/hosts/openai-agents.ts    (no key: the model is a program on this machine)
import assert from "node:assert/strict";
import {
  Agent,
  type AgentInputItem,
  OpenAIChatCompletionsModel,
  run,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { createSessionService } from "rkat";
import { rkatModel, rkatSession } from "rkat/openai-agents";
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
setTracingDisabled(true);
const client = new OpenAI({ apiKey: "none", baseURL: provider.urls.openai });
const model = rkatModel(new OpenAIChatCompletionsModel(client, "local"));

const buildLog = tool({
  name: "build_log",
  description: "The log of a build.",
  parameters: z.object({ build: z.int() }),
  execute: ({ build }) => `Build ${build} took ${build % 7} minutes.\n${"A step.\n".repeat(40)}`,
});
const agent = new Agent({ name: "Builds", tools: [buildLog], model });

const stores = sqliteStores({ path: ":memory:" });
const session = rkatSession<AgentInputItem>({
  stores,
  sessionId: "builds",
  model,
  contextWindow: CONTEXT_WINDOW,
});

const { finalOutput } = await run(agent, "Which of the last thirty builds was slow?", {
  session,
  callModelInputFilter: session.filter,
  maxTurns: 100,
});

const { billed } = provider;
const largest = Math.max(...billed.map(({ inputTokens }) => inputTokens));
assert(largest <= CONTEXT_WINDOW);
console.log(finalOutput);
console.log(`${billed.length} requests, the largest of ${largest} tokens.`);
// In a run, a summary is asked for at the end of the last request, which the provider has in its cache.
const summaries = billed.filter(({ kind }) => kind === "summary");
assert(summaries.some(({ inputTokens, cachedTokens }) => cachedTokens > inputTokens / 2));
console.log(`The session goes on with ${(await session.getItems()).length} items.`);

// What left the items is in the stores, like every session.
const sessions = createSessionService({ model: "none", stores });
const found = await sessions.searchHistory({ query: "Build 1000 took minutes" });
const output = found.find(({ role }) => role === "tool");
assert(output);
console.log(`Found again: ${output.content.slice(0, 26)}`);

await sessions.close();
await session.close();
await stores.close();
await provider.close();
