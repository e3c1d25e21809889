import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelMessage } from "ai";
import { generateText, isStepCount, streamText, ToolLoopAgent, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import {
  generateText as generateText6,
  stepCountIs as stepCountIs6,
  tool as tool6,
  wrapLanguageModel as wrapLanguageModel6,
} from "ai6";
import { MockLanguageModelV3 } from "ai6/test";
import { createSessionService, type Message } from "rkat";
import { fromModelMessages, memoryTools, rkatMiddleware, rkatPrepareStep } from "rkat/ai-sdk";
import { sqliteStores } from "rkat/sqlite";
import { type AdaptedLoop, adapterLaws, type LoopScript } from "rkat/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  isStep,
  type LocalProvider,
  startLocalProvider,
} from "../../examples/hosts/local-provider.ts";
import { CAMPAIGN_MS, keepsPromises, type Without } from "./random-script.ts";
import { remembered, type ScriptedServer, startScriptedServer } from "./scripted-server.ts";

/** A text as the loop gave it: the SDK makes a part of it. */
function plain(message: Message): Message {
  if (message.role !== "user" || typeof message.content === "string") return message;
  const [part, ...others] = message.content;
  return part?.type === "text" && others.length === 0
    ? { ...message, content: part.text }
    : message;
}

/** A model of AI SDK 6 that says what a script has, and what it was asked. */
function scriptedModel({ turns, summaries, refusedAbove = Infinity }: LoopScript) {
  const answers = turns.flatMap(({ steps, answer, ends }) => [
    ...steps,
    { text: answer, calls: [], ends },
  ]);
  const requests: Message[][] = [];
  const asked = { summaries: 0 };
  let turn = new AbortController();
  const called = turns.flatMap(({ steps }) => steps.flatMap(({ calls }) => calls));
  const outputs = new Map(called.map((call) => [call.path, call]));
  const usageOf = (prompt: readonly unknown[]) => {
    const total = Math.ceil(JSON.stringify(prompt).length / 4);
    return {
      inputTokens: { total, noCache: total, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 10, text: 10, reasoning: 0 },
    };
  };
  const reply = (options: {
    prompt: readonly object[];
    tools?: readonly unknown[] | undefined;
  }) => {
    const usage = usageOf(options.prompt);
    if (usage.inputTokens.total > refusedAbove) {
      throw new Error(`prompt is too long: more than ${refusedAbove} tokens`);
    }
    if (!isStep({ tools: options.tools, messages: options.prompt })) {
      asked.summaries += 1;
      if (summaries === "failing") throw new Error("no quota");
      const text = `Tasks at the harbour were done: cargo, crane and ledger. Part ${asked.summaries}.`;
      return { content: [{ type: "text" as const, text }], calls: false, usage };
    }
    const answer = answers[requests.length];
    const prompt = options.prompt as unknown as Parameters<typeof fromModelMessages>[0];
    requests.push(fromModelMessages(prompt).map(plain));
    if (answer && "ends" in answer && answer.ends === "failed") throw new Error("overloaded");
    if (answer && "ends" in answer && answer.ends === "stopped") {
      turn.abort(new Error("stopped by the user"));
      throw turn.signal.reason;
    }
    const thought = answer && "reasoning" in answer ? answer.reasoning : undefined;
    const reasoning = thought ? [{ type: "reasoning" as const, text: thought }] : [];
    const text = answer?.text ? [{ type: "text" as const, text: answer.text }] : [];
    const calls = (answer?.calls ?? []).map(({ id, path }) => ({
      type: "tool-call" as const,
      toolCallId: id,
      toolName: "read",
      input: JSON.stringify({ path }),
    }));
    return { content: [...reasoning, ...text, ...calls], calls: calls.length > 0, usage };
  };
  const generate = async (options: { prompt: readonly object[]; tools?: readonly unknown[] }) => {
    const { content, calls, usage } = reply(options);
    const unified = calls ? ("tool-calls" as const) : ("stop" as const);
    return { content, finishReason: { unified, raw: unified }, usage, warnings: [] };
  };
  return {
    generate,
    read(path: string) {
      const { output = "", fails = false } = outputs.get(path) ?? {};
      if (fails) throw new Error(output);
      return output;
    },
    begin() {
      turn = new AbortController();
      return turn.signal;
    },
    record: (answers: readonly string[]) => {
      return { requests, summaries: asked.summaries, answers };
    },
    async end() {},
  };
}

