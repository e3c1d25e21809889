import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  createSessionService,
  defineTool,
  EphemeralEventStore,
  ephemeralStores,
} from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { type ScriptedReply, scriptedModel } from "../src/testing.ts";
import { filesWithTraces } from "./support/files-with-traces.ts";

const SECRET = "The vault opens with tangerine-9417, says Ottilie.";

interface Setup {
  readonly keepDeletedDays?: number;
  readonly replies?: readonly ScriptedReply[];
}

function open(data: string, { keepDeletedDays, replies }: Setup = {}) {
  const stores = sqliteStores({ path: join(data, "rkat.db") });
  const service = createSessionService({
    model: scriptedModel(replies ?? ["Noted.", "Noted.", "Noted."]),
    stores,
    tools: [sendTool],
    sessionFiles: join(data, "sessions"),
    ...(keepDeletedDays === undefined ? {} : { keepDeletedDays }),
  });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= service.close().then(() => stores.close());
    return closing;
  };
  onTestFinished(close);
  return { service, close };
}

const sendTool = defineTool({
  name: "send",
  description: "Sends.",
  input: z.object({ what: z.string() }),
  execute: () => "sent",
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "rkat-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const traces = (data: string) => filesWithTraces(data, ["tangerine-9417", "Ottilie"]);

test("a session that is deleted now leaves no text", async () => {
  const data = newFolder();
  const { service, close } = open(data);
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: SECRET });
  await service.delete({ sessionId });
  expect(await traces(data)).not.toEqual([]);
  await service.delete({ sessionId, now: true });
  await close();
  expect(await traces(data)).toEqual([]);
});

test("forgetting a text deletes the deleted sessions that say it for good, and the receipt says so", async () => {
  const data = newFolder();
  const { service, close } = open(data);
  const [first, other, last] = [
    await service.createSession({}),
    await service.createSession({}),
    await service.createSession({}),
  ];
  await service.startTurn({ ...first, prompt: SECRET });
  await service.startTurn({ ...other, prompt: "Lunch is at noon." });
  await service.startTurn({ ...last, prompt: SECRET });
  await service.delete(first);
  await service.delete(other);
  const [hit] = await service.searchMemory({ query: "vault" });
  const { cleaned } = await service.forgetMemory({ ids: [hit?.id ?? ""] });
  expect(cleaned).toContainEqual({ place: "trash", count: 1 });
  const listed = await service.list({ deleted: true });
  expect(listed.map(({ sessionId }) => sessionId)).toEqual([other.sessionId]);
  await close();
  expect(await traces(data)).toEqual([]);
});

test("a deleted session that has only a copy of a forgotten text goes for good, too", async () => {
  const data = newFolder();
  const { service, close } = open(data, {
    replies: [
      "Noted.",
      { toolCalls: [{ id: "a", name: "send", args: { what: SECRET } }] },
      "Sent.",
    ],
  });
  const [first, other] = [await service.createSession({}), await service.createSession({})];
  await service.startTurn({ ...first, prompt: SECRET });
  await service.startTurn({ ...other, prompt: "Send it." });
  await service.delete(other);
  const [hit] = await service.searchMemory({ query: "vault" });
  const { cleaned } = await service.forgetMemory({ ids: [hit?.id ?? ""] });
  expect(cleaned).toContainEqual({ place: "trash", count: 1 });
  expect(await service.list({ deleted: true })).toEqual([]);
  await close();
  expect(await traces(data)).toEqual([]);
});

test("forgetting a session that was deleted takes it out of the trash", async () => {
  const data = newFolder();
  const { service, close } = open(data);
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: SECRET });
  await service.delete({ sessionId });
  const { forgotten, cleaned } = await service.forgetMemory({ sessionId });
  // The system prompt is a message, too.
  expect({ forgotten, cleaned }).toEqual({ forgotten: 3, cleaned: [{ place: "trash", count: 1 }] });
  await close();
  expect(await traces(data)).toEqual([]);
});

test("what has been in the trash for too long goes, and 0 days keep nothing", async () => {
  const data = newFolder();
  const before = open(data);
  const first = await before.service.createSession({});
  await before.service.startTurn({ ...first, prompt: SECRET });
  await before.service.delete(first);
  await before.close();

  const { service, close } = open(data, { keepDeletedDays: 0 });
  expect(await service.list({ deleted: true })).toEqual([]);
  await expect(service.restore(first)).rejects.toThrow(/No deleted session/);
  const second = await service.createSession({});
  await service.startTurn({ ...second, prompt: SECRET });
  await service.delete(second);
  await close();
  expect(await traces(data)).toEqual([]);
});

test("a session that is deleted while memory and learning are switched off is in neither afterwards", async () => {
  const stores = sqliteStores({ path: join(newFolder(), "rkat.db") });
  const model = scriptedModel(["Noted."]);
  const on = createSessionService({ model, stores });
  const { sessionId } = await on.createSession({});
  await on.startTurn({ sessionId, prompt: SECRET, origin: { author: "user" } });
  expect(await on.searchMemory({ query: SECRET })).not.toEqual([]);
  await on.close();
  const off = createSessionService({ model, stores, memory: false, knowledge: false });
  onTestFinished(async () => {
    await off.close();
    await stores.close();
  });
  await off.delete({ sessionId, now: true });
  expect(await stores.memory.list({ limit: 10 })).toEqual([]);
});

