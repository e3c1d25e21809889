import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { convertToModelMessages, isStepCount, streamText, tool, toUIMessageStream } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { rkatPrepareStep } from "rkat/ai-sdk";
import { sqliteStores } from "rkat/sqlite";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";

const folder = await mkdtemp(join(tmpdir(), "rkat-ui-messages-"));
afterAll(() => rm(folder, { recursive: true }));

const tools = {
  read: tool({
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => ({
      path,
      lines: Array.from({ length: 30 }, (_, line) => `${path}:${line} ok`),
    }),
  }),
};

const usage = {
  inputTokens: {
    total: undefined,
    noCache: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
  },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
};

/** A model that thinks, reads as many files as it is told, and then answers. */
function readingModel(files: number) {
  const prompts: (readonly object[])[] = [];
  let asked = 0;
  const model = new MockLanguageModelV4({
    doStream: (async ({ prompt }: { prompt: readonly object[] }) => {
      prompts.push(prompt);
      asked += 1;
      const isLast = asked > files;
      const finish = isLast ? ("stop" as const) : ("tool-calls" as const);
      return {
        stream: simulateReadableStream({
          chunks: [
            { type: "reasoning-start", id: "r" },
            { type: "reasoning-delta", id: "r", delta: "Let me see." },
            {
              type: "reasoning-end",
              id: "r",
              providerMetadata: { local: { signature: `s${asked}` } },
            },
            { type: "text-start", id: "t" },
            { type: "text-delta", id: "t", delta: isLast ? "All is well." : "I read on." },
            { type: "text-end", id: "t" },
            ...(isLast
              ? []
              : [
                  {
                    type: "tool-call",
                    toolCallId: `call-${files}-${asked}`,
                    toolName: "read",
                    input: JSON.stringify({ path: `file-${asked}.ts` }),
                  },
                ]),
            { type: "finish", finishReason: { unified: finish, raw: finish }, usage },
          ],
        }),
      };
    }) as never,
  });
  return { model, prompts };
}

interface Options {
  readonly database: string;
  readonly chat: readonly UIMessage[];
  readonly files: number;
}

/** One request as an application has it: the whole chat in, the whole chat to save out. */
async function request({ database, chat, files }: Options) {
  const stores = sqliteStores({ path: join(folder, database) });
  let summaries = 0;
  const prepareStep = rkatPrepareStep({
    stores,
    chatId: () => "chat",
    contextWindow: 4_000,
    summarize: async () => {
      summaries += 1;
      return "The user asked to read the files. They were read one by one, and every line of them was ok.";
    },
  });
  const { model, prompts } = readingModel(files);
  const result = streamText({
    model,
    tools,
    messages: await convertToModelMessages([...chat], { tools }),
    stopWhen: isStepCount(50),
    prepareStep,
  });
  let saved = "[]";
  const stream = toUIMessageStream({
    stream: result.stream,
    originalMessages: [...chat],
    onEnd: ({ messages }) => {
      saved = JSON.stringify(messages);
    },
  });
  for await (const _ of stream);
  await prepareStep.close();
  await stores.close();
  return { saved: JSON.parse(saved) as UIMessage[], summaries, prompts };
}

const said = (id: string, text: string): UIMessage => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
});

test("a chat of UIMessages is compacted in a request, and its next one pays for nothing again", async () => {
  const first = await request({
    database: "chat.db",
    chat: [said("1", "Read all files.")],
    files: 20,
  });
  expect(first.summaries).toBeGreaterThan(0);
  // What the user sees is whole.
  expect(first.saved.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(first.saved[1]?.parts.filter(({ type }) => type === "tool-read")).toHaveLength(20);

  const chat = [...first.saved, said("2", "Thank you. Is anything left?")];
  const second = await request({ database: "chat.db", chat, files: 0 });
  expect(second.summaries).toBe(0);
  const whole = await convertToModelMessages(chat, { tools });
  const [sent = []] = second.prompts;
  expect(sent.length).toBeLessThan(whole.length / 2);
  // It goes on from the very request before it, so that the provider's cache holds.
  const before = first.prompts.at(-1) ?? [];
  expect(sent.slice(0, before.length)).toEqual(before);
});