type Scripted = Pick<ScriptedServer, "read" | "begin" | "record"> & { end(): Promise<void> };

const schema = z.object({ path: z.string() });

interface Run {
  readonly messages: ModelMessage[];
  readonly signal: AbortSignal;
  /** Takes the messages that a finished step adds, so that they are kept when a later one fails. */
  keep(...added: readonly ModelMessage[]): void;
}

/** A loop that has every turn with `ask`, which returns the answer. */
function loop<Model extends Scripted>(
  open: (script: LoopScript) => Promise<Model> | Model,
  begin: (script: LoopScript, model: Model) => (run: Run) => Promise<string>,
): AdaptedLoop {
  return {
    async run(script) {
      const model = await open(script);
      const ask = begin(script, model);
      const turns: ModelMessage[][] = [];
      const answers: string[] = [];
      for (const { prompt, image, system, rewords, takesBack = 0, ends } of script.turns) {
        turns.length -= takesBack;
        const at = turns.at(-1)?.findIndex(({ role }) => role === "user") ?? -1;
        if (rewords && at >= 0) turns.at(-1)?.splice(at, 1, { role: "user", content: rewords });
        const turn: ModelMessage[] = system ? [{ role: "system", content: system }] : [];
        turn.push({ role: "user", content: image ? withImage(prompt, image) : prompt });
        const messages = [...turns.flat(), ...turn];
        const run = { messages, signal: model.begin(), keep: turn.push.bind(turn) };
        const answer = await ask(run).catch((error: unknown) => {
          if (!ends) throw error;
          return "";
        });
        turns.push(turn);
        answers.push(answer);
      }
      await model.end();
      return model.record(answers);
    },
  };
}

function withImage(text: string, image: string) {
  return [
    { type: "text" as const, text },
    { type: "image" as const, image, mediaType: "image/png" },
  ];
}

const tools = ({ read }: Pick<Scripted, "read">) => ({
  read: tool({
    description: "Reads a file.",
    inputSchema: schema,
    execute: ({ path }) => read(path),
  }),
});
const tools6 = ({ read }: Pick<Scripted, "read">) => ({
  read: tool6({ inputSchema: schema, execute: ({ path }: { path: string }) => read(path) }),
});

/** A server that speaks a provider's protocol, and the provider's own package. */
const serving =
  (models: (urls: LocalProvider["urls"]) => LanguageModelV4) => async (script: LoopScript) => {
    const scripted = await startScriptedServer(script);
    const { server } = scripted;
    return {
      ...scripted,
      model: models(server.urls),
      async end() {
        expect(server.problems).toEqual([]);
        await server.close();
      },
    };
  };

const apiKey = "local";
const responses = serving(({ openai }) =>
  createOpenAI({ apiKey, baseURL: openai }).responses("gpt-5"),
);
const anthropic = serving(({ anthropic: baseURL }) =>
  createAnthropic({ apiKey, baseURL })("claude-sonnet-4-5"),
);
const chat = serving(({ openai }) => createOpenAI({ apiKey, baseURL: openai }).chat("gpt-5"));

/** A server whose template refuses two messages of the user in a row. */
const strict = serving((urls) =>
  createOpenAICompatible({ name: "local", baseURL: urls["openai-compatible"] })("gpt"),
);

const same = {
  maxRetries: 0,
  stopWhen: isStepCount(20),
  allowSystemInMessages: true,
  maxOutputTokens: 1000,
  providerOptions: { openai: { store: false } },
} as const;

const prepared = ({ contextWindow }: LoopScript) =>
  rkatPrepareStep({ contextWindow, chatId: () => "chat" });

