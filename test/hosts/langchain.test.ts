import { join } from "node:path";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import {
  type AgentMiddleware,
  type BaseMessage,
  createAgent,
  HumanMessage,
  humanInTheLoopMiddleware,
  SystemMessage,
} from "langchain";
import { type RkatMiddlewareOptions, rkatMiddleware } from "rkat/langchain";
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

function modelAt(baseURL: string, useResponsesApi = false) {
  const configuration = { baseURL };
  const settings = { model: "gpt", apiKey: "local", maxRetries: 0, configuration };
  return new ChatOpenAI({ ...settings, useResponsesApi, zdrEnabled: useResponsesApi });
}

function readTool(output: (path: string) => string) {
  return tool(async ({ path }) => output(path), {
    name: "read",
    description: "Reads a file.",
    schema: z.object({ path: z.string() }),
  });
}

/**
 * A loop whose application keeps the conversation in a thread, or as the list that the agent returned. From the
 * list it can take turns back.
 */
function loop(inThread: boolean, useResponsesApi = false, isStrict = false): AdaptedLoop {
  return {
    async run(script) {
      const { server, read, begin, record } = await startScriptedServer(script);
      const url = server.urls[isStrict ? "openai-compatible" : "openai"];
      const agent = createAgent({
        model: modelAt(url, useResponsesApi),
        tools: [readTool(read)],
        systemPrompt: script.instructions,
        middleware: [rkatMiddleware({ contextWindow: script.contextWindow })],
        ...(inThread ? { checkpointer: new MemorySaver() } : {}),
      });
      const answers: string[] = [];
      const asked: string[] = [];
      let kept: BaseMessage[] = [];
      for (const [index, turn] of script.turns.entries()) {
        const { prompt, image, system, rewords, takesBack = 0, ends } = turn;
        const last = kept.findIndex(({ id }) => id === asked.at(-1));
        if (!inThread && rewords && last >= 0) {
          const id = asked.at(-1) ?? "";
          kept = kept.with(last, new HumanMessage({ content: rewords, id }));
        }
        if (!inThread && takesBack > 0) {
          const [first] = asked.splice(-takesBack);
          const from = kept.findIndex(({ id }) => id === first);
          // A turn that left in a compaction is in the list no more.
          if (from > 0) kept = kept.slice(0, from);
        }
        const said = [
          ...(system ? [new SystemMessage(system)] : []),
          new HumanMessage({
            content: image ? withImage(prompt, image) : prompt,
            id: `turn ${index}`,
          }),
        ];
        asked.push(`turn ${index}`);
        const messages = inThread ? said : [...kept, ...said];
        try {
          const state = await agent.invoke(
            { messages },
            {
              recursionLimit: 100,
              configurable: inThread ? { thread_id: "one" } : {},
              signal: begin(),
            },
          );
          answers.push(state.messages.at(-1)?.text ?? "");
          kept = state.messages;
        } catch (error) {
          if (!ends) throw error;
          answers.push("");
          kept = messages;
        }
      }
      expect(server.problems).toEqual([]);
      await server.close();
      return record(answers);
    },
  };
}

function withImage(text: string, image: string) {
  const url = `data:image/png;base64,${image}`;
  return [
    { type: "text", text },
    { type: "image_url", image_url: { url } },
  ];
}

describe.each([
  ["in a thread", remembered(loop(true))],
  ["by the application", remembered(loop(false))],
  ["by the application, with reasoning", remembered(loop(false, true))],
])("a conversation kept %s", (_, kept) => {
  for (const law of adapterLaws) test(law.name, () => law.holds(async () => kept));
  test("random conversations keep every promise", { timeout: CAMPAIGN_MS }, () =>
    keepsPromises(kept),
  );
});

describe.each([
  ["in a thread", remembered(loop(true, false, true))],
  ["by the application", remembered(loop(false, false, true))],
])("a server that wants user and assistant to alternate, kept %s", (_, kept) => {
  for (const law of adapterLaws) test(law.name, () => law.holds(async () => kept));
});

const LONG = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ".repeat(
  12,
);

async function agentWith(options: RkatMiddlewareOptions, provider: LocalProviderOptions) {
  const server = await startLocalProvider(provider);
  onTestFinished(() => server.close());
  const rkat = rkatMiddleware(options);
  onTestFinished(() => rkat.close());
  const agent = createAgent({
    model: modelAt(server.urls.openai),
    tools: [readTool((path) => `${path} has the number ${path.length}. ${LONG}`)],
    middleware: [rkat],
    checkpointer: new MemorySaver(),
  });
  const ask = (content: string) =>
    agent.invoke(
      { messages: [new HumanMessage(content)] },
      { configurable: { thread_id: "one" }, recursionLimit: 100 },
    );
  return { server, ask };
}

