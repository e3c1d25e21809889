import { join } from "node:path";
import {
  Agent,
  type AgentInputItem,
  MemorySession,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setDefaultOpenAIClient,
  setTracingDisabled,
  tool,
  withTrace,
} from "@openai/agents";
import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  type LocalProviderOptions,
  startLocalProvider,
} from "../../examples/hosts/local-provider.ts";
import { SUMMARY_PREFIX } from "../../src/core/message.ts";
import { createSessionService } from "../../src/index.ts";
import {
  type RkatSessionOptions,
  rkatFilter,
  rkatModel,
  rkatSession,
} from "../../src/openai-agents.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import {
  type AdaptedLoop,
  adapterLaws,
  recallingAdapterLaws,
} from "../../src/testing/adapter-laws.ts";
import { temporaryFolder } from "../support/obey.ts";
import { CAMPAIGN_MS, keepsPromises } from "./random-script.ts";
import { remembered, startScriptedServer } from "./scripted-server.ts";

setTracingDisabled(true);

const WINDOW = 6_000;
/** Tool outputs are too short to be shortened, so only a summary helps. */
const STEPS = 60;

const berths: LocalProviderOptions = {
  contextWindow: WINDOW,
  call: (step) => (step < STEPS ? { name: "berth", args: { ship: `ship-${step}` } } : undefined),
};

async function open(options: LocalProviderOptions) {
  const server = await startLocalProvider(options);
  const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  const sessions = createSessionService({ model: "none", stores });
  const opened: { close(): Promise<void> }[] = [];
  onTestFinished(async () => {
    for (const session of opened) await session.close();
    await sessions.close();
    await stores.close();
    await server.close();
  });
  const client = new OpenAI({ apiKey: "local", baseURL: server.urls.openai, maxRetries: 0 });
  const models = {
    responses: new OpenAIResponsesModel(client, "gpt"),
    "chat completions": new OpenAIChatCompletionsModel(client, "gpt"),
  };
  const sessionOf = (given: Partial<RkatSessionOptions>) => {
    const session = rkatSession<AgentInputItem>({ stores, author: "user", ...given });
    opened.push(session);
    return session;
  };
  return { server, client, sessions, models, sessionOf };
}

const berth = tool({
  name: "berth",
  description: "Says where a ship lies.",
  parameters: z.object({ ship: z.string() }),
  execute: ({ ship }) => `${ship} lies at berth 44-${ship}. ${"The quay is long. ".repeat(12)}`,
});

const agentWith = (model: OpenAIResponsesModel | OpenAIChatCompletionsModel) =>
  new Agent({
    name: "Harbour",
    instructions: "Find the berths.",
    tools: [berth],
    model,
    modelSettings: { store: false },
  });

const answered = { type: "message", role: "assistant", status: "completed" } as const;

function textOf(item: AgentInputItem): string {
  const { content } = item as { content?: unknown };
  if (typeof content === "string") return content;
  const parts = (content ?? []) as readonly { readonly text?: string }[];
  return parts.map(({ text = "" }) => text).join("\n");
}

/** Each call once with its result, in this order, and reasoning before something. */
function violations(items: readonly AgentInputItem[]): readonly string[] {
  const open = new Set<string>();
  return items.flatMap((item, index) => {
    if (item.type === "function_call") open.add(item.callId);
    if (item.type === "function_call_result" && !open.delete(item.callId))
      return [`${index}: no call`];
    if (item.type === "reasoning" && items[index + 1] === undefined)
      return [`${index}: reasoning last`];
    return index === items.length - 1 ? [...open].map((id) => `${id}: no result`) : [];
  });
}

/** How an application keeps a conversation: as a list, in a session, or in one that compacts itself. */
type Kept = "list" | "session" | "compacting session";