/** The answer of a streamed run. The SDK reports errors beside it. */
async function streamedText(options: Parameters<typeof streamText>[0]): Promise<string> {
  const errors: unknown[] = [];
  const result = streamText({ ...options, onError: ({ error }) => void errors.push(error) });
  const [text] = await Promise.allSettled([result.text]);
  if (text.status === "fulfilled" && errors.length === 0) return text.value;
  throw errors[0];
}

/** A refused request ends a run, as `prepareStep` sees no errors. */
const NO_RETRY = ["refusedAbove"] as const;
/** The SDK sends Anthropic no system message after the first, and two user messages where an empty answer was. */
const ANTHROPIC = ["system", "empty answers"] as const;

const LOOPS: Record<string, { readonly loop: AdaptedLoop; readonly without: readonly Without[] }> =
  {
    "generateText of AI SDK 7": {
      without: NO_RETRY,
      loop: loop(responses, (script, { model, ...scripted }) => {
        const prepareStep = prepared(script);
        const { instructions } = script;
        const options = { ...same, model, instructions, tools: tools(scripted), prepareStep };
        return async (run) => (await generateText({ ...options, ...keeping(run) })).text;
      }),
    },
    "streamText of AI SDK 7": {
      without: [...NO_RETRY, ...ANTHROPIC],
      loop: loop(anthropic, (script, { model, ...scripted }) => {
        const prepareStep = prepared(script);
        const { instructions } = script;
        const options = { ...same, model, instructions, tools: tools(scripted), prepareStep };
        return async (run) => await streamedText({ ...options, ...keeping(run) });
      }),
    },
    "a ToolLoopAgent": {
      without: NO_RETRY,
      loop: loop(chat, (script, { model, ...scripted }) => {
        const prepareStep = prepared(script);
        const { instructions } = script;
        const agent = new ToolLoopAgent({
          ...same,
          model,
          instructions,
          tools: tools(scripted),
          prepareStep,
        });
        return async (run) => (await agent.generate(keeping(run))).text;
      }),
    },
    "generateText of AI SDK 6": {
      without: NO_RETRY,
      loop: loop(scriptedModel, (script, model) => {
        const prepareStep = prepared(script);
        return asking6(script, model, { prepareStep });
      }),
    },
    "a wrapped model of AI SDK 7": {
      without: ANTHROPIC,
      loop: loop(anthropic, ({ instructions, contextWindow }, { model: inner, ...scripted }) => {
        const middleware = rkatMiddleware({ contextWindow });
        const model = wrapLanguageModel({ model: inner, middleware });
        const options = { ...same, model, instructions, tools: tools(scripted) };
        return async (run) => (await generateText({ ...options, ...keeping(run) })).text;
      }),
    },
    "a wrapped model of AI SDK 7, streamed": {
      without: [],
      loop: loop(responses, ({ instructions, contextWindow }, { model: inner, ...scripted }) => {
        const middleware = rkatMiddleware({ contextWindow });
        const model = wrapLanguageModel({ model: inner, middleware });
        const options = { ...same, model, instructions, tools: tools(scripted) };
        return async (run) => await streamedText({ ...options, ...keeping(run) });
      }),
    },
    "a wrapped model of AI SDK 6": {
      without: [],
      loop: loop(scriptedModel, (script, model) => {
        const middleware = rkatMiddleware({ contextWindow: script.contextWindow }) as never;
        return asking6(script, model, {}, middleware);
      }),
    },
  };

/** What a run is given, with its messages kept as they come. */
function keeping({ messages, signal, keep }: Run) {
  return {
    messages,
    abortSignal: signal,
    onStepEnd: ({ response }: { readonly response: { readonly messages: ModelMessage[] } }) =>
      keep(...response.messages),
  };
}

function asking6(
  { instructions: system }: LoopScript,
  scripted: ReturnType<typeof scriptedModel>,
  options: object,
  middleware: readonly object[] = [],
) {
  const inner = new MockLanguageModelV3({ doGenerate: scripted.generate as never });
  const model = wrapLanguageModel6({ model: inner, middleware: middleware as never });
  const all = { model, system, tools: tools6(scripted), stopWhen: stepCountIs6(20), ...options };
  return async ({ messages, signal, keep }: Run) => {
    let known = 0;
    const { text } = await generateText6({
      ...all,
      messages: messages as never,
      abortSignal: signal,
      maxRetries: 0,
      onStepFinish({ response }) {
        // In version 6, a step has the messages of the steps before it too.
        keep(...(response.messages.slice(known) as readonly object[] as ModelMessage[]));
        known = response.messages.length;
      },
    });
    return text;
  };
}

