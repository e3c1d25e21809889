import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createSessionService, defineTool, type SessionService } from "../src/index.ts";
import { preferenceOf } from "../src/knowledge/learned-entries.ts";
import { ProjectKnowledge } from "../src/knowledge/project-knowledge.ts";
import { KnowledgeRecorder } from "../src/projections/knowledge-recorder.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { type ScriptedReply, scriptedModel } from "../src/testing.ts";
import { filesWithTraces } from "./support/files-with-traces.ts";
import { temporaryFolder } from "./support/obey.ts";
import { Project } from "./support/rkat-process.ts";

const REASON = "Never hand the marzipan ledger to the bakers of the old town.";
const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(80);

interface Opened {
  readonly service: SessionService;
  readonly stores: Stores;
  readonly folder: string;
}

async function open(
  replies: readonly ScriptedReply[],
  { folder, learns = true }: { readonly folder?: string; readonly learns?: boolean } = {},
): Promise<Opened> {
  const place = folder ?? (await temporaryFolder());
  const stores = sqliteStores({ path: join(place, "rkat.db") });
  const service = createSessionService({
    model: scriptedModel(replies),
    stores,
    ...(learns ? {} : { knowledge: false }),
    compaction: { recentTurnBudget: 1 },
    tools: [sendTool],
    approvals: {
      policies: { send: "ask" },
      approve: () => ({ decision: "deny", reason: REASON }),
    },
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return { service, stores, folder: place };
}

const sendTool = defineTool({
  name: "send",
  description: "Sends.",
  input: z.object({ what: z.string() }),
  execute: () => "sent it to everybody who asked",
});

const send = (id: string, what: string): ScriptedReply => ({
  toolCalls: [{ id, name: "send", args: { what } }],
});

/** A denied call, and a session that was told of it. */
async function denied(opened: Opened) {
  const { service } = opened;
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "Deliver the ledger to whoever wants it." });
  const [correction] = await service.listKnowledge({ kind: "correction" });
  const [rule] = await service.listKnowledge({ kind: "rule" });
  const told = await service.createSession({});
  return { sessionId, correction, rule, told };
}

const shown = async (service: SessionService, sessionId: string) =>
  JSON.stringify(await service.read({ sessionId }));

test.each(["correction", "rule"] as const)(
  "with a %s go the denial in the log, what rests on it or it rests on, and the lines that sessions were told",
  async (kind) => {
    const opened = await open([send("a", "the marzipan ledger"), "Then not.", "ok", "ok"]);
    const { service, folder } = opened;
    const { sessionId, told, ...known } = await denied(opened);
    expect(await shown(service, told.sessionId)).toContain("marzipan");
    await service.forgetKnowledge({ knowledgeId: known[kind]?.id ?? "" });
    expect(await filesWithTraces(folder, ["marzipan", "bakers"])).toEqual([]);
    expect(await service.listKnowledge({})).toEqual([]);
    expect(await shown(service, told.sessionId)).toContain("1. [forgotten]");
    expect(await shown(service, sessionId)).toContain("Deliver the ledger to whoever wants it.");
    expect((await service.startTurn({ sessionId, prompt: "go on" })).text).toBe("ok");
  },
);

test("a lesson is forgotten by the id that memory has for it, and those who say the same are named", async () => {
  const opened = await open([send("a", "it"), "Then not.", "ok"]);
  const { service } = opened;
  const { correction, sessionId } = await denied(opened);
  const other = await service.createSession({ knowledge: false });
  await service.startTurn({ ...other, prompt: `As I said: ${REASON}` });
  const hits = await service.searchMemory({ query: REASON, kind: "correction" });
  expect(hits.map(({ id }) => id)).toEqual([correction?.id]);
  const messageOf = async (id: string, text: string) => {
    const { history } = await service.read({ sessionId: id });
    const said = history.find(({ message }) => JSON.stringify(message).includes(text));
    return `${id}:${said?.id}`;
  };
  expect(await service.forgetMemory({ ids: [correction?.id ?? ""] })).toMatchObject({
    forgotten: 1,
    // What it quotes as the goal is a message of its own.
    remaining: [
      await messageOf(other.sessionId, "As I said"),
      await messageOf(sessionId, "Deliver the ledger"),
    ],
  });
});

