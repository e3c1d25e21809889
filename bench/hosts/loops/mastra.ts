import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { TokenLimiterProcessor } from "@mastra/core/processors";
import { createTool } from "@mastra/core/tools";
import { createSessionService } from "rkat";
import { rkatProcessor } from "rkat/mastra";
import { sqliteStores } from "rkat/sqlite";
import { z } from "zod";
import type { Contender, HostLoop, Lab } from "../play-run.ts";
import { searchIn } from "./ai-sdk.ts";

const HOST = "Mastra 1.71";

interface AgentOptions {
  readonly inputProcessors: readonly object[];
  readonly errorProcessors?: readonly object[];
  readonly maxProcessorRetries?: number;
  readonly tools?: object;
}

/** Keeps the conversation in a thread, whole. */
function loopWith(lab: Lab, { tools = {}, ...options }: AgentOptions): HostLoop {
  const read = createTool({
    id: "read",
    description: "Reads a file.",
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }) => lab.read(path),
  });
  const others = lab.otherTools.map(({ name, description }) => [
    name,
    createTool({ id: name, description, inputSchema: z.object({}), execute: async () => "" }),
  ]);
  const agent = new Agent({
    id: "harbour",
    name: "Harbour",
    instructions: lab.instructions,
    model: { providerId: "openai", modelId: "gpt-5", url: lab.url, apiKey: "none" },
    memory: new MockMemory(),
    maxRetries: 0,
    ...options,
    tools: { read, ...tools, ...Object.fromEntries(others) },
  } as never);
  const memory = { thread: "run", resource: "ada", options: { lastMessages: 10_000 } };
  return {
    ask: async (prompt, picture) => {
      const asked = picture ? [withPicture(prompt, picture)] : prompt;
      const { steps } = await agent.generate(asked as never, { maxSteps: 100, memory });
      return steps.at(-1)?.text ?? "";
    },
  };
}

function withPicture(text: string, data: string) {
  const content = [
    { type: "text", text },
    { type: "file", data, mediaType: "image/png" },
  ];
  return { role: "user", content };
}

export const mastraContenders: readonly Contender[] = [
  {
    host: HOST,
    name: "`TokenLimiterProcessor`",
    async open(lab) {
      const limiter = new TokenLimiterProcessor(Math.floor(0.8 * lab.contextWindow));
      return loopWith(lab, { inputProcessors: [limiter] });
    },
  },
  {
    host: HOST,
    name: "rkat",
    async open(lab) {
      const stores = sqliteStores({ path: ":memory:" });
      const rkat = rkatProcessor({ contextWindow: lab.contextWindow, stores });
      const sessions = createSessionService({ model: "none", stores });
      return {
        ...loopWith(lab, {
          inputProcessors: [rkat],
          errorProcessors: [rkat],
          maxProcessorRetries: 3,
          tools: rkat.tools,
        }),
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