describe.each(Object.entries(LOOPS))("%s", (_, { loop: adapted, without }) => {
  const known = remembered(adapted);
  for (const law of adapterLaws) test(law.name, () => law.holds(async () => known));
  test("random conversations keep every promise", { timeout: CAMPAIGN_MS }, () =>
    keepsPromises(adapted, without),
  );
});

describe.each([
  ["prepareStep", false],
  ["a wrapped model", true],
])("a server that wants user and assistant to alternate, with %s", (_, isWrapped) => {
  const known = remembered(
    loop(strict, (script, { model: inner, ...scripted }) => {
      const { instructions, contextWindow } = script;
      const middleware = rkatMiddleware({ contextWindow });
      const model = isWrapped ? wrapLanguageModel({ model: inner, middleware }) : inner;
      const compaction = isWrapped ? {} : { prepareStep: prepared(script) };
      const options = { ...same, model, instructions, tools: tools(scripted), ...compaction };
      return async (run) => (await generateText({ ...options, ...keeping(run) })).text;
    }),
  );
  for (const law of adapterLaws) test(law.name, () => law.holds(async () => known));
});

const words = (count: number) => "harbour ship cargo crane ledger ".repeat(count);

test("your own prepareStep sees the compacted messages, and what it returns counts", async () => {
  const seen: number[] = [];
  const model = new MockLanguageModelV4({
    doGenerate: scriptedModel({
      instructions: "",
      turns: [{ prompt: "", steps: [], answer: "Done." }],
      contextWindow: 1,
      summaries: "written",
    }).generate as never,
  });
  const messages: ModelMessage[] = Array.from({ length: 21 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index} ${words(20)}`,
  }));
  const last: ModelMessage = { role: "user", content: "Only this." };
  await generateText({
    model,
    messages,
    tools: { read: tool({ inputSchema: schema }) },
    prepareStep: rkatPrepareStep({
      contextWindow: 2_000,
      next: (step) => {
        seen.push(step.messages.length);
        return { messages: [last] };
      },
    }),
  });
  expect(seen[0]).toBeLessThan(messages.length);
  const sent = model.doGenerateCalls.at(-1)?.prompt;
  expect(sent).toEqual([{ role: "user", content: [{ type: "text", text: "Only this." }] }]);
});

test("OpenAI is told to store nothing of a request for a summary", async () => {
  const model = new MockLanguageModelV4({
    doGenerate: scriptedModel({
      instructions: "",
      turns: [{ prompt: "", steps: [], answer: "Done." }],
      contextWindow: 1,
      summaries: "written",
    }).generate as never,
  });
  const messages: ModelMessage[] = Array.from({ length: 21 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index} ${words(20)}`,
  }));
  await generateText({
    model,
    messages,
    tools: { read: tool({ inputSchema: schema }) },
    prepareStep: rkatPrepareStep({ contextWindow: 2_000 }),
  });
  const asked = model.doGenerateCalls.filter((call) => !call.tools?.length);
  expect(asked.map((call) => call.providerOptions?.openai?.store)).toEqual([false]);
});

test("a refused request is made smaller and sent once more", async () => {
  const sizes: number[] = [];
  const inner = new MockLanguageModelV4({
    doGenerate: (async ({ prompt, tools }: { prompt: object[]; tools?: object[] }) => {
      if (tools?.length) {
        sizes.push(prompt.length);
        if (sizes.length === 1) throw new Error("prompt is too long: 9000 tokens > 8000 maximum");
      }
      return {
        content: [
          { type: "text", text: "The harbour has a ship with cargo, a crane and a ledger." },
        ],
        finishReason: { unified: "stop", raw: "stop" },
        usage: { inputTokens: { total: 10 }, outputTokens: { total: 10 } },
        warnings: [],
      };
    }) as never,
  });
  const { text } = await generateText({
    model: wrapLanguageModel({ model: inner, middleware: rkatMiddleware() }),
    tools: { read: tool({ inputSchema: schema }) },
    maxRetries: 0,
    messages: Array.from({ length: 21 }, (_, index) => ({
      role: index % 2 === 0 ? ("user" as const) : ("assistant" as const),
      content: `${index} ${words(20)}`,
    })),
  });
  expect(text).toContain("harbour");
  expect(sizes).toHaveLength(2);
  expect(sizes[1]).toBeLessThan(sizes[0] ?? 0);
});

