import { join } from "node:path";
import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import { type RkatProcessorOptions, rkatProcessor } from "rkat/mastra";
import { sqliteStores } from "rkat/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  type LocalProviderOptions,
  startLocalProvider,
} from "../../examples/hosts/local-provider.ts";
import { type AdaptedLoop, adapterLaws } from "../../src/testing/adapter-laws.ts";
import { CAMPAIGN_MS, keepsPromises } from "./random-script.ts";
import { remembered, startScriptedServer } from "./scripted-server.ts";
import { sentMessages } from "./sent-messages.ts";
import { testFolder } from "./test-folder.ts";

function readTool(output: (path: string) => string) {
  return createTool({
    id: "read",
    description: "Reads a file.",
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }) => output(path),
  });
}

function agentOf(
  url: string,
  options: RkatProcessorOptions & {
    output(path: string): string;
    instructions?: string | (() => string);
  },
  memory = new MockMemory(),
) {
  const { output, instructions = "", ...settings } = options;
  const rkat = rkatProcessor(settings);
  const agent = new Agent({
    id: "sailor",
    name: "Sailor",
    instructions,
    model: { providerId: "local", modelId: "gpt", url, apiKey: "none" },
    tools: { read: readTool(output), ...rkat.tools },
    memory,
    inputProcessors: [rkat],
    errorProcessors: [rkat],
    maxRetries: 0,
  });
  const ask = (prompt: Parameters<Agent["generate"]>[0], abortSignal?: AbortSignal) =>
    agent.generate(prompt, {
      maxSteps: 100,
      ...(abortSignal ? { abortSignal } : {}),
      memory: { thread: "one", resource: "ada", options: { lastMessages: 1_000 } },
    });
  return { ask, memory, close: rkat.close };
}

/** A strict server refuses two messages of the user in a row. */
const loop = (isStrict: boolean): AdaptedLoop => ({
  async run(script) {
    const { server, read, begin, record } = await startScriptedServer(script);
    const { contextWindow, instructions } = script;
    const url = server.urls[isStrict ? "openai-compatible" : "openai"];
    const { ask } = agentOf(url, { contextWindow, instructions, output: read });
    const answers: string[] = [];
    for (const { prompt, image, ends } of script.turns) {
      try {
        const { steps } = await ask(image ? withImage(prompt, image) : prompt, begin());
        answers.push(ends ? "" : (steps.at(-1)?.text ?? ""));
      } catch (error) {
        if (!ends) throw error;
        answers.push("");
      }
    }
    expect(server.problems).toEqual([]);
    await server.close();
    return record(answers);
  },
});

function withImage(text: string, image: string): Parameters<Agent["generate"]>[0] {
  const picture = { type: "image", image, mimeType: "image/png" } as const;
  return [{ role: "user", content: [{ type: "text", text }, picture] }];
}

describe("a conversation in a thread of Mastra", () => {
  const kept = remembered(loop(false));
  for (const law of adapterLaws) test(law.name, () => law.holds(async () => kept));
  // Mastra does not keep messages of the system in a thread, and the thread is Mastra's to change.
  test("random conversations keep every promise", { timeout: CAMPAIGN_MS }, () =>
    keepsPromises(kept, ["system", "rewords"]),
  );
});

describe("a server that wants user and assistant to alternate", () => {
  const kept = remembered(loop(true));
  for (const law of adapterLaws) test(law.name, () => law.holds(async () => kept));
});

const LONG = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ".repeat(
  12,
);

async function open(options: RkatProcessorOptions, provider: LocalProviderOptions) {
  const server = await startLocalProvider(provider);
  onTestFinished(() => server.close());
  const output = (path: string) => `${path} has the number ${path.length}. ${LONG}`;
  const opened = agentOf(server.urls.openai, { ...options, output });
  onTestFinished(() => opened.close());
  return { server, ...opened };
}

const reads = (steps: number) => (step: number) =>
  step < steps ? { name: "read", args: { path: `part-${step}.ts` } } : undefined;

test("when the provider calls the prompt too long, it is compacted and sent once more", async () => {
  const { server, ask } = await open(
    { contextWindow: 100_000 },
    { contextWindow: 2_500, call: reads(20) },
  );
  expect((await ask("Read twenty parts.")).text).toContain("Done after 20 calls.");
  expect(server.billed.map(({ kind }) => kind)).toContain("refused");
  expect(server.problems).toEqual([]);
});