test("what was learned in a session is there once after it was restored", async () => {
  const { service } = open(newFolder());
  const { sessionId } = await service.createSession({});
  const prompt = "Always use pnpm. Never push to main.";
  await service.startTurn({ sessionId, prompt, origin: { author: "user" } });
  const learned = async () => (await service.listKnowledge({})).map(({ content }) => content);
  const before = await learned();
  expect(before).toContain("Always use pnpm.");
  await service.delete({ sessionId });
  await service.restore({ sessionId });
  expect(await learned()).toEqual(before);
});

test("a restore that fails in the middle leaves the session in the trash, or brings it back as a whole", async () => {
  const stores = sqliteStores({ path: join(newFolder(), "rkat.db") });
  const { sessions } = stores;
  let isFull = false;
  const save: typeof sessions.save = async (snapshot) => {
    if (isFull) throw new Error("database or disk is full");
    await sessions.save(snapshot);
  };
  const full = new Proxy(sessions, {
    get: (target, name) => (name === "save" ? save : Reflect.get(target, name).bind(target)),
  });
  const service = createSessionService({
    model: scriptedModel(["Noted."]),
    stores: { ...stores, sessions: full },
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: SECRET });
  await service.delete({ sessionId });
  isFull = true;
  await service.restore({ sessionId }).catch(() => {});
  const live = (await sessions.list({})).map(({ id }) => id);
  const logged = (await stores.events.readAll(0, 1000)).map((event) => event.sessionId);
  expect([...new Set(logged)]).toEqual(live);
});

test.each(["save", "saveAndRelease"] as const)(
  "a turn whose session another process has taken and deleted does not bring it back into the list: %s",
  async (step) => {
    const stores = sqliteStores({ path: join(newFolder(), "rkat.db") });
    const { sessions } = stores;
    const LEASE_MS = 1;
    const other = { id: "other", host: "elsewhere", pid: 1 };
    let deletes = false;
    let wasSuspended = false;
    /** A process that is suspended before it saves a snapshot. Meanwhile its lease ends and another deletes the session. */
    const suspended = new Proxy(sessions, {
      get(target, name: keyof typeof sessions) {
        if (name === "saveAndRelease" && step === "save") return undefined;
        if (name === step && deletes) {
          return async (...[snapshot, held]: Parameters<typeof sessions.save>) => {
            expect(held).toBeDefined();
            const { key = "", owner = other } = held ?? {};
            await sessions.acquire(key, owner, LEASE_MS);
            await expect.poll(() => sessions.acquire(key, other, 60_000)).toBe(true);
            await sessions.delete(snapshot.id);
            await stores.events.delete(snapshot.id);
            await sessions[step]?.(snapshot, { key, owner });
            wasSuspended = true;
          };
        }
        const method = Reflect.get(target, name);
        return typeof method === "function" ? method.bind(target) : method;
      },
    });
    const service = createSessionService({
      model: scriptedModel(["Noted."]),
      stores: { ...stores, sessions: suspended },
    });
    onTestFinished(async () => {
      await service.close();
      await stores.close();
    });
    const { sessionId } = await service.createSession({});
    deletes = true;
    await service.startTurn({ sessionId, prompt: SECRET });
    expect(wasSuspended).toBe(true);
    expect(await sessions.list({})).toEqual([]);
  },
);

test("a session of which only its place in the list is left can be deleted", async () => {
  const data = newFolder();
  const before = open(data);
  const { sessionId } = await before.service.createSession({});
  await before.close();
  const stores = sqliteStores({ path: join(data, "rkat.db") });
  await stores.events.delete(sessionId);
  await stores.close();
  const { service } = open(data);
  expect(await service.list({})).toHaveLength(1);
  await service.delete({ sessionId });
  expect(await service.list({})).toEqual([]);
  await expect(service.delete({ sessionId })).rejects.toThrow(/No session has the id/);
});

test("a session that is deleted while something of it is forgotten is gone as a whole", async () => {
  const markBegins = Promise.withResolvers<void>();
  const marked = Promise.withResolvers<void>();
  const redacts = Promise.withResolvers<void>();
  /** Marks the deletion when something is about to be forgotten, and forgets after that, if both may work at once. */
  class Meeting extends EphemeralEventStore {
    override async append(...args: Parameters<EphemeralEventStore["append"]>) {
      const isMark = args[2].some(({ event }) => event.type === "session_deleted");
      if (!isMark) return await super.append(...args);
      markBegins.resolve();
      await Promise.race([redacts.promise, someTurns()]);
      const seq = await super.append(...args);
      marked.resolve();
      return seq;
    }
    override async redact(...args: Parameters<EphemeralEventStore["redact"]>) {
      redacts.resolve();
      await marked.promise;
      return await super.redact(args[0], await this.lastSeq(args[0]), args[2], args[3]);
    }
  }
  const events = new Meeting();
  const stores = { ...ephemeralStores(), events };
  const service = createSessionService({ model: scriptedModel(["Noted."]), stores });
  onTestFinished(() => service.close());
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: SECRET });
  const deleted = service.delete({ sessionId, now: true });
  await markBegins.promise;
  const forgotten = service.forgetMemory({ sessionId });
  await expect(forgotten).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  await deleted;
  expect(await events.lastSeq(sessionId)).toBe(0);
  expect(await service.list({ includeArchived: true })).toEqual([]);
});

/** Long enough for all work in this process that waits for nothing else. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) await setImmediate();
}