const question = (index: number): ModelMessage[] => [
  { role: "user", content: `Question ${index} ${words(20)}` },
  { role: "assistant", content: `Answer ${index} ${words(20)}` },
];
const questions = (count: number) =>
  Array.from({ length: count }, (_, index) => question(index)).flat();

/** A model that refuses a stream's first request inside the stream, before it says anything. */
function refusingInStream(error: unknown, { after = [] as object[] } = {}) {
  const sizes: number[] = [];
  const model = new MockLanguageModelV4({
    doGenerate: (async () => ({
      content: [{ type: "text", text: "The harbour has a ship with cargo, a crane and a ledger." }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: { inputTokens: { total: 10 }, outputTokens: { total: 10 } },
      warnings: [],
    })) as never,
    doStream: (async ({ prompt }: { prompt: object[] }) => {
      sizes.push(prompt.length);
      const said = [
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: `Try ${sizes.length}.` },
        { type: "text-end", id: "1" },
        {
          type: "finish",
          finishReason: { unified: "stop", raw: "stop" },
          usage: { inputTokens: { total: 10 }, outputTokens: { total: 10 } },
        },
      ];
      const start = { type: "stream-start", warnings: [] };
      const chunks =
        sizes.length === 1 ? [start, ...after, { type: "error", error }] : [start, ...said];
      return { stream: simulateReadableStream({ chunks }) };
    }) as never,
  });
  return { model, sizes };
}

async function streamed(model: MockLanguageModelV4) {
  const parts: { readonly type: string }[] = [];
  const result = streamText({
    model: wrapLanguageModel({ model, middleware: rkatMiddleware() }),
    messages: [...questions(10), { role: "user", content: "And now?" }],
    maxRetries: 0,
    onError: () => {},
  });
  for await (const part of result.stream) parts.push(part);
  return parts;
}

test("a request that is refused inside the stream is made smaller and sent once more", async () => {
  const { model, sizes } = refusingInStream({
    message: "prompt is too long: 9000 tokens > 8000 maximum",
  });
  const parts = await streamed(model);
  expect(sizes).toHaveLength(2);
  expect(sizes[1]).toBeLessThan(sizes[0] ?? 0);
  expect(parts.filter(({ type }) => type === "error")).toEqual([]);
  expect(parts).toContainEqual(expect.objectContaining({ type: "text-delta", text: "Try 2." }));
});

test("a stream that has begun, or fails otherwise, is not asked for again", async () => {
  const overflow = { message: "prompt is too long: 9000 tokens > 8000 maximum" };
  const begun = [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "Well," },
  ];
  for (const { model, sizes } of [
    refusingInStream(overflow, { after: begun }),
    refusingInStream(new Error("overloaded")),
  ]) {
    const parts = await streamed(model);
    expect(sizes).toHaveLength(1);
    expect(parts.filter(({ type }) => type === "error")).toHaveLength(1);
  }
});

