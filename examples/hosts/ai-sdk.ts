// An agent of the AI SDK that never outgrows its model's window, also after a restart.
//
//   npm run test:hosts                   (once, to install what is in this folder)
//   npx node examples/hosts/ai-sdk.ts    (no key: the model is a program on this machine)
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOpenAI } from "@ai-sdk/openai";
import { isStepCount, type ModelMessage, ToolLoopAgent, tool } from "ai";
import { memoryTools, rkatPrepareStep } from "rkat/ai-sdk";
import { sqliteStores } from "rkat/sqlite";
import { z } from "zod";
import { startLocalProvider } from "./local-provider.ts";

const CONTEXT_WINDOW = 6_000;
const BUILDS = Array.from({ length: 25 }, (_, index) => 1000 + index);

// A model that looks at twenty-five builds, and in the next request at its memory.
const replies = [
  ...BUILDS.map((build) => ({ toolCalls: [{ name: "build_log", args: { build } }] })),
  "None of them was slow.",
  {
    toolCalls: [
      { name: "search_project_history", args: { query: "Build 1000 used the compiler", limit: 2 } },
    ],
  },
  "Build 1000 used the compiler with the name larch.",
];
const provider = await startLocalProvider({
  contextWindow: CONTEXT_WINDOW,
  answer: (index) => replies[index] ?? "Done.",
});
const summaries = () => provider.billed.filter(({ kind }) => kind === "summary").length;

const build_log = tool({
  description: "The log of a build.",
  inputSchema: z.object({ build: z.int() }),
  execute: ({ build }) =>
    `Build ${build} used the compiler ${["larch", "alder"][build % 2]}.\n${"All steps are green.\n".repeat(40)}`,
});

/** One request of a chat, by a process that knows only what is on disk. */
async function request(path: string, messages: ModelMessage[]) {
  const stores = sqliteStores({ path });
  const memory = memoryTools({ stores });
  const prepareStep = rkatPrepareStep({
    contextWindow: CONTEXT_WINDOW,
    stores,
    chatId: () => "builds",
  });
  const agent = new ToolLoopAgent({
    model: createOpenAI({ apiKey: "none", baseURL: provider.urls.openai }).chat("local"),
    tools: { build_log, ...memory.tools },
    stopWhen: isStepCount(50),
    prepareStep,
  });
  const answer = await agent.generate({ messages });
  await memory.close();
  await prepareStep.close();
  await stores.close();
  return answer;
}

const folder = await mkdtemp(join(tmpdir(), "rkat-ai-sdk-"));
const path = join(folder, "rkat.db");

// The window outgrows the model's several times, in the middle of this one request.
const chat: ModelMessage[] = [
  { role: "user", content: "Which of the last twenty-five builds was slow?" },
];
const first = await request(path, chat);
chat.push(...first.responseMessages);
const paid = summaries();
assert(paid > 0);
console.log(first.text);
console.log(`${first.steps.length} steps, ${chat.length} messages, ${paid} summaries.`);

// After a restart, the whole chat is offered again. No summary of it is paid for twice.
chat.push({ role: "user", content: "Which compiler did build 1000 use?" });
const second = await request(path, chat);
assert.equal(summaries(), paid);
console.log(second.text);

// The log of build 1000 left the window long ago. The model's own search found it.
const [found] = second.steps.flatMap(({ toolResults }) => toolResults);
assert(String(found?.output).includes("Build 1000 used the compiler larch"));
const largest = Math.max(...provider.billed.map(({ inputTokens }) => inputTokens));
assert(largest <= CONTEXT_WINDOW);
console.log(`The largest of ${provider.billed.length} requests had ${largest} tokens.`);

await rm(folder, { recursive: true });
await provider.close();
