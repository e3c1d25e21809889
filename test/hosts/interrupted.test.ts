import { rmSync } from "node:fs";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { defineTool } from "@earendil-works/pi-coding-agent";
import { tool as langChainTool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { Agent as MastraAgent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import {
  Agent,
  type AgentInputItem,
  tool as agentsTool,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
} from "@openai/agents";
import { isStepCount, type ModelMessage, streamText, tool, wrapLanguageModel } from "ai";
import fc from "fast-check";
import { type AgentMiddleware, createAgent, HumanMessage } from "langchain";
import OpenAI from "openai";
import { rkatMiddleware, rkatPrepareStep } from "rkat/ai-sdk";
import { rkatMiddleware as rkatLangChain } from "rkat/langchain";
import { rkatProcessor } from "rkat/mastra";
import { rkatSession } from "rkat/openai-agents";
import { sqliteStores } from "rkat/sqlite";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  isStep,
  type LocalProvider,
  startLocalProvider,
} from "../../examples/hosts/local-provider.ts";
import type { ProviderReply } from "../support/provider-server/reply.ts";
import { trials } from "../support/trials.ts";
import { startPi } from "./pi-session.ts";
import { sentMessages } from "./sent-messages.ts";

// Conversations whose turns are stopped at any moment, whose parallel calls end in any order or never, and whose provider
// changes, in the loops of the frameworks' own packages.

setTracingDisabled(true);

interface Lab {
  readonly urls: LocalProvider["urls"];
  readonly contextWindow: number;
  /** The result of a call, when it comes. */
  read(path: string): Promise<string>;
}

interface Talk {
  ask(prompt: string, signal: AbortSignal, provider: 0 | 1): Promise<string>;
  close(): Promise<void>;
}

const INSTRUCTIONS = "You look after the harbour.";
const STANDING = "Never use the network.";
const READ = { name: "read", description: "Reads a file." };
const path = z.object({ path: z.string() });

function aiSdk({ urls, contextWindow, read }: Lab, isWrapped: boolean): Talk {
  const stores = sqliteStores({ path: ":memory:" });
  const prepareStep = rkatPrepareStep({ contextWindow, stores, chatId: () => "one" });
  const middleware = rkatMiddleware({ contextWindow, stores });
  const models = [
    createOpenAI({ apiKey: "local", baseURL: urls.openai }).responses("gpt-5"),
    createAnthropic({ apiKey: "local", baseURL: urls.anthropic })("claude-sonnet-4-5"),
  ] as const;
  const messages: ModelMessage[] = [];
  return {
    async ask(prompt, abortSignal, provider) {
      messages.push({ role: "user", content: prompt });
      const inner = models[provider];
      const result = streamText({
        model: isWrapped ? wrapLanguageModel({ model: inner, middleware }) : inner,
        instructions: INSTRUCTIONS,
        messages: [...messages],
        tools: {
          read: tool({ ...READ, inputSchema: path, execute: ({ path: of }) => read(of) }),
        },
        stopWhen: isStepCount(50),
        maxRetries: 0,
        providerOptions: { openai: { store: false }, rkat: { chatId: "one" } },
        abortSignal,
        ...(isWrapped ? {} : { prepareStep }),
        onStepEnd: ({ response }) => void messages.push(...response.messages),
        onError: () => {},
      });
      await result.consumeStream({ onError: () => {} });
      return await result.text;
    },
    async close() {
      await prepareStep.close();
      await middleware.close();
      await stores.close();
    },
  };
}

function langChain({ urls, contextWindow, read }: Lab): Talk {
  const stores = sqliteStores({ path: ":memory:" });
  const rkat = rkatLangChain({ contextWindow, stores });
  const configuration = { baseURL: urls.openai };
  const checkpointer = new MemorySaver();
  const agents = [false, true].map((useResponsesApi) =>
    createAgent({
      model: new ChatOpenAI({
        ...{
          model: "gpt-5",
          apiKey: "local",
          maxRetries: 0,
          configuration,
          useResponsesApi,
          zdrEnabled: true,
        },
      }),
      tools: [
        langChainTool(async ({ path: of }: { path: string }) => await read(of), {
          ...READ,
          schema: path,
        } as never),
      ],
      systemPrompt: INSTRUCTIONS,
      middleware: [rkat as AgentMiddleware],
      checkpointer,
    }),
  );
  return {
    async ask(prompt, signal, provider) {
      const config = { recursionLimit: 200, configurable: { thread_id: "one" }, signal };
      const asked = { messages: [new HumanMessage(prompt)] };
      const state = await agents[provider]?.invoke(asked, config);
      return state?.messages.at(-1)?.text ?? "";
    },
    async close() {
      await rkat.close();
      await stores.close();
    },
  };
}

function mastra({ urls, contextWindow, read }: Lab): Talk {
  const stores = sqliteStores({ path: ":memory:" });
  const rkat = rkatProcessor({ contextWindow, stores });
  const execute = async ({ path: of }: { path: string }) => await read(of);
  const models = [
    { providerId: "local", modelId: "gpt", url: urls.openai, apiKey: "none" },
    createAnthropic({ apiKey: "local", baseURL: urls.anthropic })("claude-sonnet-4-5"),
  ];
  const kept = new MockMemory();
  const agents = models.map(
    (model) =>
      new MastraAgent({
        ...{ id: "one", name: "One", instructions: INSTRUCTIONS, maxRetries: 0, model },
        tools: {
          read: createTool({ id: "read", ...READ, inputSchema: path, execute }),
          ...rkat.tools,
        },
        memory: kept,
        inputProcessors: [rkat],
        errorProcessors: [rkat],
      } as never),
  );
  const memory = { thread: "one", resource: "ada", options: { lastMessages: 1_000 } };
  return {
    async ask(prompt, abortSignal, provider) {
      const options = { maxSteps: 50, memory, abortSignal };
      const answer = await agents[provider]?.generate(prompt, options);
      return answer?.steps.at(-1)?.text ?? "";
    },
    async close() {
      await rkat.close();
      await stores.close();
    },
  };
}

function openAiAgents({ urls, contextWindow, read }: Lab): Talk {
  const stores = sqliteStores({ path: ":memory:" });
  const client = new OpenAI({ apiKey: "local", baseURL: urls.openai, maxRetries: 0 });
  const models = [
    new OpenAIResponsesModel(client, "gpt-5"),
    new OpenAIChatCompletionsModel(client, "gpt-5"),
  ] as const;
  const session = rkatSession<AgentInputItem>({ stores, model: models[0], contextWindow });
  const agents = models.map(
    (model) =>
      new Agent({
        name: "One",
        instructions: INSTRUCTIONS,
        tools: [agentsTool({ ...READ, parameters: path, execute: ({ path: of }) => read(of) })],
        model,
        modelSettings: { store: false },
      }),
  );
  return {
    async ask(prompt, signal, provider) {
      const options = { session, callModelInputFilter: session.filter, maxTurns: 50, signal };
      const { finalOutput } = await run(agents[provider] as Agent, prompt, options);
      return String(finalOutput);
    },
    async close() {
      await session.close();
      await stores.close();
    },
  };
}

async function pi({ urls, contextWindow, read }: Lab): Promise<Talk> {
  const cost = { input: 1, output: 8, cacheRead: 0.1, cacheWrite: 0 };
  const shared = {
    apiKey: "none",
    models: [{ id: "sailor", contextWindow, maxTokens: 500, cost }],
  };
  const tool = defineTool({
    ...{ ...READ, label: "read", parameters: z.toJSONSchema(path) as never },
    execute: async (_: string, { path: of }: { path: string }) => ({
      content: [{ type: "text", text: await read(of) }],
      details: undefined,
    }),
  } as never);
  const { home, session, models, problems } = await startPi({
    providers: {
      completions: { ...shared, api: "openai-completions", baseUrl: urls.openai },
      responses: { ...shared, api: "openai-responses", baseUrl: urls.openai },
    },
    systemPrompt: INSTRUCTIONS,
    ...{ reserveTokens: 0.2 * contextWindow, keepRecentTokens: 0.1 * contextWindow, tool },
  });
  return {
    async ask(prompt, signal, provider) {
      const model = models[provider];
      if (!model) throw new Error(`pi has no provider ${provider}.`);
      await session.setModel(model);
      let stopping: Promise<void> | undefined;
      const stop = () => {
        session.abortCompaction();
        stopping = session.abort();
      };
      signal.addEventListener("abort", stop, { once: true });
      await session.prompt(prompt).finally(() => signal.removeEventListener("abort", stop));
      await stopping;
      if (problems.length > 0) throw new Error(problems.join(" "));
      const said = session.state.messages.findLast(({ role }) => role === "assistant");
      if (said?.role !== "assistant") throw new Error("pi has no answer.");
      if (said.stopReason !== "stop") throw new Error(said.errorMessage ?? said.stopReason);
      return said.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    },
    async close() {
      session.dispose();
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface Host {
  open(lab: Lab): Talk | Promise<Talk>;
  /** Whether it keeps nothing of a turn that was stopped, so that the prompt can be given again. */
  readonly drops?: boolean;
}

const HOSTS: Readonly<Record<string, Host>> = {
  "AI SDK, prepareStep": { open: (lab) => aiSdk(lab, false) },
  "AI SDK, a wrapped model": { open: (lab) => aiSdk(lab, true) },
  LangChain: { open: langChain },
  Mastra: { open: mastra },
  "OpenAI Agents": { open: openAiAgents, drops: true },
  pi: { open: pi },
};

/** Where a turn is stopped. A summary and a call may not be asked for in it: then it is not. */
type Stop = "request" | "stream" | "call" | "summary";

const turn = fc.record({
  steps: fc.array(
    fc.record({
      calls: fc.array(
        fc.record({
          letters: fc.integer({ min: 20, max: 2_500 }),
          delay: fc.integer({ min: 0, max: 6 }),
          fails: fc.constantFrom(false, false, false, true),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    }),
    { maxLength: 4 },
  ),
  stop: fc.constantFrom<Stop | undefined>(
    ...[..."1234"].map(() => undefined),
    "request",
    "stream",
    "call",
    "summary",
  ),
  at: fc.nat({ max: 4 }),
  provider: fc.constantFrom<0 | 1>(0, 0, 1),
});

type Turn = typeof turn extends fc.Arbitrary<infer Value> ? Value : never;

const [call, whole] = [
  { letters: 2_400, delay: 0, fails: false },
  { stop: undefined, at: 0, provider: 0 },
] as const;
const busy = {
  ...whole,
  steps: [{ calls: [call, { ...call, delay: 6 }] }, { calls: [call, call, call] }],
};
const short = { ...whole, steps: [] };

/** Conversations that once broke a promise: a run stopped between its calls left some without a result, and one stopped during a summary lost its prompt. */
const FOUND: readonly (readonly Turn[])[] = [
  [short, { ...busy, stop: "call", at: 1 }, short, busy],
  [busy, { ...busy, stop: "summary" }, short],
];

/** One conversation, with what was wrong in it. */
async function converse({ open, drops = false }: Host, turns: readonly Turn[]): Promise<string[]> {
  const wrong: string[] = [];
  let queue: (() => ProviderReply | Promise<ProviderReply>)[] = [];
  let stopsSummary = false;
  let stopped = new AbortController();
  const never = () => new Promise<never>(() => {});
  const stop = (turn = stopped) => turn.abort(new Error("stopped by the user"));
  const results = new Map<string, () => Promise<string>>();
  const server = await startLocalProvider({
    answer: () => queue.shift()?.() ?? "Nothing is left to say.",
    summary() {
      if (stopsSummary) stop();
      return "Tasks at the harbour were done: cargo, crane and ledger.";
    },
  });
  const talk = await open({
    urls: server.urls,
    contextWindow: 4_000,
    read: async (of) => (await results.get(of)?.()) ?? "There is no such file.",
  });
  const ends = async (what: string, work: Promise<unknown>) => {
    const late = new Promise((done) => setTimeout(() => done("late"), 5_000).unref());
    if ((await Promise.race([work, late])) === "late") wrong.push(`${what} does not end`);
  };
  let seen = 0;
  let before = "";
  for (const [number, { steps, stop: planned, at, provider }] of turns.entries()) {
    const kind = drops && number === 0 ? undefined : planned;
    stopped = new AbortController();
    const { signal } = stopped;
    const where = Math.min(at, steps.length);
    stopsSummary = kind === "summary";
    queue = [...steps, undefined].map((step, index) => () => {
      const isHere = index === where;
      if (isHere && kind === "request") {
        stop();
        return never();
      }
      const calls = (step?.calls ?? []).map((call, place) => {
        const id = `call_${number}_${index}_${place}`;
        const of = `${id}.md`;
        results.set(of, async () => {
          if (isHere && kind === "call" && place === at % (step?.calls.length ?? 1)) stop();
          await new Promise((done) => setTimeout(done, call.delay));
          signal.throwIfAborted();
          if (call.fails) throw new Error(`${of} cannot be read.`);
          return `${of}: ${"x y ".repeat(call.letters / 4)}`;
        });
        return { id, name: "read", args: { path: of } };
      });
      const reply = step ? { toolCalls: calls } : { text: `Task ${number} is done.` };
      if (!isHere || kind !== "stream") return reply;
      setTimeout(stop, 10, stopped);
      return { text: "I begin", ...reply, interruption: "hang" };
    });
    const prompt = `${number === 0 ? `${STANDING} ` : ""}Task ${number}: berth ${number * 7}?`;
    const asking = talk.ask(prompt, signal, provider).catch((error: unknown) => `failed: ${error}`);
    const gaveUp = new Promise<string>((done) => {
      setTimeout(() => done("hangs"), 20_000).unref();
      signal.addEventListener("abort", () => setTimeout(() => done("hangs"), 5_000).unref());
    });
    const answer = await Promise.race([asking, gaveUp]);
    if (signal.aborted) {
      // A request that was on its way arrives, and is given up.
      await new Promise((done) => setTimeout(done, 30));
      await ends("a request", Promise.all(server.requests.map(({ closed }) => closed)));
    }
    const say = (what: string) =>
      wrong.push(`turn ${number} (${kind ?? "whole"} ${where}): ${what}`);
    if (answer === "hangs") say("goes on after it was stopped");
    if (!signal.aborted && answer !== `Task ${number} is done.`) say(answer);
    for (; seen < server.requests.length; seen += 1) {
      const { body } = server.requests[seen] ?? { body: {} };
      if (!isStep(body)) continue;
      const messages = sentMessages(body);
      const text = JSON.stringify(messages);
      if (!text.includes(prompt)) say(`request ${seen} lacks its prompt`);
      if (!text.includes(STANDING)) say(`request ${seen} lacks the standing instruction`);
      if (!text.includes(before)) say(`request ${seen} lacks the prompt before`);
      const called = messages.flatMap((message) =>
        message.role === "block_assistant"
          ? message.blocks.flatMap((block) =>
              block.block_type === "tool_use" ? [block.data.id] : [],
            )
          : [],
      );
      const answered = messages.flatMap((message) =>
        message.role === "tool_results" ? message.results.map((result) => result.tool_use_id) : [],
      );
      if (new Set(called).size < called.length) say(`request ${seen} has a call twice`);
      if (called.sort().join() !== answered.sort().join())
        say(`request ${seen} has a call or a result alone`);
    }
    before = drops && signal.aborted ? "" : prompt;
  }
  wrong.push(...server.problems);
  await ends("rkat", talk.close());
  await ends("a request", Promise.all(server.requests.map(({ closed }) => closed)));
  await server.close();
  return wrong;
}

test.each(Object.entries(HOSTS))(
  "%s: a turn that is stopped anywhere leaves the next one whole",
  { timeout: 3_600_000 },
  async (_, host) => {
    for (const turns of FOUND) expect(await converse(host, turns)).toEqual([]);
    const property = fc.asyncProperty(
      fc.array(turn, { minLength: 4, maxLength: 12 }),
      async (turns) => {
        expect(await converse(host, turns)).toEqual([]);
      },
    );
    await fc.assert(property, { numRuns: trials(2, 300), endOnFailure: true });
  },
);