/** With a model of the SDK, or with one that notes its requests. */
function loop(kept: Kept, isNoted = false): AdaptedLoop {
  return {
    async run(script) {
      const { server, read: readFile, begin, record } = await startScriptedServer(script);
      const client = new OpenAI({ apiKey: "k", baseURL: server.urls.openai, maxRetries: 0 });
      const own = new OpenAIResponsesModel(client, "gpt");
      const model = isNoted ? rkatModel(own) : own;
      const read = tool({
        name: "read",
        description: "Reads a file.",
        parameters: z.object({ path: z.string() }),
        execute: ({ path }) => readFile(path),
      });
      const { instructions, contextWindow } = script;
      const providerData = { include: ["reasoning.encrypted_content"] };
      const agent = new Agent({
        name: "Engineer",
        instructions,
        tools: [read],
        model,
        modelSettings: { store: false, providerData },
      });
      const stores = sqliteStores({ path: ":memory:" });
      const compaction = kept === "compacting session" ? { model, contextWindow } : {};
      const session = rkatSession<AgentInputItem>({ stores, ...compaction });
      const callModelInputFilter =
        kept === "compacting session" ? session.filter : rkatFilter({ contextWindow });
      const answers: string[] = [];
      const said: AgentInputItem[][] = [];
      const billedUntil: number[] = [];
      for (const turn of script.turns) {
        const { prompt, image, system, rewords, takesBack = 0, ends } = turn;
        if (kept === "list") said.length -= takesBack;
        const content = image ? withImage(prompt, image) : prompt;
        const asked: AgentInputItem[] = system ? [{ role: "system", content: system }] : [];
        asked.push({ role: "user", content });
        const before = [...(said.at(-1) ?? [])];
        const last = before.findLastIndex((item) => "role" in item && item.role === "user");
        if (rewords && last > 0) before[last] = { role: "user", content: rewords };
        const input = kept === "list" ? [...before, ...asked] : asked;
        const options = { callModelInputFilter, signal: begin() };
        try {
          const result = await run(agent, input, {
            ...options,
            ...(kept === "list" ? {} : { session }),
          });
          answers.push(result.finalOutput ?? "");
          said.push(result.history);
        } catch (error) {
          if (!ends) throw error;
          answers.push("");
          said.push(input);
        }
        billedUntil.push(server.billed.length);
      }
      expect(server.problems).toEqual([]);
      await session.close();
      await stores.close();
      await server.close();
      const { summaries, ...recorded } = record(answers);
      // A session compacts after a turn, for the next one. There may be none, or its prompt makes another one due.
      const isSummary = (at: number) => server.billed[at]?.kind === "summary";
      const unread = billedUntil.filter(
        (end) => isSummary(end - 1) && (isSummary(end) || end === server.billed.length),
      );
      const known = isNoted ? { model: "openai/gpt" } : {};
      return { ...recorded, ...known, summaries: summaries - unread.length };
    },
  };
}

function withImage(text: string, image: string) {
  return [
    { type: "input_text" as const, text },
    { type: "input_image" as const, image: `data:image/png;base64,${image}` },
  ];
}

describe.each([
  ["a list", remembered(loop("list"))],
  ["a session", remembered(loop("session"))],
  ["a session that compacts itself", remembered(loop("compacting session"))],
  ["a list, with an rkatModel", remembered(loop("list", true))],
  [
    "a session that compacts itself, with an rkatModel",
    remembered(loop("compacting session", true)),
  ],
])("a conversation kept as %s", (name, adapted) => {
  for (const law of adapterLaws) test(law.name, () => law.holds(async () => adapted));
  test("random conversations keep every promise", { timeout: CAMPAIGN_MS }, () =>
    // A refused request ends a run, unless the model is an rkatModel: the SDK's filter sees no errors.
    keepsPromises(adapted, name.includes("rkatModel") ? [] : ["refusedAbove"]),
  );
});

describe("a session whose filter recalls", () => {
  const adapted = remembered(loop("compacting session"));
  for (const law of recallingAdapterLaws) test(law.name, () => law.holds(async () => adapted));
});