const reads = (steps: number) => (step: number) =>
  step < steps ? { name: "read", args: { path: `part-${step}.ts` } } : undefined;

test("when the provider calls the history too long, it is compacted and sent once more", async () => {
  const { server, ask } = await agentWith(
    { contextWindow: 100_000 },
    { contextWindow: 2_500, call: reads(20) },
  );
  const { messages } = await ask("Read twenty parts.");
  expect(messages.at(-1)?.text).toBe("Done after 20 calls.");
  expect(server.billed.map(({ kind }) => kind)).toContain("refused");
  expect(server.problems).toEqual([]);
});

test("a run that waits for a person at each call goes on, compacted", async () => {
  const server = await startLocalProvider({ call: reads(10) });
  onTestFinished(() => server.close());
  const agent = createAgent({
    model: modelAt(server.urls.openai),
    tools: [readTool((path) => `${path} has the number ${path.length}. ${LONG}`)],
    middleware: [
      humanInTheLoopMiddleware({ interruptOn: { read: true } } as never) as AgentMiddleware,
      rkatMiddleware({ contextWindow: 2_000 }),
    ],
    checkpointer: new MemorySaver(),
  });
  const config = { configurable: { thread_id: "one" }, recursionLimit: 100 };
  const decisions = [
    { type: "approve" },
    { type: "edit", editedAction: { name: "read", args: { path: "other.ts" } } },
    { type: "reject", message: "Not this one." },
  ];
  let state = await agent.invoke({ messages: [new HumanMessage("Read ten parts.")] }, config);
  for (let call = 0; call < 10; call += 1) {
    const resume = { decisions: [decisions[call % decisions.length]] };
    state = await agent.invoke(new Command({ resume }), config);
  }
  expect(state.messages.at(-1)?.text).toBe("Done after 10 calls.");
  expect(server.billed.map(({ kind }) => kind)).toContain("summary");
  expect(server.problems).toEqual([]);
});

test("messages that stay are the same, with their ids, and the summary says what it is", async () => {
  const { ask } = await agentWith({ contextWindow: 3_000 }, { call: reads(8) });
  const before = await ask("Read eight parts.");
  const after = await ask("Read eight parts more.");
  const summaries = after.messages.filter(
    ({ additional_kwargs }) => additional_kwargs.lc_source === "summarization",
  );
  expect(summaries).toHaveLength(1);
  const ids = new Set(after.messages.map(({ id }) => id));
  expect(ids.size).toBe(after.messages.length);
  expect(before.messages.length).toBeLessThan(18);
});

test("the model finds in memory what left its history", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  onTestFinished(() => stores.close());
  const query = "pilot waits tide";
  const calls = [
    ...Array.from({ length: 8 }, (_, step) => ({
      name: "read",
      args: { path: `part-${step}.ts` },
    })),
    { name: "search_project_history", args: { query: "part-0.ts number" } },
    { name: "memory_search", args: { query: "lighthouse" } },
  ];
  const { server, ask } = await agentWith(
    { contextWindow: 3_000, stores },
    { call: (step) => calls[step] },
  );
  await ask(`The lighthouse keeper is called Ada. ${query}`);
  await ask("Read everything again.");
  const results = server.billed.flatMap(({ body }) =>
    sentMessages(body).flatMap((message) =>
      message.role === "tool_results" ? message.results.map(({ content }) => content) : [],
    ),
  );
  expect(results.some((text) => text.includes("part-0.ts has the number 9"))).toBe(true);
  expect(
    results.some((text) => text.includes("keeper is called Ada") && text.startsWith("[")),
  ).toBe(true);
  expect(server.problems).toEqual([]);
});

test("a summary is never streamed as the agent's answer", async () => {
  const SECRET = "This text is only in the summary.";
  const server = await startLocalProvider({
    call: reads(8),
    summary: () => `The crane lifts the cargo over the quay: part-0.ts. ${SECRET}`,
  });
  onTestFinished(() => server.close());
  const agent = createAgent({
    model: modelAt(server.urls.openai),
    tools: [readTool((path) => `${path} has the number ${path.length}. ${LONG}`)],
    middleware: [rkatMiddleware({ contextWindow: 3_000 })],
    checkpointer: new MemorySaver(),
  });
  for (const prompt of ["Read eight parts.", "Read them again."]) {
    const streamed: string[] = [];
    const stream = await agent.stream(
      { messages: [new HumanMessage(prompt)] },
      { configurable: { thread_id: "one" }, recursionLimit: 100, streamMode: "messages" },
    );
    for await (const [message] of stream) if (message.type === "ai") streamed.push(message.text);
    expect(streamed.join("")).toBe("Done after 8 calls.");
  }
  expect(server.billed.map(({ kind }) => kind)).toContain("summary");
});

