import { expect, test } from "vitest";
import type { AiSdkMessage } from "../models/model-messages.ts";
import { middlewareWith } from "./ai-sdk-middleware.ts";
import { prepareStepWith } from "./ai-sdk-prepare-step.ts";
import type { LangChainMessage } from "./langchain-messages.ts";
import { langChainMiddleware } from "./langchain-middleware.ts";

const options = { contextWindow: 8_000, summarize: "fallback" } as const;
const messages: readonly AiSdkMessage[] = [{ role: "user", content: "Which port?" }];
const model = {};

/** Each host, asked with an id of a chat. */
const HOSTS: Readonly<Record<string, (id: unknown) => Promise<unknown>>> = {
  prepareStep: (id) =>
    prepareStepWith({ ...options, chatId: () => id as string })({ messages, steps: [], model }),
  middleware: (chatId) =>
    middlewareWith(options).transformParams({
      params: { prompt: messages, providerOptions: { rkat: { chatId } } },
      model,
    }),
  LangChain: (thread_id) => {
    const said: readonly LangChainMessage[] = [{ type: "human", content: "Which port?" }];
    const request = {
      messages: said,
      state: { messages: said },
      model: { invoke: async () => "" },
    };
    return langChainMiddleware(options).wrapModelCall(
      { ...request, runtime: { configurable: { thread_id } } },
      async (sent) => sent.messages,
    );
  },
};

test.each(Object.entries(HOSTS))(
  "%s refuses an id that all chats would have in common, by what it is",
  async (_, ask) => {
    await expect(ask(Promise.resolve("c1"))).rejects.toThrow(/is a Promise, which is no id/);
    await expect(ask({ id: "c1" })).rejects.toThrow(/of the type object, which is no id/);
    await expect(ask(() => "c1")).rejects.toThrow(/of the type function, which is no id/);
    await expect(ask(Number.NaN)).rejects.toThrow(/is NaN, which is no id/);
    for (const id of ["c1", 17, undefined, null]) await ask(id);
  },
);

test.each([prepareStepWith, middlewareWith])(
  "settings that make no sense are refused when they are given: %o",
  (make) => {
    const summarize = "model" as "fallback";
    expect(() => make({ summarize })).toThrow('summarize is "model"');
    expect(() => make({ contextWindow: 0.5 })).toThrow("autoCompactThreshold is 0");
  },
);

test("a field that your own prepareStep leaves empty changes nothing", async () => {
  const long = Array.from(
    { length: 40 },
    (_, at): AiSdkMessage => ({
      role: at % 2 ? "assistant" : "user",
      content: `${at} ${"harbour ship cargo crane ledger ".repeat(40)}`,
    }),
  );
  for (const empty of [undefined, null]) {
    const next = () => ({ messages: empty });
    const prepare = prepareStepWith({ ...options, next });
    const sent = await prepare({ messages: long, steps: [], model });
    expect(sent.messages.length).toBeLessThan(long.length);
  }
});
