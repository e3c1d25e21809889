import { createOpenAI } from "@ai-sdk/openai";
import {
  generateText,
  isStepCount,
  type ModelMessage,
  type PrepareStepFunction,
  pruneMessages,
  type ToolSet,
  tool,
  type UserContent,
} from "ai";
import { createSessionService } from "rkat";
import { memoryTools, rkatPrepareStep } from "rkat/ai-sdk";
import { sqliteStores } from "rkat/sqlite";
import { z } from "zod";
import type { Contender, HostLoop, Lab } from "../play-run.ts";

const HOST = "AI SDK 7";

interface LoopOptions {
  readonly prepareStep?: PrepareStepFunction<ToolSet>;
  readonly tools?: ToolSet;
}

/** Keeps the whole conversation and offers it in each turn, as the documentation of the AI SDK does. */
function loopWith(
  { url, instructions, read, otherTools }: Lab,
  options: LoopOptions = {},
): HostLoop {
  const messages: ModelMessage[] = [];
  const others = otherTools.map(({ name, description }) => [
    name,
    tool({ description, inputSchema: z.object({}), execute: () => "" }),
  ]);
  const tools: ToolSet = {
    ...options.tools,
    ...Object.fromEntries(others),
    read: tool({
      description: "Reads a file.",
      inputSchema: z.object({ path: z.string() }),
      execute: ({ path }) => read(path),
    }),
  };
  const model = createOpenAI({ apiKey: "local", baseURL: url }).responses("gpt-5");
  return {
    async ask(prompt, picture) {
      messages.push({ role: "user", content: picture ? withPicture(prompt, picture) : prompt });
      const { text, responseMessages } = await generateText({
        model,
        instructions,
        messages,
        stopWhen: isStepCount(100),
        maxRetries: 0,
        providerOptions: { openai: { store: false } },
        ...options,
        tools,
      });
      messages.push(...responseMessages);
      return text;
    },
  };
}

function withPicture(text: string, data: string): UserContent {
  return [
    { type: "text", text },
    { type: "file", data, mediaType: "image/png" },
  ];
}

export const aiSdkContenders: readonly Contender[] = [
  {
    host: HOST,
    name: "nothing",
    open: async (lab) => loopWith(lab),
  },
  {
    host: HOST,
    name: "`pruneMessages` as documented",
    open: async (lab) =>
      loopWith(lab, {
        // The recipe of the page "Loop Control", with the threshold that rkat has by default.
        prepareStep({ messages }) {
          if (JSON.stringify(messages).length / 4 <= 0.8 * lab.contextWindow) return undefined;
          return {
            messages: pruneMessages({
              messages,
              reasoning: "all",
              toolCalls: "before-last-3-messages",
              emptyMessages: "remove",
            }),
          };
        },
      }),
  },
  {
    host: HOST,
    name: "rkat",
    async open(lab) {
      const stores = sqliteStores({ path: ":memory:" });
      const { contextWindow } = lab;
      const prepareStep = rkatPrepareStep({ contextWindow, stores, chatId: () => "run" });
      const memory = memoryTools({ stores });
      const sessions = createSessionService({ model: "none", stores });
      return {
        ...loopWith(lab, { prepareStep, tools: memory.tools }),
        search: (query) => searchIn(sessions, query),
        async close() {
          await prepareStep.close();
          await memory.close();
          await sessions.close();
          await stores.close();
        },
      };
    },
  },
];

/** The search behind the tool `search_project_history`, as many results as a model gets. */
export async function searchIn(
  sessions: ReturnType<typeof createSessionService>,
  query: string,
): Promise<readonly string[]> {
  const found = await sessions.searchHistory({ query, limit: 5 });
  return found.map(({ content }) => content);
}