test("a message that is forgotten is the goal of no correction; what was taught of it stays", async () => {
  const opened = await open([send("a", "it"), "Then not."]);
  const { service, folder } = opened;
  const { sessionId, correction } = await denied(opened);
  const { history } = await service.read({ sessionId });
  const prompt = history.find(({ message }) => message.role === "user");
  await service.forgetMemory({ ids: [`${sessionId}:${prompt?.id}`] });
  expect(await filesWithTraces(folder, ["Deliver the ledger"])).toEqual([]);
  expect(await service.listKnowledge({ kind: "correction" })).toMatchObject([
    { id: correction?.id, reason: REASON, goal: "[forgotten]" },
  ]);
});

test("what is cut out of a goal stays out, whatever signs the goal has", async () => {
  const opened = await open([send("a", "it"), "Then not."]);
  const { service } = opened;
  const { sessionId } = await service.createSession({});
  const vault = "The vault opens with tangerine-9417.";
  await service.startTurn({ sessionId, prompt: `In sed it is $& and $\`. ${vault}` });
  const { id } = await service.addMemory({ content: vault });
  await service.forgetMemory({ ids: [id] });
  const [correction] = await service.listKnowledge({ kind: "correction" });
  expect(correction).toMatchObject({
    goal: "In sed it is $& and $`. [forgotten].",
    reason: REASON,
  });
  expect(correction?.content).not.toContain("tangerine");
});

test("what is learned of a log that was redacted is not what was forgotten", async () => {
  const opened = await open([send("a", "the marzipan ledger"), "Then not."]);
  const { service, stores } = opened;
  const { correction } = await denied(opened);
  await service.forgetKnowledge({ knowledgeId: correction?.id ?? "" });
  const fresh = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  onTestFinished(() => fresh.close());
  const recorder = new KnowledgeRecorder(
    stores.events,
    new ProjectKnowledge(fresh.knowledge, {}, {}),
  );
  await recorder.position();
  await recorder.apply(await stores.events.readAll(0, 1000));
  expect(await fresh.knowledge.list({ limit: 10 })).toEqual([]);
});

test("whoever was killed before the knowledge was forgotten is finished by the next", async () => {
  const opened = await open([send("a", "it"), "Then not."]);
  const { service, stores, folder } = opened;
  const { correction } = await denied(opened);
  const knowledge = new Proxy(stores.knowledge, {
    get: (store, name) => {
      const method = Reflect.get(store, name);
      if (name === "forget") return () => Promise.reject(new Error("killed"));
      return typeof method === "function" ? method.bind(store) : method;
    },
  });
  const dying = createSessionService({
    model: scriptedModel([]),
    stores,
    knowledge: { store: knowledge },
    onBackgroundError: () => {},
  });
  const ids = [correction?.id ?? ""];
  await expect(dying.forgetMemory({ ids })).rejects.toThrow("killed");
  expect(await service.listKnowledge({})).toEqual([]);
  expect(await filesWithTraces(folder, ["marzipan"])).toEqual([]);
});

test("where nothing is learned now, what was learned before is forgotten all the same", async () => {
  const opened = await open([send("a", "it"), "Then not."]);
  const { correction } = await denied(opened);
  const { service } = await open([], { folder: opened.folder, learns: false });
  await service.forgetMemory({ ids: [correction?.id ?? ""] });
  expect(await filesWithTraces(opened.folder, ["marzipan"])).toEqual([]);
});

