import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { HnswMemoryStore } from "../src/hnsw.ts";
import { createSessionService, defineTool, type SessionService } from "../src/index.ts";
import { MemoryIndex } from "../src/projections/memory-index.ts";
import { connectRest } from "../src/rest.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { BUILDS, type ScriptedReply, scriptedModel } from "../src/testing.ts";
import { filesWithTraces } from "./support/files-with-traces.ts";
import { startScriptedRest } from "./support/rest-process.ts";
import { Project } from "./support/rkat-process.ts";

const SECRET = 'The vault opens with "tangerine-9417",\nand Ottilie keeps the paper of it.';
const LASTING = "Always hide the marzipan-3381 note behind the clock.";
const TRACES = ["tangerine", "Ottilie keeps", "marzipan"];
const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(80);

interface Place {
  readonly project: Project;
  readonly data: string;
  readonly isHnsw: boolean;
}

interface Opened {
  readonly service: SessionService;
  readonly stores: ReturnType<typeof sqliteStores>;
  close(): Promise<void>;
}

async function placeFor(store: "sqlite" | "hnsw"): Promise<Place> {
  const isHnsw = store === "hnsw";
  const project = await Project.open(isHnsw ? { config: '[memory]\nstore = "hnsw"' } : {});
  return { project, data: join(project.folder, ".rkat"), isHnsw };
}

function open({ data, isHnsw }: Place, replies: readonly ScriptedReply[], answer = "deny"): Opened {
  const stores = sqliteStores({ path: join(data, "rkat.db") });
  const file = join(data, "search_index", "memory.hnsw");
  const memory = isHnsw ? new HnswMemoryStore({ entries: stores.memory, file }) : stores.memory;
  const service = createSessionService({
    model: scriptedModel(replies),
    stores,
    memory,
    compaction: { recentTurnBudget: 1 },
    sessionFiles: join(data, "sessions"),
    tools: [lookTool, sendTool],
    approvals: {
      policies: { send: "ask" },
      approve: () => (answer === "deny" ? { decision: "deny", reason: `No: ${SECRET}` } : "later"),
    },
  });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= service
      .close()
      .then(() => (isHnsw ? memory.close() : undefined))
      .then(() => stores.close());
    return closing;
  };
  onTestFinished(close);
  return { service, stores, close };
}

const lookTool = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  execute: () => `In the drawer lies a paper: ${SECRET} Nothing else is in it.`,
});

const sendTool = defineTool({
  name: "send",
  description: "Sends.",
  input: z.object({ text: z.string() }),
  execute: () => "sent it to everybody who asked",
});

const call = (id: string, name: string, args: unknown): ScriptedReply => ({
  toolCalls: [{ id, name, args }],
});

/** Says it in every way there is, in several sessions. */
async function lived(place: Place) {
  const first = open(place, [
    call("a", "look", {}),
    call("b", "send", { text: SECRET }),
    { text: "Noted.", reasoning: `They say: ${SECRET}` },
    call("c", "update_task", { notes: { paper: SECRET } }),
    "b",
    "b",
    "c",
    "They told of a vault.",
  ]);
  const { service } = first;
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: SECRET });
  await service.updateTask({ sessionId, goal: SECRET, add: [`Look whether ${SECRET}`] });
  for (const prompt of [`Hello. ${LASTING}\nFix the lamp.`, LONG, "the last one"])
    await service.startTurn({ sessionId, prompt });
  expect(await service.compact({ sessionId })).toMatchObject({ compacted: true });
  await first.close();

  const second = open(
    place,
    ["ok", call("d", "send", { text: SECRET }), call("e", "memory_search", { query: "vault" })],
    "later",
  );
  const told = await second.service.createSession({});
  const { history } = await second.service.read(told);
  expect(JSON.stringify(history)).toContain("marzipan");
  await second.service.startTurn({ ...told, prompt: `Remember: ${SECRET}` });
  const said = (await second.service.read(told)).history.at(-2)?.id ?? 0;
  await second.service.pin({ ...told, message: said });
  const waiting = await second.service.createSession({});
  await second.service.startTurn({ ...waiting, prompt: "send what you know" });
  expect(await second.service.listApprovals({})).toHaveLength(1);
  const kinds = (await second.service.listKnowledge({})).map(({ kind }) => kind).sort();
  expect(kinds).toEqual(["correction", "fact", "preference", "rule", "rule"]);
  const entries = await second.service.listMemory({ sessionId });
  const id = entries.find(({ content }) => content === SECRET)?.id ?? "";
  const [preference] = await second.service.listKnowledge({ kind: "preference" });
  await second.close();
  return {
    sessionId,
    id,
    preference: preference?.id ?? "",
    pinned: `${told.sessionId}:${said}`,
    told,
    waiting,
  };
}

interface Outcome {
  readonly forgotten: number;
  readonly remaining: readonly string[];
}

type Forget = (ids: readonly string[]) => Promise<Outcome>;

async function overCli({ project }: Place): Promise<Forget> {
  return async (ids) => (await project.json(["memory", "forget", ...ids, "--json"])) as Outcome;
}

async function overRest({ project }: Place): Promise<Forget> {
  const setup = { capabilities: BUILDS.F ?? [], replies: [] };
  const server = await startScriptedRest(project.folder, setup);
  const service = connectRest({ url: server.url });
  return (ids) => service.forgetMemory({ ids: [...ids] });
}

test.each([
  ["the command", overCli, "sqlite"],
  ["the command, with nearest neighbours", overCli, "hnsw"],
  ["REST", overRest, "sqlite"],
] as const)(
  "what is forgotten over %s is in no byte, and does not come back",
  async (_, surface, store) => {
    const place = await placeFor(store);
    const { sessionId, id, preference, pinned, told, waiting } = await lived(place);
    for (const trace of TRACES) expect(await filesWithTraces(place.data, [trace])).not.toEqual([]);

    const forget = await surface(place);
    const { remaining } = await forget([id]);
    expect(remaining).toEqual([pinned]);
    expect(await forget([...remaining, preference])).toMatchObject({ forgotten: 2, remaining: [] });
    expect(await filesWithTraces(place.data, TRACES)).toEqual([]);

    const again = open(place, ["sent", "more", "more", "They told of a vault."]);
    const { service, stores } = again;
    expect(await service.listKnowledge({})).toEqual([]);
    expect((await service.pins(told)).pins).toHaveLength(1);
    const [pending] = await service.listApprovals({});
    expect(pending).toMatchObject({ args: { text: "[forgotten]" }, ...waiting });
    const { approvalId = "" } = pending ?? {};
    await service.answerApproval({ ...waiting, approvalId, decision: "allow" });
    expect((await service.resume(waiting)).text).toBe("sent");
    await service.startTurn({ sessionId, prompt: LONG });
    await service.startTurn({ sessionId, prompt: "and now?" });
    await service.compact({ sessionId });
    await service.createSession({});
    await stores.memory.reindex();
    const log = await stores.events.readAll(0, 10_000);
    await new MemoryIndex(stores.events, stores.memory).apply(log);
    expect((await stores.memory.verify()).problems).toEqual([]);
    const { entries } = await stores.memory.stats();
    expect(entries).toBeGreaterThan(5);
    expect((await service.searchMemory({ query: "fix the lamp" }))[0]).toMatchObject({
      content: "Hello. [forgotten].\nFix the lamp.",
    });
    await again.close();
    expect(await filesWithTraces(place.data, TRACES)).toEqual([]);
  },
);
