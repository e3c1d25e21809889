import { expect, onTestFinished, test } from "vitest";
import type { MemoryRecalled } from "../src/core/event.ts";
import { createSessionService, type ServiceOptions } from "../src/index.ts";
import { MemoryAudit } from "../src/session/memory-audit.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";

function openProject(options: Partial<ServiceOptions> = {}) {
  const stores: Stores = sqliteStores({ path: ":memory:" });
  const model = scriptedModel(() => "Noted.");
  const service = createSessionService({ model, stores, knowledge: false, ...options });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  const recalledIn = async (sessionId: string) => {
    const ids: (readonly string[])[] = [];
    for await (const { event } of stores.events.read(sessionId, 0)) {
      if (event.type === "memory_recalled")
        ids.push((event as MemoryRecalled).records.map(({ id }) => id));
    }
    return ids;
  };
  return { service, stores, model, recalledIn };
}

const FILLER = "The harbour was quiet, and the tide came in as it does each evening. ".repeat(30);

test("each session begins with what is pinned, once, and again after a compaction", async () => {
  const { service, model, recalledIn } = openProject({
    compaction: {
      recentTurnBudget: 1,
      userWordsTokens: 0,
      keepAnchors: false,
      summarizer: scriptedModel(
        () => "The harbour was quiet in the evening, and the tide came in.",
      ),
    },
  });
  const added = await service.addMemory({ content: "Deployments go through Mara." });
  await service.addMemory({ content: "The cafeteria closes at four." });
  const { id } = await service.editMemory({ id: added.id, pinned: true });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "Good morning." });
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("Added by hand, ");
  expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain("cafeteria");
  for (let turn = 0; turn < 4; turn += 1) await service.startTurn({ sessionId, prompt: FILLER });
  expect(await recalledIn(sessionId)).toEqual([[id]]);
  expect((await service.compact({ sessionId })).compacted).toBe(true);
  await service.startTurn({ sessionId, prompt: "Good evening." });
  const again = (await recalledIn(sessionId)).map((ids) => ids.includes(id));
  expect(again).toEqual([true, true]);
  await service.refuseRecall({ sessionId, ids: [id] });
  await service.compact({ sessionId });
  await service.startTurn({ sessionId, prompt: "Good night." });
  expect((await recalledIn(sessionId)).slice(2).flat()).not.toContain(id);
  await service.editMemory({ id, pinned: false });
  const next = await service.createSession({});
  await service.startTurn({ ...next, prompt: "Good morning." });
  expect(await recalledIn(next.sessionId)).toEqual([]);
});

test("an edit that was cut off between its two steps is ended by the same edit, or when memory is compared", async () => {
  const { service, stores } = openProject();
  const { memory, events } = stores;
  const texts = ["The port is 4310.", "The port is 4311."] as const;
  const before = async () => (await service.addMemory({ content: texts[0] })).id;
  const cutOff = async () => {
    const id = await before();
    const { delete: remove } = memory;
    memory.delete = () => Promise.reject(new Error("killed"));
    await expect(service.editMemory({ id, content: texts[1] })).rejects.toThrow("killed");
    memory.delete = remove;
    expect(await service.listMemory({})).toHaveLength(2);
    return id;
  };
  const id = await cutOff();
  const edited = await service.editMemory({ id, content: texts[1] });
  expect(await service.listMemory({})).toEqual([edited]);
  expect(edited.earlier?.map(({ content }) => content)).toEqual([texts[0]]);
  await service.forgetMemory({ ids: [edited.id] });

  await cutOff();
  const audit = () => new MemoryAudit({ events, memory });
  expect((await audit().check()).problems).toEqual([
    `Memory has ${id}, which ${edited.id} replaced.`,
  ]);
  await audit().mend();
  expect((await audit().check()).problems).toEqual([]);
  expect((await service.listMemory({})).map(({ content }) => content)).toEqual([texts[1]]);
  // What is added again later is no leftover.
  await before();
  expect((await audit().check()).problems).toEqual([]);
});

test("an entry that is edited back says what it said in between", async () => {
  const { service } = openProject();
  const { id } = await service.addMemory({ content: "The port is 4310." });
  const edited = await service.editMemory({ id, content: "The port is 4311." });
  const back = await service.editMemory({ id: edited.id, content: "The port is 4310." });
  expect(back.id).toBe(id);
  expect(back.earlier?.map(({ content }) => content)).toEqual([
    "The port is 4310.",
    "The port is 4311.",
  ]);
  expect(await service.listMemory({})).toEqual([back]);
});