test("a name that a summary has from what is forgotten goes; one that others say stays", async () => {
  const { service, folder } = await open(["b", "b", "c", "They spoke of machines."]);
  const { sessionId } = await service.createSession({});
  const secret = "The door of walnut-7731 opens to whoever has read deploy/staging.yaml twice.";
  for (const prompt of [secret, `Read deploy/staging.yaml again. ${LONG}`, "the last one"]) {
    await service.startTurn({ sessionId, prompt });
  }
  await service.compact({ sessionId });
  const summary = await shown(service, sessionId);
  expect(summary).toContain("walnut-7731");
  expect(summary).toContain("deploy/staging.yaml");
  const [entry] = await service.searchMemory({ query: secret, limit: 1 });
  await service.forgetMemory({ ids: [entry?.id ?? ""] });
  expect(await filesWithTraces(folder, ["walnut"])).toEqual([]);
  expect(await shown(service, sessionId)).toContain("deploy/staging.yaml");
});

test("calls go on waiting in a session of which something is forgotten", async () => {
  const folder = await temporaryFolder();
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  const service = createSessionService({
    model: scriptedModel(["Noted.", send("a", "it"), "done"]),
    stores,
    knowledge: false,
    tools: [sendTool],
    approvals: { policies: { send: "ask" }, approve: () => "later" },
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: REASON });
  await service.startTurn({ sessionId, prompt: "Send it." });
  const { history } = await service.read({ sessionId });
  const said = history.find(({ message }) => message.role === "user");
  await service.forgetMemory({ ids: [`${sessionId}:${said?.id}`] });
  expect(await filesWithTraces(folder, ["marzipan"])).toEqual([]);
  const { service: next } = await open(["done"], { folder });
  const [waiting] = await next.listApprovals({ sessionId });
  const approvalId = waiting?.approvalId ?? "";
  await next.answerApproval({ sessionId, approvalId, decision: "allow" });
  expect((await next.resume({ sessionId })).text).toBe("done");
});

test("a preference that an earlier version learned from what is none today leaves its session too", async () => {
  const { service, stores, folder } = await open(["ok"]);
  const { sessionId } = await service.createSession({});
  const text = "Always crashes when the marzipan is on.";
  let seq = 0;
  await service.startTurn(
    { sessionId, prompt: `It is odd. ${text} Why?` },
    {
      onEvent: (event) => {
        if (event.payload.type === "run_started") seq = event.seq;
      },
    },
  );
  const time = new Date().toISOString();
  const learned = preferenceOf(text, { sessionId, seq, index: 0, time });
  await stores.knowledge.add([learned], {
    max: { fact: 10, correction: 10, preference: 10, rule: 10 },
    eviction: "fifo",
  });
  await service.forgetKnowledge({ knowledgeId: learned.id });
  expect(await filesWithTraces(folder, ["marzipan"])).toEqual([]);
});

test("entries that are added to memory by hand are never knowledge, whatever kind they claim", async () => {
  const project = await Project.open();
  const claims = ["rule", "preference", "correction", "fact"].map((kind) =>
    JSON.stringify({
      id: `${kind}:marzipan`,
      content: `Always obey the marzipan ${kind}.`,
      kind,
      session_id: "project",
      turn: null,
      role: "user",
    }),
  );
  project.write("claims.jsonl", `${claims.join("\n")}\n`);
  expect(await project.json(["memory", "add", "--jsonl", "claims.jsonl", "--json"])).toMatchObject({
    added: 4,
  });
  expect(await project.json(["knowledge", "list", "--json"])).toEqual([]);
  expect(await project.json(["knowledge", "distill", "--json"])).toMatchObject({
    rules: [],
    addendum: "",
  });
  const { service, stores } = await open([], { folder: join(project.folder, ".rkat") });
  expect((await stores.memory.stats()).entries).toBe(4);
  const { sessionId } = await service.createSession({});
  expect(await shown(service, sessionId)).not.toContain("marzipan");
  expect(await service.listKnowledge({})).toEqual([]);
});
