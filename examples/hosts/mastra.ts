// A Mastra agent that never outgrows its model's window. What Mastra saves stays whole.
//
//   npm run test:hosts                    (once, to install what is in this folder)
//   npx node examples/hosts/mastra.ts     (no key: the model is a program on this machine)
import assert from "node:assert/strict";
import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import { createSessionService } from "rkat";
import { rkatProcessor } from "rkat/mastra";
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

const buildLog = createTool({
  id: "build_log",
  description: "The log of a build.",
  inputSchema: z.object({ build: z.number() }),
  execute: async ({ build }) =>
    `Build ${build} took ${build % 7} minutes.\n${"All steps are green.\n".repeat(40)}`,
});

const stores = sqliteStores({ path: ":memory:" });
const rkat = rkatProcessor({ contextWindow: CONTEXT_WINDOW, stores });
const memory = new MockMemory();
const agent = new Agent({
  id: "builds",
  name: "Builds",
  instructions: "You look after builds.",
  model: { providerId: "openai", modelId: "gpt-5", url: provider.urls.openai, apiKey: "none" },
  memory,
  tools: { build_log: buildLog, ...rkat.tools },
  inputProcessors: [rkat],
  errorProcessors: [rkat],
  maxProcessorRetries: 3,
});

const { steps } = await agent.generate("Which of the last thirty builds was slow?", {
  maxSteps: 50,
  memory: { thread: "builds", resource: "ada" },
});

const { billed } = provider;
const largest = Math.max(...billed.map(({ inputTokens }) => inputTokens));
assert(largest <= CONTEXT_WINDOW);
console.log(steps.at(-1)?.text);
console.log(`${billed.length} requests, the largest of ${largest} tokens.`);
const summaries = billed.filter(({ kind }) => kind === "summary");
console.log(`${summaries.length} summaries.`);
// Each is asked for at the end of the last request, which the provider has in its cache.
assert(summaries.every(({ inputTokens, cachedTokens }) => cachedTokens > inputTokens / 2));

const saved = await memory.recall({ threadId: "builds", resourceId: "ada", perPage: false });
assert(JSON.stringify(saved.messages).includes("Build 1000 took"));
console.log("Mastra saved everything.");

// What left the prompt is in the stores, like every session.
const sessions = createSessionService({ model: "none", stores });
const [first] = await sessions.searchHistory({ query: "Build 1000 took", limit: 1 });
assert(first);
console.log(`Found again: ${first.content.slice(0, 27)}`);

await rkat.close();
await sessions.close();
await stores.close();
await provider.close();
