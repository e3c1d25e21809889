import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import type { DurableEvent, NewEvent } from "../src/core/event.ts";
import { newId } from "../src/core/ids.ts";
import { NO_USAGE } from "../src/core/usage.ts";
import { createSessionService } from "../src/index.ts";
import { openMemoryOperations } from "../src/session/memory-operations.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";

async function learned() {
  const stores = sqliteStores({ path: `${await temporaryFolder()}/rkat.db` });
  onTestFinished(() => stores.close());
  const service = createSessionService({ model: scriptedModel([]), stores });
  const entry = await service.addKnowledge({ content: "Always squash before merging." });
  return { stores, service, entry };
}

test("a search without a service marks what was learned as used, as a search through one does", async () => {
  for (const way of ["service", "alone"]) {
    const { stores, service, entry } = await learned();
    expect(entry.usedAt).toBeUndefined();
    const query = { query: "squash before merging" };
    if (way === "service") await service.searchMemory(query);
    else await openMemoryOperations({ stores }).searchMemory(query);
    const { usedAt } = await service.readKnowledge({ knowledgeId: entry.id });
    expect(usedAt).toBeDefined();
    await service.close();
  }
});

test("memory without a service has what the log has for it, and what the project learned from it", async () => {
  const { stores, service } = await learned();
  await service.close();
  const settings = { model: "m", memory: true, knowledge: true, labels: {} };
  const prompt = "From now on always run the linter.";
  await stores.events.append("s", 0, [
    at({ type: "session_created", session_id: "s", settings }),
    at({ type: "run_started", session_id: "s", prompt }),
    at({
      type: "compaction_completed",
      summary_tokens: 1,
      messages_before: 1,
      messages_after: 1,
      tokens_before: 2,
      tokens_after: 1,
      summary: "",
      discarded: [{ from: 2, to: 2, turns_before: 0 }],
      discarded_messages: 1,
      pruned: [],
      summarised_by: "none",
      usage: NO_USAGE,
    }),
  ]);
  const hits = await openMemoryOperations({ stores }).searchMemory({ query: "run the linter" });
  const found = hits.filter(({ content }) => content.includes("linter"));
  expect(found.map(({ kind }) => kind).sort()).toEqual(["message", "preference", "rule"]);
});

test("a service works without a file, with memory and all, and leaves none", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  const service = createSessionService({
    model: scriptedModel([]),
    stores,
    compaction: {
      autoCompactThreshold: 1500,
      minTurnsBetweenCompactions: 1,
      summarizer: "fallback",
    },
    builtinTools: false,
  });
  const { sessionId } = await service.createSession({});
  const say = (prompt: string) => service.startTurn({ sessionId, prompt });
  await say(`The heron nests in reed bed nine. ${"It rained all day. ".repeat(150)}`);
  for (const turn of ["one", "two", "three"])
    await say(`${turn}: ${"and it rained. ".repeat(150)}`);
  const [hit] = await service.searchMemory({ query: "heron reed bed", limit: 1 });
  expect(hit?.content).toContain("reed bed nine");
  const outcome = await service.forgetMemory({ ids: [hit?.id ?? ""] });
  expect(outcome.forgotten).toBe(1);
  expect(await service.searchHistory({ query: "heron" })).toEqual([]);
  await service.close();
  await stores.close();
  expect(existsSync(":memory:")).toBe(false);
});

test("memory that is off, or only filled, is not searched without a service either", async () => {
  const { stores, service } = await learned();
  await service.close();
  const off = openMemoryOperations({ stores, memory: false });
  await expect(off.searchMemory({ query: "squash" })).rejects.toMatchObject({
    code: "SESSION_MEMORY_DISABLED",
  });
  const filled = openMemoryOperations({ stores, searchableMemory: false });
  await expect(filled.searchMemory({ query: "squash" })).rejects.toThrow("Memory is kept");
  expect((await filled.memoryStats({})).entries).toBeGreaterThan(0);
});

const at = (event: DurableEvent): NewEvent => ({ event_id: newId(), timestamp_ms: 0, event });