test("a wrapped model with stores pays for nothing again after a restart", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  let summaries = 0;
  const prompts: object[][] = [];
  const ask = async (messages: ModelMessage[]) => {
    const middleware = rkatMiddleware({
      stores,
      contextWindow: 2_000,
      recallTokens: 0,
      summarize: async () => {
        summaries += 1;
        return `The user asked questions about the harbour, its ship and its cargo. Part ${summaries}.`;
      },
    });
    const model = new MockLanguageModelV4({
      doGenerate: (async ({ prompt }: { prompt: object[] }) => {
        prompts.push(prompt);
        return {
          content: [{ type: "text", text: "Yes." }],
          finishReason: { unified: "stop", raw: "stop" },
          usage: { inputTokens: { total: undefined }, outputTokens: { total: 1 } },
          warnings: [],
        };
      }) as never,
    });
    await generateText({
      model: wrapLanguageModel({ model, middleware }),
      messages,
      providerOptions: { rkat: { chatId: "harbour" } },
    });
    await middleware.close();
  };
  const chat: ModelMessage[] = [...questions(20), { role: "user", content: "And now?" }];
  await ask(chat);
  expect(summaries).toBe(1);
  await ask([
    ...chat,
    { role: "assistant", content: "Yes." },
    { role: "user", content: "And then?" },
  ]);
  expect(summaries).toBe(1);
  expect(prompts[1]?.slice(0, prompts[0]?.length)).toEqual(prompts[0]);
  await stores.close();
});

test("a wrapped model whose system prompt has the time in it pays for no summary twice", async () => {
  let summaries = 0;
  const middleware = rkatMiddleware({
    contextWindow: 2_000,
    summarize: async () => {
      summaries += 1;
      return "The user asked questions about the harbour, its ship and its cargo.";
    },
  });
  const { generate } = scriptedModel({
    instructions: "",
    turns: [],
    contextWindow: 1,
    summaries: "written",
  });
  const inner = new MockLanguageModelV4({ doGenerate: generate as never });
  const model = wrapLanguageModel({ model: inner, middleware });
  const messages: ModelMessage[] = [...questions(20), { role: "user", content: "And now?" }];
  for (const minute of [1, 2, 3]) {
    const instructions = `It is 10:0${minute}.`;
    await generateText({ model, instructions, messages, tools: tools({ read: () => "" }) });
    const [system] = inner.doGenerateCalls.at(-1)?.prompt ?? [];
    expect(system).toMatchObject({ role: "system", content: instructions });
    messages.push({ role: "assistant", content: "Yes." }, { role: "user", content: "And then?" });
  }
  expect(summaries).toBe(1);
});

test("a wrapped model with stores is told what memory has for a question, at each step the same", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  const sessions = createSessionService({ model: "none", stores });
  const { sessionId } = await sessions.createSession({});
  const said = [{ role: "user" as const, content: "The staging harbour listens on port 4310." }];
  await sessions.appendMessages({ sessionId, messages: said });
  const middleware = rkatMiddleware({ stores, contextWindow: 2_000, summarize: "fallback" });
  const prompts: { role: string; content: { text: string }[] }[][] = [];
  const model = new MockLanguageModelV4({
    doGenerate: (async ({ prompt }: { prompt: (typeof prompts)[number] }) => {
      prompts.push(prompt);
      if (prompts.length === 3) throw new Error("prompt is too long: 9000 tokens > 8000 maximum");
      return {
        content: [{ type: "text", text: "Port 4310." }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: { inputTokens: { total: 10 }, outputTokens: { total: 1 } },
        warnings: [],
      };
    }) as never,
  });
  const ask = (messages: ModelMessage[]) =>
    generateText({ model: wrapLanguageModel({ model, middleware }), messages, maxRetries: 0 });
  const chat: ModelMessage[] = [
    { role: "user", content: "Which port does the staging harbour listen on?" },
  ];
  await ask(chat);
  const [first = []] = prompts;
  expect(first[0]?.content[0]?.text).toContain("listens on port 4310");
  expect(first.at(-1)?.content).toEqual([
    { type: "text", text: "Which port does the staging harbour listen on?" },
  ]);
  chat.push(
    { role: "assistant", content: "Port 4310." },
    { role: "user", content: "Thanks a lot!" },
  );
  await ask(chat);
  expect(prompts[1]?.slice(0, first.length)).toEqual(first);
  expect(prompts[1]?.at(-1)?.content).toEqual([{ type: "text", text: "Thanks a lot!" }]);
  expect(JSON.stringify(prompts[1]).match(/Recalled from memory/g)).toHaveLength(1);
  // The provider refuses the third request. The fourth is smaller, and no memory got into a summary.
  await ask([
    ...chat,
    ...questions(8),
    { role: "user", content: "Which port does the staging harbour listen on?" },
  ]);
  expect(prompts[3]?.length).toBeLessThan(prompts[2]?.length ?? 0);
  expect(prompts[3]?.at(-1)?.content).toEqual(first.at(-1)?.content);
  expect(JSON.stringify(prompts[3]).match(/Recalled from memory/g)?.length ?? 0).toBeLessThan(2);
  await middleware.close();
  await sessions.close();
  await stores.close();
});

