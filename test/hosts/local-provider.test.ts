import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, streamText, tool } from "ai";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  isStep,
  type LocalProviderOptions,
  startLocalProvider,
} from "../../examples/hosts/local-provider.ts";

const read = tool({
  description: "Reads a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => `${path} is empty. ${"The line has no code. ".repeat(20)}`,
});

const threeReads: LocalProviderOptions = {
  call: (step) => (step < 3 ? { name: "read", args: { path: `${step}.ts` } } : undefined),
};

async function open(options?: LocalProviderOptions) {
  const server = await startLocalProvider(options);
  onTestFinished(() => server.close());
  const { urls } = server;
  const apiKey = "local";
  const openAi = createOpenAI({ apiKey, baseURL: urls.openai });
  const compatible = createOpenAICompatible({ name: "local", baseURL: urls["openai-compatible"] });
  const models = {
    "OpenAI's chat completions": openAi.chat("gpt"),
    "OpenAI's responses": openAi.responses("gpt"),
    "Anthropic's messages": createAnthropic({ apiKey, baseURL: urls.anthropic })("claude"),
    "a compatible server": compatible("local"),
  };
  return { server, models };
}

const NAMES = [
  "OpenAI's chat completions",
  "OpenAI's responses",
  "Anthropic's messages",
  "a compatible server",
] as const;

function request(model: Awaited<ReturnType<typeof open>>["models"][(typeof NAMES)[number]]) {
  return {
    model,
    prompt: "Read three files.",
    tools: { read },
    stopWhen: isStepCount(10),
    maxOutputTokens: 1000,
    maxRetries: 0,
    providerOptions: { openai: { store: false } },
  };
}

test.each(NAMES)("%s: a run of tool calls, whole and streamed", async (name) => {
  const { server, models } = await open(threeReads);
  const whole = await generateText(request(models[name]));
  expect(whole.text).toBe("Done after 3 calls.");
  const streamed = streamText(request(models[name]));
  expect(await streamed.text).toBe("Done after 3 calls.");
  expect((await streamed.steps).map(({ toolCalls }) => toolCalls.length)).toEqual([1, 1, 1, 0]);
  expect(server.problems).toEqual([]);
  expect(server.billed.map(({ kind }) => kind)).toEqual(Array(8).fill("step"));
});

test.each(NAMES)("%s: tokens grow with the history, and its beginning is cached", async (name) => {
  const { server, models } = await open(threeReads);
  const { steps } = await generateText(request(models[name]));
  const { billed } = server;
  expect(steps.map(({ usage }) => usage.inputTokens)).toEqual(
    billed.map(({ inputTokens }) => inputTokens),
  );
  for (const [index, { inputTokens }] of billed.slice(0, -1).entries()) {
    expect(billed[index + 1]?.inputTokens).toBeGreaterThan(inputTokens + 100);
    expect(billed[index + 1]?.cachedTokens).toBeGreaterThan(inputTokens - 5);
  }
});

test.each(NAMES)("%s: refuses what is longer than the window", async (name) => {
  const { server, models } = await open({ ...threeReads, contextWindow: 300 });
  await expect(generateText(request(models[name]))).rejects.toThrow(/context|too long/);
  expect(server.billed.at(-1)?.kind).toBe("refused");
});

test("a request for a summary is none for a step, whatever the program says after it", () => {
  const tools = [{ name: "read" }];
  const ask = "Your task is to create a detailed summary of the conversation so far";
  const asked = { role: "user", content: [{ type: "text", text: ask }] };
  const said = { role: "system", content: "A server has connected." };
  expect(isStep({ tools, messages: [asked] })).toBe(false);
  expect(isStep({ tools, messages: [asked, said] })).toBe(false);
  expect(isStep({ tools, messages: [asked, { role: "user", content: "Go on." }, said] })).toBe(
    true,
  );
});

test("a request without tools gets lines of what it has", async () => {
  const { server, models } = await open();
  const { text } = await generateText({
    model: models["OpenAI's chat completions"],
    prompt: "Summarise:\nThe port is 4310.\nAda wrote the parser.",
  });
  expect(text).toContain("Ada wrote the parser.");
  expect(server.billed.map(({ kind }) => kind)).toEqual(["summary"]);
});