test("two processes in one thread do not mix what they say", async () => {
  const path = join(testFolder(), "rkat.db");
  let steps = 8;
  const server = await startLocalProvider({ call: (step) => reads(steps)(step) });
  onTestFinished(() => server.close());
  const checkpointer = new MemorySaver();
  const config = { configurable: { thread_id: "one" }, recursionLimit: 100 };
  const open = (contextWindow: number) => {
    const stores = sqliteStores({ path });
    const rkat = rkatMiddleware({ contextWindow, stores });
    onTestFinished(async () => {
      await rkat.close();
      await stores.close();
    });
    return createAgent({
      model: modelAt(server.urls.openai),
      tools: [readTool((part) => `${part} has the number ${part.length}. ${LONG}`)],
      middleware: [rkat],
      checkpointer,
    });
  };
  await open(100_000).invoke({ messages: [new HumanMessage("Read eight parts.")] }, config);
  steps = 0;
  const ask = (agent: ReturnType<typeof open>, content: string) =>
    agent.invoke({ messages: [new HumanMessage(content)] }, config);
  const shared = open(3_000);
  const runs = [ask(shared, "First?"), ask(shared, "Second?"), ask(open(3_000), "Third?")];
  const states = await Promise.all(runs);
  for (const [index, { messages }] of states.entries()) {
    const asked = messages.map(({ text }) => text).filter((text) => text.endsWith("?"));
    expect(asked).toEqual([["First?", "Second?", "Third?"][index]]);
    expect(messages.at(-1)?.text).toBe("Done after 0 calls.");
  }
  expect(server.problems).toEqual([]);
});

test("an agent that a tool runs has a chat of its own: its questions are no person's, and no part of the thread that it has from its parent", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  const rkat = rkatMiddleware({ contextWindow: 3_000, stores, author: "user" });
  onTestFinished(async () => {
    await rkat.close();
    await stores.close();
  });
  const question = (step: number) => `Which part has the number ${step}? ${LONG}`;
  const parentAt = await startLocalProvider({
    call: (step) =>
      step < 4 ? { name: "delegate", args: { question: question(step) } } : undefined,
  });
  const childAt = await startLocalProvider({ call: reads(6) });
  onTestFinished(() => Promise.all([parentAt.close(), childAt.close()]).then(() => {}));
  const child = createAgent({
    model: modelAt(childAt.urls.openai),
    tools: [readTool((path) => `${path} has the number ${path.length}. ${LONG}`)],
    middleware: [rkat],
  });
  const delegate = tool(
    async ({ question: asked }) => {
      const { messages } = await child.invoke({ messages: [new HumanMessage(asked)] });
      return messages.at(-1)?.text ?? "";
    },
    { name: "delegate", description: "Asks.", schema: z.object({ question: z.string() }) },
  );
  const parent = createAgent({
    model: modelAt(parentAt.urls.openai),
    tools: [delegate],
    middleware: [rkat],
    checkpointer: new MemorySaver(),
  });
  for (const prompt of ["Never use port 8080. Delegate four times.", "And four times more."]) {
    const { messages } = await parent.invoke(
      { messages: [new HumanMessage(prompt)] },
      { configurable: { thread_id: "one" }, recursionLimit: 100 },
    );
    expect(messages.at(-1)?.text).toBe("Done after 4 calls.");
  }
  await rkat.close();

  const items = await stores.sessions.list({});
  const questions: { session: string; author: string | undefined }[] = [];
  const prompts: (string | undefined)[] = [];
  for (const { id } of items) {
    for await (const { event } of stores.events.read(id, 0)) {
      if (event.type !== "message_added" || event.message.role !== "user") continue;
      const text = JSON.stringify(event.message.content);
      const author = event.origin?.author;
      if (text.startsWith('"Which part')) questions.push({ session: id, author });
      if (/elegate|four times more/.test(text)) prompts.push(author);
    }
  }
  expect(questions.length).toBeGreaterThan(0);
  for (const { session, author } of questions) {
    expect(session).toMatch(/^langchain:one\/tools:/);
    expect(author).toBe("program");
  }
  expect(prompts).toContain("user");
  // Each begins with what the person demanded, as a record.
  const first = childAt.billed.filter(({ kind }) => kind === "step");
  expect(first.length).toBeGreaterThan(0);
  for (const { body } of first) expect(JSON.stringify(body)).toContain("Never use port 8080.");
  expect([...parentAt.problems, ...childAt.problems]).toEqual([]);
  // Each summary of the parent takes a part of what it was asked and told itself.
  const summaries = parentAt.billed.filter(({ kind }) => kind === "summary");
  expect(summaries.length).toBeLessThanOrEqual(4);
});

test("a setting that makes no sense is refused when the middleware is made", () => {
  expect(() => rkatMiddleware({ contextWindow: -1 })).toThrow(
    "contextWindow: it has to be a number above 0, and is -1",
  );
});