test("records that the filter adds are in no list of the session and no memory, and what a person pastes is", async () => {
  const { server, sessions, models, sessionOf } = await open({
    contextWindow: WINDOW,
    call: () => undefined,
  });
  const session = sessionOf({
    sessionId: "recalls",
    model: models.responses,
    contextWindow: WINDOW,
    userWordsTokens: 0,
  });
  const agent = agentWith(models.responses);
  const ask = (prompt: string) =>
    run(agent, prompt, { session, callModelInputFilter: session.filter });
  await ask("The spare key of the boathouse hangs behind the blue oilskin.");
  for (let turn = 0; turn < 30; turn += 1)
    await ask(`${turn} ${"The harbour was quiet. ".repeat(60)}`);
  await ask("Where does the spare key of the boathouse hang?");
  const sent = JSON.stringify(server.requests.at(-1)?.body);
  expect(sent).toContain("behind the blue oilskin");
  const [pasted = ""] = /\[Recalled from memory\][^"]*oilskin\./.exec(sent) ?? [];
  expect(pasted).not.toBe("");
  const listed = async () => JSON.stringify(await session.getItems());
  expect(await listed()).not.toContain("[Recalled from memory]");
  const found = await sessions.searchMemory({ query: "spare key of the boathouse", limit: 50 });
  expect(found.filter(({ content }) => content.includes("[Recalled"))).toEqual([]);
  await ask(`I saw this: ${pasted.slice(0, 60)}`);
  expect(await listed()).toContain("I saw this: [Recalled from memory]");
});

for (const name of ["responses", "chat completions"] as const) {
  test(`${name}: a long run ends in a small window, and the session has all of it`, async () => {
    const { server, sessions, models, sessionOf } = await open(berths);
    const session = sessionOf({ sessionId: "run" });
    const agent = agentWith(models[name]);
    const callModelInputFilter = rkatFilter({ contextWindow: WINDOW });
    const result = await run(agent, "Where do all ships lie?", {
      session,
      callModelInputFilter,
      maxTurns: 100,
    });
    expect(result.finalOutput).toBe(`Done after ${STEPS} calls.`);
    expect(server.billed.filter(({ kind }) => kind === "refused")).toEqual([]);
    expect(server.billed.some(({ kind }) => kind === "summary")).toBe(true);
    const items = await session.getItems();
    expect(violations(items)).toEqual([]);
    expect(items.filter(({ type }) => type === "function_call_result")).toHaveLength(STEPS);
    expect(items[0]).toMatchObject({ role: "user", content: "Where do all ships lie?" });
    const found = await sessions.searchHistory({ query: "ship-3 lies at berth 44-ship-3" });
    const outputs = found.filter(({ role }) => role === "tool").map(({ content }) => content);
    expect(outputs.join(" ")).toContain("ship-3 lies at berth 44-ship-3");
  });

  test(`${name}: a session compacts itself between runs, for the price of one summary each time`, async () => {
    const { server, sessions, models, sessionOf } = await open({
      contextWindow: WINDOW,
      call: (step) => (step < 2 ? { name: "berth", args: { ship: `ship-${step}` } } : undefined),
    });
    const agent = agentWith(models[name]);
    let before: readonly AgentInputItem[] = [];
    let compactions = 0;
    for (let turn = 0; turn < 24; turn += 1) {
      // As a server does, which makes the session anew for each request.
      const session = sessionOf({ sessionId: "runs", model: models[name], contextWindow: WINDOW });
      await run(agent, `Prompt ${turn}: where does the Ottilie-${turn} lie?`, { session });
      const items = await session.getItems();
      expect(violations(items)).toEqual([]);
      const grew = JSON.stringify(items.slice(0, before.length)) === JSON.stringify(before);
      if (!grew) compactions += 1;
      before = items;
    }
    const summaries = server.billed.filter(({ kind }) => kind === "summary").length;
    expect(compactions).toBeGreaterThan(0);
    expect(summaries).toBeLessThanOrEqual(compactions);
    expect(server.billed.filter(({ kind }) => kind === "refused")).toEqual([]);
    const memory = await sessions.listMemory({
      sessionId: "openai-agents:runs",
      kind: "message",
      limit: 100,
    });
    const prompts = memory.filter(({ role }) => role === "user").map(({ content }) => content);
    expect(prompts).toHaveLength(24);
    expect(new Set(prompts).size).toBe(24);
  });
}

test("a streamed run keeps its items too", async () => {
  const { models, sessionOf } = await open({
    call: (step) => (step < 3 ? { name: "berth", args: { ship: `ship-${step}` } } : undefined),
  });
  const session = sessionOf({ sessionId: "streamed" });
  const stream = await run(agentWith(models.responses), "Where?", { session, stream: true });
  await stream.completed;
  const items = await session.getItems();
  expect(items).toHaveLength(8);
  expect(violations(items)).toEqual([]);
});

test("a session does to its items what the SDK's own session does", async () => {
  const { sessionOf } = await open({});
  const user = (content: string): AgentInputItem => ({ type: "message", role: "user", content });
  const item = fc.constantFrom<AgentInputItem>(
    user("yes"),
    user("no"),
    { type: "function_call", callId: "c", name: "berth", arguments: "{}", status: "completed" },
    {
      type: "function_call_result",
      callId: "c",
      name: "berth",
      status: "completed",
      output: [{ type: "input_image", image: "data:image/png;base64,AAAA" }],
    },
    { type: "reasoning", content: [], providerData: { encrypted_content: "gAAA" } },
  );
  const items = fc.array(item, { maxLength: 4 });
  const step = fc.record({
    does: fc.constantFrom("add", "pop", "clear", "append", "replace", "wrong suffix"),
    items,
    count: fc.nat(3),
    id: fc.nat(6),
  });
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      runs += 1;
      const both = [new MemorySession(), sessionOf({ sessionId: `like-${runs}` })];
      for (const { does, items: given, count, id } of steps) {
        const outcomes = both.map(async (session) => {
          if (does === "add") return await session.addItems(given);
          if (does === "pop") return await session.popItem();
          if (does === "clear") return await session.clearSession();
          const last = await session.getItems(count);
          const expectedSuffix = does === "replace" ? last : [user("not there")];
          const transaction =
            does === "append"
              ? ({ type: "append_items", items: given } as const)
              : ({ type: "replace_suffix", expectedSuffix, replacement: given } as const);
          return await session.applyHistoryTransaction({ operationId: `${id}`, transaction });
        });
        const [theirs, ours] = await Promise.allSettled(outcomes);
        expect(ours?.status).toBe(theirs?.status);
        if (theirs?.status === "fulfilled") expect(ours).toEqual(theirs);
        const [wanted, found] = await Promise.all(both.map((session) => session.getItems()));
        expect(found).toEqual(wanted);
      }
    }),
    { numRuns: 20 },
  );
});