test("instructions that change with each request of Mastra cost no new summary", async () => {
  const paidWith = async (instructions: () => string) => {
    const server = await startLocalProvider({ call: reads(8) });
    onTestFinished(() => server.close());
    const output = (path: string) => `${path} has the number ${path.length}. ${LONG}`;
    const { ask } = agentOf(server.urls.openai, { contextWindow: 3_000, output, instructions });
    for (const prompt of ["Read eight parts.", "Again.", "And again."]) await ask(prompt);
    return server.billed.filter(({ kind }) => kind === "summary").length;
  };
  let requests = 0;
  const always = await paidWith(() => "It is 10:00.");
  const changing = await paidWith(() => {
    requests += 1;
    return `It is 10:0${requests}.`;
  });
  expect(always).toBeGreaterThan(0);
  expect(changing).toBe(always);
});

test("what Mastra saves stays whole", async () => {
  const { server, ask, memory } = await open({ contextWindow: 3_000 }, { call: reads(12) });
  await ask("Read twelve parts.");
  expect(server.billed.map(({ kind }) => kind)).toContain("summary");
  const { messages } = await memory.recall({ threadId: "one", resourceId: "ada", perPage: false });
  const saved = JSON.stringify(messages);
  for (const step of Array(12).keys()) expect(saved).toContain(`part-${step}.ts has the number`);
  expect(saved).not.toContain("[Context compacted]");
});

test("the model finds in memory what left its prompt", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  onTestFinished(() => stores.close());
  const calls = [
    ...Array.from({ length: 8 }, (_, step) => ({
      name: "read",
      args: { path: `part-${step}.ts` },
    })),
    { name: "search_project_history", args: { query: "part-0.ts number" } },
    { name: "memory_search", args: { query: "lighthouse" } },
  ];
  const { server, ask } = await open(
    { contextWindow: 3_000, stores },
    { call: (step) => calls[step] },
  );
  await ask("The lighthouse keeper is called Ada.");
  await ask("Read everything again.");
  const results = server.billed.flatMap(({ body }) =>
    sentMessages(body).flatMap((message) =>
      message.role === "tool_results" ? message.results.map(({ content }) => content) : [],
    ),
  );
  const found = results.filter((text) => text.includes('"score"') || text.includes("said_by"));
  expect(found.some((text) => text.includes("part-0.ts has the number 9"))).toBe(true);
  expect(found.some((text) => text.includes("keeper is called Ada"))).toBe(true);
});

test("after a restart, a thread goes on with the summary that was paid for", async () => {
  const path = join(testFolder(), "rkat.db");
  let steps = 12;
  const server = await startLocalProvider({ call: (step) => reads(steps)(step) });
  onTestFinished(() => server.close());
  const output = (file: string) => `${file} has the number ${file.length}. ${LONG}`;
  const memory = new MockMemory();
  const process = async (prompt: string) => {
    const stores = sqliteStores({ path });
    const opened = agentOf(server.urls.openai, { contextWindow: 3_000, stores, output }, memory);
    await opened.ask(prompt);
    await opened.close();
    await stores.close();
  };
  const summaries = () => server.billed.filter(({ kind }) => kind === "summary").length;
  await process("Read twelve parts.");
  const paid = summaries();
  expect(paid).toBeGreaterThan(0);
  steps = 0;
  await process("What did you read?");
  expect(summaries()).toBe(paid);
  expect(JSON.stringify(server.billed.at(-1)?.body)).toContain("[Context compacted]");
  expect(server.problems).toEqual([]);
});