test("an agent that is a tool has a chat of its own: its task is no person's word, and it begins with what memory has for it", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  const sessions = createSessionService({ model: "none", stores });
  const { sessionId } = await sessions.createSession({});
  const said = [{ role: "user" as const, content: "The staging harbour listens on port 4310." }];
  await sessions.appendMessages({ sessionId, messages: said });
  const pin = await sessions.addMemory({ content: "Never use port 8080." });
  await sessions.editMemory({ id: pin.id, pinned: true });
  const asked: { parent: unknown[][]; child: unknown[][] } = { parent: [], child: [] };
  const modelOf = (who: keyof typeof asked, answers: readonly object[]) =>
    new MockLanguageModelV4({
      doGenerate: (async ({ prompt }: { prompt: unknown[] }) => {
        asked[who].push(prompt);
        const part = answers[asked[who].length - 1];
        const unified = part && "toolName" in part ? "tool-calls" : "stop";
        return {
          content: [part],
          finishReason: { unified, raw: unified },
          usage: { inputTokens: { total: undefined }, outputTokens: { total: 1 } },
          warnings: [],
        };
      }) as never,
    });
  const steps = (chatId: () => string) =>
    rkatPrepareStep({ stores, contextWindow: 2_000, summarize: "fallback", chatId });
  const ofParent = steps(() => "parent");
  const ofChild = steps(() => `child-${asked.child.length}`);
  const tasks = ["Which port does the staging harbour listen on?", "Always use berth 9."];
  const child = new ToolLoopAgent({
    model: modelOf("child", [
      { type: "text", text: "The pilot says: port 4310." },
      { type: "text", text: "I shall." },
    ]),
    prepareStep: ofChild,
  });
  const parent = new ToolLoopAgent({
    model: modelOf("parent", [
      ...tasks.map((task, index) => ({
        type: "tool-call",
        toolCallId: `p${index}`,
        toolName: "pilot",
        input: JSON.stringify({ task }),
      })),
      { type: "text", text: "Port 4310." },
    ]),
    tools: {
      pilot: tool({
        inputSchema: z.object({ task: z.string() }),
        execute: async ({ task: prompt }) => (await child.generate({ prompt })).text,
      }),
    },
    prepareStep: ofParent,
  });
  await parent.generate({
    messages: [...questions(20), { role: "user", content: "Ask the pilot." }],
  });
  await Promise.all([ofParent.close(), ofChild.close()]);

  // The child was sent its task alone, with what the person pinned and what memory has for it.
  const [first, second] = asked.child.map((prompt) => JSON.stringify(prompt));
  expect(asked.child).toHaveLength(2);
  expect(first).toContain("listens on port 4310");
  for (const begin of [first, second]) {
    expect(begin).toContain("Never use port 8080.");
    expect(begin).not.toContain("Ask the pilot.");
  }
  // Its answer is the result of the parent's call.
  const results = (asked.parent.at(-1) ?? []).filter((each) =>
    JSON.stringify(each).includes("port 4310"),
  );
  expect(results).toMatchObject([
    {
      role: "tool",
      content: [{ toolCallId: "p0", output: { value: "The pilot says: port 4310." } }],
    },
  ]);
  const chats = new Map<string, { author: string | undefined; text: string }[]>();
  for (const { id } of await stores.sessions.list({})) {
    if (id === sessionId) continue;
    const words: { author: string | undefined; text: string }[] = [];
    for await (const { event } of stores.events.read(id, 0)) {
      if (event.type !== "message_added" || event.message.role !== "user") continue;
      words.push({ author: event.origin?.author, text: JSON.stringify(event.message.content) });
    }
    chats.set(id, words);
  }
  const all = [...chats.values()].flat();
  expect(all.length).toBeGreaterThan(0);
  expect(all.filter(({ author }) => author !== "program")).toEqual([]);
  for (const [id, words] of chats) {
    if (!id.includes("child")) expect(JSON.stringify(words)).not.toContain("berth 9");
  }
  expect(JSON.stringify(await sessions.listKnowledge({}))).not.toContain("berth 9");
  await sessions.close();
  await stores.close();
});