test("an agent that has only a model's name is told at the first call what is missing", async () => {
  const { client, sessionOf } = await open({});
  setDefaultOpenAIClient(client);
  const agent = new Agent({ name: "Harbour", model: "gpt" });
  const callModelInputFilter = rkatFilter({ contextWindow: WINDOW });
  const filtered = run(agent, "Hello", { callModelInputFilter });
  await expect(filtered).rejects.toThrow("rkatFilter does not know who writes summaries");
  expect(() => sessionOf({ contextWindow: WINDOW })).toThrow("it has no model for summaries");
});

test.each(["a text of its own", "the session's own summary"])(
  "a user's message that begins as a summary does is kept, and is in memory: %s",
  async (kind) => {
    const { sessions, models, sessionOf } = await open({ call: () => undefined });
    const options = { sessionId: "pasted", summarize: "fallback", contextWindow: 100_000 } as const;
    const add = (prompt: string) => [
      { role: "user" as const, content: prompt },
      { ...answered, content: [{ type: "output_text" as const, text: "It is noted." }] },
    ];
    const session = sessionOf(options);
    for (let turn = 0; turn < 8; turn += 1) {
      await session.addItems(
        add(`Ship ${turn} lies at berth 4${turn}. ${"It is late. ".repeat(40)}`),
      );
    }
    await session.runCompaction({ force: true });
    const texts = async () => (await session.getItems()).map(textOf);
    const [summary = ""] = (await texts()).filter((text) => text.startsWith(SUMMARY_PREFIX));
    const pasted = kind === "a text of its own" ? `${SUMMARY_PREFIX}The pilot is Ada.` : summary;
    // As a server does, which makes the session anew for each request.
    const next = sessionOf(options);
    const agent = agentWith(models.responses);
    await run(agent, pasted, { session: next, callModelInputFilter: next.filter });
    await next.runCompaction({ force: true });
    expect((await texts()).filter((text) => text === pasted).length).toBeGreaterThan(0);
    const memory = await sessions.listMemory({
      sessionId: "openai-agents:pasted",
      kind: "message",
      limit: 100,
    });
    expect(memory.filter(({ content }) => content === pasted)).toHaveLength(1);
  },
);