test("a sub-agent has a chat of its own: its questions are no person's, and it begins with what the person demanded", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  const rkat = rkatProcessor({ contextWindow: 3_000, stores, author: "user" });
  const inner = rkatProcessor({ contextWindow: 2_000, stores, author: "user" });
  const question = (step: number) => `Which part has the number ${step}? ${LONG}`;
  const parentAt = await startLocalProvider({
    call: (step) =>
      step < 4 ? { name: "agent-child", args: { prompt: question(step) } } : undefined,
  });
  const childAt = await startLocalProvider({ call: reads(4) });
  onTestFinished(async () => {
    await rkat.close();
    await inner.close();
    await stores.close();
    await Promise.all([parentAt.close(), childAt.close()]);
  });
  const modelOf = (url: string) => ({ providerId: "local", modelId: "gpt", url, apiKey: "none" });
  const output = (path: string) => `${path} has the number ${path.length}. ${LONG}`;
  const child = new Agent({
    id: "child",
    name: "Child",
    description: "Answers.",
    instructions: "",
    model: modelOf(childAt.urls.openai),
    tools: { read: readTool(output) },
    memory: new MockMemory(),
    inputProcessors: [inner],
  });
  const parent = new Agent({
    id: "parent",
    name: "Parent",
    instructions: "",
    model: modelOf(parentAt.urls.openai),
    agents: { child },
    memory: new MockMemory(),
    inputProcessors: [rkat],
  });
  const memory = { thread: "one", resource: "ada", options: { lastMessages: 1_000 } };
  for (const prompt of ["Never use port 8080. Delegate four times.", "And four times more."]) {
    const { text } = await parent.generate(prompt, { maxSteps: 20, memory });
    expect(text).toContain("Done after 4 calls.");
  }
  await rkat.close();
  await inner.close();

  const said: { session: string; author: string | undefined; text: string }[] = [];
  for (const { id: session } of await stores.sessions.list({})) {
    for await (const { event } of stores.events.read(session, 0)) {
      if (event.type !== "message_added" || event.message.role !== "user") continue;
      const text = JSON.stringify(event.message.content);
      said.push({ session, author: event.origin?.author, text });
    }
  }
  const inChildren = said.filter(({ session }) => session !== "mastra:one");
  expect(inChildren.some(({ text }) => text.includes("Which part has"))).toBe(true);
  for (const { session, author, text } of inChildren) {
    expect(session).toMatch(/^mastra:one-/);
    expect(author).toBe("program");
    expect(text).not.toContain("[Recalled from memory]");
  }
  const inParent = said.filter(({ session }) => session === "mastra:one");
  expect(inParent.some(({ author, text }) => author === "user" && text.includes("8080"))).toBe(
    true,
  );
  expect(inParent.some(({ text }) => text.includes("Which part has"))).toBe(false);
  const steps = childAt.billed.filter(({ kind }) => kind === "step");
  for (const { body } of steps) expect(JSON.stringify(body)).toContain("Never use port 8080.");
  expect([...parentAt.problems, ...childAt.problems]).toEqual([]);
});

test("a prepareStep that changes models step by step keeps its history compacted, and asks the model of the step", async () => {
  const [first, second] = await Promise.all([
    startLocalProvider({ call: reads(12) }),
    startLocalProvider({ call: reads(12) }),
  ]);
  const rkat = rkatProcessor({ contextWindow: 3_000 });
  const modelAt = (server: typeof first) => ({
    ...{ providerId: "openai", modelId: "gpt-5", url: server.urls.openai, apiKey: "none" },
  });
  const agent = new Agent({
    ...{ id: "sailor", name: "Sailor", instructions: "", model: modelAt(first), maxRetries: 0 },
    tools: { read: readTool((path) => `${path} has the number ${path.length}. ${LONG}`) },
    ...{ memory: new MockMemory(), inputProcessors: [rkat], errorProcessors: [rkat] },
  });
  onTestFinished(async () => {
    await rkat.close();
    await Promise.all([first.close(), second.close()]);
  });
  const memory = { thread: "one", resource: "ada", options: { lastMessages: 1_000 } };
  for (const prompt of ["Read twelve parts.", "And twelve more."]) {
    await agent.generate(prompt, {
      ...{ maxSteps: 40, memory },
      prepareStep: ({ stepNumber }) => (stepNumber % 2 === 1 ? { model: modelAt(second) } : {}),
    });
  }
  for (const { billed, problems } of [first, second]) {
    expect(problems).toEqual([]);
    expect(billed.filter(({ kind }) => kind === "step").length).toBeGreaterThan(6);
    expect(Math.max(...billed.map(({ inputTokens }) => inputTokens))).toBeLessThan(3_000);
  }
  expect([...first.billed, ...second.billed].some(({ kind }) => kind === "summary")).toBe(true);
});

test("a setting that makes no sense is refused when the processor is made", () => {
  expect(() => rkatProcessor({ contextWindow: -1 })).toThrow(
    "contextWindow: it has to be a number above 0, and is -1",
  );
});
