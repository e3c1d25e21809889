import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  type Agent,
  type AgentBuildConfig,
  AgentFactory,
  SimpleMemoryStore,
} from "../src/index.ts";
import { scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";

const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(80);

async function build(
  factory: AgentFactory,
  config: Partial<AgentBuildConfig> = {},
): Promise<Agent> {
  const agent = await factory.buildAgent({ model: scriptedModel(["hello"]), ...config });
  onTestFinished(() => agent.close());
  return agent;
}

test("the specification's lines build an agent with memory and compaction", async () => {
  const root = await temporaryFolder();
  const factory = new AgentFactory(".rkat/sessions").projectRoot(root).builtins(true).memory(true);
  const agent = await build(factory);
  expect((await agent.run("hi")).text).toBe("hello");
  expect(await agent.sessions.capabilities()).toEqual([
    "session-store",
    "memory-store",
    "session-compaction",
  ]);
  expect(existsSync(join(root, ".rkat", "rkat.db"))).toBe(true);
  await agent.sessions.close();
  expect(existsSync(join(root, ".rkat", "sessions", agent.sessionId, "events.jsonl"))).toBe(true);
});

test("memory is off unless somebody asks for it, and a request may say otherwise", async () => {
  const factory = new AgentFactory("store").projectRoot(await temporaryFolder());
  const searches = async (agent: Agent) => {
    try {
      return await agent.sessions.searchMemory({ query: "fox" });
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  expect(await searches(await build(factory))).toBe("SESSION_MEMORY_DISABLED");
  expect(await searches(await build(factory, { overrideMemory: true }))).toEqual([]);
  const withMemory = factory.memory(true);
  expect(await searches(await build(withMemory))).toEqual([]);
  expect(await searches(await build(withMemory, { overrideMemory: false }))).toBe(
    "SESSION_MEMORY_DISABLED",
  );
  expect(await searches(await build(factory)), "the first factory is as it was").toBe(
    "SESSION_MEMORY_DISABLED",
  );
});

test("a request's compaction settings hold for its session", async () => {
  const factory = new AgentFactory("store").projectRoot(await temporaryFolder());
  const compactions = async (config: Partial<AgentBuildConfig>) => {
    const agent = await build(factory, {
      model: scriptedModel([LONG, LONG, LONG, LONG]),
      ...config,
    });
    for (const prompt of ["one", "two", "three"]) await agent.run(prompt);
    return (await agent.sessions.read({ sessionId: agent.sessionId })).compactions;
  };
  expect(await compactions({})).toBe(0);
  const eager = { autoCompactThreshold: 2500, minTurnsBetweenCompactions: 1, recentTurnBudget: 1 };
  expect(await compactions({ compaction: eager })).toBeGreaterThan(0);
  await expect(build(factory.compaction(false), { compaction: eager })).rejects.toMatchObject({
    code: "SESSION_COMPACTION_DISABLED",
  });
});

test("an agent goes on with a session that another one left", async () => {
  const factory = new AgentFactory("store").projectRoot(await temporaryFolder());
  const first = await build(factory, { labels: { task: "port" } });
  await first.run("hi");
  await first.close();
  const second = await build(factory, { sessionId: first.sessionId });
  await second.run("again");
  expect(await second.sessions.read({ sessionId: second.sessionId })).toMatchObject({
    turns: 2,
    labels: { task: "port" },
  });
  await expect(build(factory, { sessionId: "nobody" })).rejects.toMatchObject({
    code: "SESSION_NOT_FOUND",
  });
});

test("what a build asks of an existing session is honoured, or refused by name", async () => {
  const factory = new AgentFactory("store").projectRoot(await temporaryFolder()).memory(true);
  const created = { systemPrompt: "Be brief.", labels: { task: "port" } };
  const first = await build(factory, created);
  const { sessionId } = first;
  await first.run(LONG);
  await first.run(LONG);
  await first.close();
  for (const [asked, names] of [
    [{ systemPrompt: "Be long." }, "systemPrompt"],
    [{ labels: { task: "starboard" } }, "labels"],
    [{ overrideMemory: false }, "overrideMemory"],
    [{ systemPrompt: "Be long.", labels: {} }, "systemPrompt, labels"],
  ] as const) {
    await expect(build(factory, { sessionId, ...asked })).rejects.toMatchObject({
      code: "INVALID_PARAMS",
      message: `The session "${sessionId}" exists already, with another ${names}.`,
    });
  }
  await expect(build(factory, { sessionId, temperature: 1 } as object)).rejects.toThrow(
    "temperature",
  );
  const compaction = { autoCompactThreshold: 2500, minTurnsBetweenCompactions: 1 };
  await expect(build(factory.compaction(false), { sessionId, compaction })).rejects.toMatchObject({
    code: "SESSION_COMPACTION_DISABLED",
  });

  const model = scriptedModel(["The fox weighed jumping over the lazy dog, twice.", "yes"], {
    id: "scripted/other",
  });
  const again = await build(factory, {
    sessionId,
    ...created,
    overrideMemory: true,
    compaction,
    maxTokens: 77,
    model,
  });
  const types: string[] = [];
  await again.run("again", { onEvent: ({ payload }) => types.push(payload.type) });
  expect(types).toContain("compaction_completed");
  expect(model.requests.at(-1)).toMatchObject({ maxTokens: 77 });
});

test("agents take any memory store, which stays their caller's", async () => {
  const memory = new SimpleMemoryStore();
  await memory.add([
    { id: "1", content: "The port is 7443.", sessionId: "s", turn: 0, kind: "message" },
  ]);
  const factory = new AgentFactory("store").projectRoot(await temporaryFolder());
  for (const agent of [
    await build(factory.memory(memory)),
    await build(factory, { overrideMemory: memory }),
    await build(factory.memory(memory), { overrideMemory: true }),
  ]) {
    const [hit] = await agent.sessions.searchMemory({ query: "port" });
    expect(hit?.content).toBe("The port is 7443.");
    await agent.close();
  }
  expect((await memory.stats()).entries).toBe(1);
});