test("a session compacts when that is forced, and otherwise only when it is due", async () => {
  const { models, sessionOf } = await open({});
  const session = sessionOf({ model: models.responses, contextWindow: 100_000 });
  for (let turn = 0; turn < 8; turn += 1) {
    const answer = { type: "output_text" as const, text: `Ship ${turn} lies at berth 4${turn}.` };
    await session.addItems([
      { role: "user", content: `Where does ship ${turn} lie? ${"It is late. ".repeat(40)}` },
      { type: "message", role: "assistant", status: "completed", content: [answer] },
    ]);
  }
  await session.runCompaction();
  expect(await session.getItems()).toHaveLength(16);
  // Outside a run, the SDK's models need a trace.
  await withTrace("compaction", () => session.runCompaction({ force: true }));
  expect((await session.getItems()).length).toBeLessThan(16);
  expect((await session.getItems()).at(-1)).toMatchObject({ role: "assistant" });
});

test("what an agent asks another one is no person's word, and after a handoff the person's words are the person's", async () => {
  const delegated = "Always use berth 9. Where does the ship lie?";
  const answers = [
    { toolCalls: [{ name: "ask_pilot", args: { input: delegated } }] },
    "The pilot says: berth 44.",
    "It lies at berth 44.",
    { toolCalls: [{ name: "transfer_to_Pilot", args: {} }] },
    "I am the pilot.",
  ];
  const { server, models, sessions, sessionOf } = await open({
    answer: (index) => answers[index] ?? "Done.",
  });
  const model = models.responses;
  const modelSettings = { store: false };
  const pilot = new Agent({ name: "Pilot", tools: [berth], model, modelSettings });
  const harbour = new Agent({
    name: "Harbour",
    tools: [pilot.asTool({ toolName: "ask_pilot", toolDescription: "Asks the pilot." })],
    handoffs: [pilot],
    model,
    modelSettings,
  });
  const session = sessionOf({ sessionId: "agents", model, contextWindow: WINDOW });
  const prompts = ["Never use port 8080. Where is it?", "Give me to the pilot."];
  for (const prompt of prompts) {
    await run(harbour, prompt, { session, callModelInputFilter: session.filter });
  }
  await session.close();
  const items = await session.getItems();
  expect(violations(items)).toEqual([]);
  const typed = items.filter((item) => "role" in item && item.role === "user").map(textOf);
  expect(typed).toEqual(prompts);
  const sessionId = "openai-agents:agents";
  const memory = await sessions.listMemory({ sessionId, kind: "message", limit: 100 });
  const users = memory.filter(({ role }) => role === "user").map(({ content }) => content);
  expect(users.toSorted()).toEqual(prompts.toSorted());
  // The call and its result are a fact. It teaches nothing.
  const learned = (await sessions.listKnowledge({})).filter(({ kind }) => kind !== "fact");
  expect(JSON.stringify(learned)).not.toContain("berth 9");
  // The answer of the tool is a result, and the pilot that takes over sees what the person said.
  const results = items.filter(({ type }) => type === "function_call_result");
  expect(JSON.stringify(results)).toContain("The pilot says: berth 44.");
  expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("Never use port 8080.");
  // The agent that is a tool was sent its question alone.
  const asked = JSON.stringify(server.requests[1]?.body);
  expect(asked).toContain("berth 9");
  expect(asked).not.toContain("port 8080");
});