test("a call that waits for approval stays, with what was asked", async () => {
  const prepareStep = rkatPrepareStep({ contextWindow: 1_000, summarize: "fallback" });
  const pending: ModelMessage[] = [
    { role: "user", content: "Delete it." },
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: "c1", toolName: "delete", input: {} },
        { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" },
      ],
    },
    {
      role: "tool",
      content: [{ type: "tool-approval-response", approvalId: "a1", approved: true }],
    },
  ];
  const old: ModelMessage[] = Array.from({ length: 20 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index} ${words(30)}`,
  }));
  const { messages } = await prepareStep({ messages: [...old, ...pending], steps: [], model: "m" });
  expect(messages.length).toBeLessThan(old.length);
  expect(messages.slice(-3)).toEqual(pending);
});

test("the memory tools find what an earlier session had", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  const sessions = createSessionService({ model: "none", stores });
  const { sessionId } = await sessions.createSession({});
  const said = [{ role: "user" as const, content: "The staging harbour listens on port 4310." }];
  await sessions.appendMessages({ sessionId, messages: said });
  const memory = memoryTools({ stores });
  const results: unknown[] = [];
  const calls = [
    { toolName: "memory_search", input: '{"query":"port of the staging harbour"}' },
    { toolName: "search_project_history", input: '{"query":"staging port"}' },
    { toolName: "memory_search", input: '{"query":7}' },
  ];
  const model = new MockLanguageModelV4({
    doGenerate: (async () => {
      const call = calls.shift();
      return {
        content: call
          ? [{ type: "tool-call", toolCallId: `c${calls.length}`, ...call }]
          : [{ type: "text", text: "Port 4310." }],
        finishReason: { unified: call ? "tool-calls" : "stop", raw: "" },
        usage: { inputTokens: { total: 10 }, outputTokens: { total: 10 } },
        warnings: [],
      };
    }) as never,
  });
  const { steps } = await generateText({
    model,
    prompt: "Which port?",
    tools: memory.tools,
    stopWhen: isStepCount(5),
  });
  for (const { toolResults } of steps) results.push(...toolResults.map(({ output }) => output));
  expect(results).toEqual([
    expect.stringContaining("port 4310"),
    expect.stringContaining("port 4310"),
    expect.stringContaining("invalid_arguments"),
  ]);
  await memory.close();
  await sessions.close();
  await stores.close();
});

test("an abort during a summary ends the run when the summary is there, and the model is not called", async () => {
  const stop = new AbortController();
  const provider = await startLocalProvider();
  onTestFinished(() => provider.close());
  const model = createOpenAI({ apiKey: "local", baseURL: provider.urls.openai })("gpt-5.2");
  const messages: ModelMessage[] = Array.from({ length: 41 }, (_, at) => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: `${at} ${"harbour ship cargo crane ledger ".repeat(40)}`,
  }));
  const run = generateText({
    model,
    messages,
    maxRetries: 0,
    abortSignal: stop.signal,
    prepareStep: rkatPrepareStep({
      contextWindow: 4_000,
      async summarize() {
        stop.abort(new Error("enough"));
        return "They talked about ships, cranes and the ledger of the harbour.";
      },
    }),
  });
  await expect(run).rejects.toThrow("enough");
  expect(provider.billed).toEqual([]);
});

test("a model that is only a name is refused at the first step, unless something else writes summaries", async () => {
  const step = { messages: [], steps: [], model: "anthropic/claude" };
  await expect(rkatPrepareStep()(step)).rejects.toThrow('The model "anthropic/claude" is a name');
});
