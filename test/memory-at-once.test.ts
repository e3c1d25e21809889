import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../src/core/tool.ts";
import { createSessionService, type ServiceOptions } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { type ScriptedReply, scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";

const LONG = "some words that take room in a window, so that it is soon full. ".repeat(40);

async function open(replies: readonly ScriptedReply[], options: Partial<ServiceOptions> = {}) {
  const model = scriptedModel(replies);
  const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  const service = createSessionService({ model, stores, compaction: {}, ...options });
  onTestFinished(() => service.close().then(() => stores.close()));
  const newSession = async () => (await service.createSession({})).sessionId;
  return { service, model, newSession };
}

function searches(query: string): ScriptedReply {
  return { toolCalls: [{ id: "call", name: "memory_search", args: { query } }] };
}

/** What the model's last search found. */
function found(model: ReturnType<typeof scriptedModel>): string[] {
  const last = model.requests.at(-1)?.messages.at(-1);
  if (last?.role !== "tool_results") throw new Error("No tool answered.");
  const results = JSON.parse(last.results[0]?.content ?? "[]") as { content: string }[];
  return results.map(({ content }) => content);
}

test("what was said is found at once, by you and by the model of another session", async () => {
  const query = "which port does staging use";
  const { service, model, newSession } = await open(["Noted.", searches(query), "4310"]);
  const prompt = "Staging uses port 4310 behind the proxy.";
  await service.startTurn({ sessionId: await newSession(), prompt });
  expect((await service.searchMemory({ query }))[0]).toMatchObject({ content: prompt, turn: 0 });
  await service.startTurn({ sessionId: await newSession(), prompt: "Where is staging?" });
  expect(found(model)[0]).toBe(prompt);
});

test("a model's search leaves out what its window shows, however much of it matches", async () => {
  const { service, model, newSession } = await open([
    ...Array(12).fill("Noted."),
    searches("port of staging"),
    "ok",
  ]);
  const other = await newSession();
  await service.startTurn({ sessionId: other, prompt: "The port of staging was 1000 last year." });
  const sessionId = await newSession();
  for (let turn = 1; turn < 12; turn += 1) {
    await service.startTurn({ sessionId, prompt: `The port of staging is ${turn} now.` });
  }
  await service.startTurn({ sessionId, prompt: "What was it?" });
  expect(found(model)).toEqual(["The port of staging was 1000 last year."]);
});

test("what a compaction removed is found by the session's own model again", async () => {
  const { service, model, newSession } = await open(
    ["Noted.", LONG, LONG, searches("port of staging"), "ok"],
    { compaction: { recentTurnBudget: 1, summarizer: "fallback" } },
  );
  const sessionId = await newSession();
  await service.startTurn({ sessionId, prompt: "The port of staging is 4310." });
  await service.startTurn({ sessionId, prompt: LONG });
  await service.startTurn({ sessionId, prompt: LONG });
  expect(await service.compact({ sessionId })).toMatchObject({ compacted: true });
  await service.startTurn({ sessionId, prompt: "Where is staging?" });
  expect(found(model)).toContain("The port of staging is 4310.");
});

test("with the scope `discarded`, only what a compaction removed is in memory", async () => {
  const { service, newSession } = await open(["Noted.", LONG, LONG], {
    memoryScope: "discarded",
    compaction: { recentTurnBudget: 1, summarizer: "fallback" },
  });
  const sessionId = await newSession();
  await service.startTurn({ sessionId, prompt: "The port of staging is 4310." });
  await service.startTurn({ sessionId, prompt: LONG });
  await service.startTurn({ sessionId, prompt: LONG });
  expect(await service.listMemory({})).toEqual([]);
  await service.compact({ sessionId });
  expect((await service.listMemory({})).length).toBe(4);
});

test("a session without memory stays out", async () => {
  const { service } = await open(["Noted."]);
  const { sessionId } = await service.createSession({ memory: false });
  await service.startTurn({ sessionId, prompt: "The port of staging is 4310." });
  expect(await service.listMemory({})).toEqual([]);
});

test("what the user said comes before the results of tools, and is shown once however often they repeat it", async () => {
  const said = "Staging uses port 4310 behind the proxy.";
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({ what: z.string() }),
    execute: ({ what }) => (what === "copy" ? said : `The port of staging: ${what} staging port.`),
  });
  const calls = ["copy", "other"].map((what) => ({ id: what, name: "look", args: { what } }));
  const { service, newSession } = await open([{ toolCalls: calls }, "Noted."], { tools: [look] });
  await service.startTurn({ sessionId: await newSession(), prompt: said });
  const facts = await service.searchMemory({ query: "port staging", kind: "fact" });
  expect(facts).toHaveLength(2);
  const hits = await service.searchMemory({ query: "which port does staging use" });
  expect(hits.map(({ kind, content }) => [kind, content.slice(0, 30)])).toEqual([
    ["message", said.slice(0, 30)],
    ["fact", "Tool 'look' result: The port o"],
  ]);
});

test("a model asks in several ways at once, and gets each entry once", async () => {
  const queries = ["test environment address", "which port does staging use"];
  const { service, model, newSession } = await open([
    "Noted.",
    { toolCalls: [{ id: "call", name: "memory_search", args: { query: queries } }] },
    "4310",
  ]);
  const prompt = "Staging uses port 4310 behind the proxy.";
  await service.startTurn({ sessionId: await newSession(), prompt });
  await service.startTurn({ sessionId: await newSession(), prompt: "Where is it?" });
  expect(found(model)).toEqual([prompt]);
});
