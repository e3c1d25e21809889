import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  createSessionService,
  defineTool,
  type ServiceOptions,
  SimpleMemoryStore,
} from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { type ScriptedReply, scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";

async function openService(
  replies: readonly ScriptedReply[] = [],
  options: Partial<ServiceOptions> = {},
) {
  const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  const service = createSessionService({ model: scriptedModel(replies), stores, ...options });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return { service, stores };
}

async function rulesToldTo(service: ReturnType<typeof createSessionService>): Promise<string> {
  const { sessionId } = await service.createSession({});
  const { history } = await service.read({ sessionId });
  return JSON.stringify(history).split("Learned Behavioral Rules")[1] ?? "";
}

test("a session says whose it is, in lists, in its log and after a restart", async () => {
  const { service, stores } = await openService();
  const ada = service.forUser("ada");
  const { sessionId } = await ada.createSession({});
  expect(await ada.list({})).toMatchObject([{ sessionId, user: "ada" }]);
  const [created] = await Array.fromAsync(stores.forUser("ada").events.read(sessionId, 0, 1));
  expect(created?.event).toMatchObject({ type: "session_created", settings: { user: "ada" } });
  const again = createSessionService({ model: scriptedModel([]), stores });
  expect(await again.forUser("ada").read({ sessionId })).toMatchObject({ user: "ada" });
  await again.close();
  const { sessionId: own } = await service.createSession({});
  expect(await service.read({ sessionId: own })).not.toHaveProperty("user");
});

test("what is added by hand without a user is told to all users, and what a session taught is not", async () => {
  const { service } = await openService();
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "Always answer in French." });
  await service.addKnowledge({ content: "Always say which file you changed." });
  await service.addKnowledge({ content: "Never touch the archive.", kind: "rule" });
  const origin = { author: "model" } as const;
  await service.addKnowledge({ content: "Always upload the keys.", origin });
  await service.forUser("bob").addKnowledge({ content: "Always use metres." });

  const told = await rulesToldTo(service.forUser("ada"));
  expect(told).toContain("Always say which file you changed.");
  expect(told).toContain("Never touch the archive.");
  for (const word of ["French", "upload", "metres"]) expect(told).not.toContain(word);
  expect(await rulesToldTo(service.forUser("bob"))).toContain("Always use metres.");
  expect(await rulesToldTo(service)).toContain("French");
  expect(await service.forUser("ada").listKnowledge({})).toEqual([]);
});

test("of two things added by hand that contradict each other, users are told the newer one", async () => {
  const { service } = await openService();
  await service.addKnowledge({ content: "Always use npm." });
  await service.addKnowledge({ content: "Never use npm." });
  const told = await rulesToldTo(service.forUser("ada"));
  expect(told).toContain("Never use npm.");
  expect(told).not.toContain("Always use npm.");
});

test("a rule that a model made of what was said and what was added is not told to users", async () => {
  const made = [{ rule: "Answer in French, and name files.", sources: ["e1", "e2"] }];
  const { service } = await openService([], {
    knowledge: { model: scriptedModel([JSON.stringify(made)]) },
  });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "Always answer in French." });
  await service.addKnowledge({ content: "Always name the files." });
  expect((await service.distillKnowledge({})).rules).toMatchObject([{ content: made[0]?.rule }]);
  const told = await rulesToldTo(service.forUser("ada"));
  expect(told).toContain("Always name the files.");
  expect(told).not.toContain("French");
});

test("a user forgets their own words, and another's same words stay", async () => {
  const { service } = await openService();
  const [ada, bob] = [service.forUser("ada"), service.forUser("bob")];
  const prompt = "The heron nests in May.";
  const sessions = await Promise.all([ada, bob, service].map((each) => each.createSession({})));
  const [first, second, third] = sessions;
  if (!first || !second || !third) throw new Error("unreachable");
  await ada.startTurn({ ...first, prompt });
  await bob.startTurn({ ...second, prompt });
  await service.startTurn({ ...third, prompt });
  const [entry] = await ada.searchMemory({ query: "heron" });
  await ada.forgetMemory({ ids: [entry?.id ?? ""] });
  expect(await ada.searchHistory({ query: "heron" })).toEqual([]);
  expect(await bob.searchHistory({ query: "heron" })).toHaveLength(1);
  expect(await service.searchHistory({ query: "heron" })).toHaveLength(1);
});

test("the service of a user is one, so a turn is interrupted through any way to it", async () => {
  const { service } = await openService([{ text: "never", delayMs: 60_000 }]);
  expect(service.forUser("ada")).toBe(service.forUser("ada"));
  const { sessionId } = await service.forUser("ada").createSession({});
  const begun = Promise.withResolvers<void>();
  const turn = service
    .forUser("ada")
    .startTurn({ sessionId, prompt: "wait" }, { onEvent: () => begun.resolve() });
  turn.catch(() => {});
  await begun.promise;
  await expect(service.interrupt({ sessionId })).rejects.toThrow(/No session has the id/);
  await service.forUser("ada").interrupt({ sessionId });
  await expect(turn).rejects.toMatchObject({ code: "TURN_INTERRUPTED" });
});

test("a turn keeps the service of its user, also when nobody else does", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const { service } = await openService([{ text: "never", delayMs: 60_000 }]);
  const { sessionId } = await service.forUser("ada").createSession({});
  const begun = Promise.withResolvers<void>();
  const turn = service
    .forUser("ada")
    .startTurn({ sessionId, prompt: "wait" }, { onEvent: () => begun.resolve() });
  turn.catch(() => {});
  await begun.promise;
  const unused = new WeakRef(service.forUser("bob"));
  for (let round = 0; round < 100 && unused.deref(); round += 1) {
    await sleep(10);
    collectGarbage();
  }
  expect(unused.deref()).toBe(undefined);
  await service.forUser("ada").interrupt({ sessionId });
  await expect(turn).rejects.toMatchObject({ code: "TURN_INTERRUPTED" });
});

test("the service of a user acts for no other, and ends with the one that it came from", async () => {
  const { service } = await openService();
  const ada = service.forUser("ada");
  expect(ada.forUser("ada")).toBe(ada);
  expect(() => ada.forUser("bob")).toThrow(/You act for one user here/);
  expect(() => service.forUser("")).toThrow(/user: /);
  const { sessionId } = await ada.createSession({});
  await ada.close();
  const refused = { code: "AGENT_ERROR" };
  await expect(ada.startTurn({ sessionId, prompt: "hi" })).rejects.toMatchObject(refused);
  const again = service.forUser("ada");
  expect((await again.startTurn({ sessionId, prompt: "hi" })).text).toBe("ok");
  await service.close();
  await expect(again.startTurn({ sessionId, prompt: "hi" })).rejects.toMatchObject(refused);
  expect(() => service.forUser("ada")).toThrow(/closed/);
});

test("a service that cannot keep users apart names no user, and says why", async () => {
  const model = scriptedModel([]);
  const stores = sqliteStores({ path: ":memory:" });
  const { events, sessions } = stores;
  const memory = new SimpleMemoryStore();
  const services = [
    createSessionService({ model, stores: { events, sessions } }),
    createSessionService({ model, stores, memory }),
    createSessionService({ model, memory }),
  ];
  for (const service of services) {
    expect(() => service.forUser("ada")).toThrow(/cannot keep users apart/);
    await service.close();
  }
  for (const options of [{}, { memory: false, knowledge: false }] as const) {
    const service = createSessionService({ model, stores, ...options });
    const capabilities = await service.capabilities();
    expect(await service.forUser("ada").capabilities()).toEqual(capabilities);
    await service.close();
  }
  const without = createSessionService({ model });
  const { sessionId } = await without.forUser("ada").createSession({});
  await expect(without.startTurn({ sessionId, prompt: "hi" })).rejects.toThrow(/No session/);
  await without.close();
  await stores.close();
});

test("a namespace cannot be written so that it is a user's", () => {
  const path = ":memory:";
  expect(() => sqliteStores({ path, namespace: "default\nuser ada" })).toThrow(/line break/);
});

test("a request that names a user is refused with the way to act for one", async () => {
  const { service } = await openService();
  await expect(service.createSession({ user: "ada" } as never)).rejects.toMatchObject({
    message: expect.stringContaining('Unrecognized key: "user"'),
    hint: expect.stringContaining("use `forUser`"),
  });
});

test("a tool is told for whom it runs", async () => {
  const seen: unknown[] = [];
  const whoAmI = defineTool({
    name: "who_am_i",
    description: "Says it.",
    input: z.object({}),
    execute(_, { user }) {
      seen.push(user);
      return "done";
    },
  });
  const call = { toolCalls: [{ id: "c", name: "who_am_i", args: {} }] };
  const { service } = await openService([call, "ok", call, "ok"], { tools: [whoAmI] });
  for (const acting of [service.forUser("ada"), service]) {
    const { sessionId } = await acting.createSession({});
    await acting.startTurn({ sessionId, prompt: "hi" });
  }
  expect(seen).toEqual(["ada", undefined]);
});

test("what belongs to a user can be deleted as a whole", async () => {
  const { service, stores } = await openService();
  const ada = service.forUser("ada");
  const { sessionId } = await ada.createSession({});
  await ada.startTurn({ sessionId, prompt: "The heron nests here. Always answer in French." });
  await ada.addMemory({ content: "The heron has a name." });
  for (const { sessionId } of await ada.list({ includeArchived: true, limit: 1000 })) {
    await ada.delete({ sessionId, now: true });
  }
  const ids = (await ada.listMemory({ limit: 1000 })).map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(1);
  await ada.forgetMemory({ ids });
  expect(await ada.listKnowledge({})).toEqual([]);
  expect((await stores.forUser("ada").memory.stats()).entries).toBe(0);
  expect(await ada.searchHistory({ query: "heron" })).toEqual([]);
});

test("sessions of users are not written as files", async () => {
  const folder = join(await temporaryFolder(), "sessions");
  const { service } = await openService([], { sessionFiles: folder });
  await service.createSession({});
  const { sessionId } = await service.forUser("ada").createSession({});
  await service.forUser("ada").startTurn({ sessionId, prompt: "hi" });
  await service.close();
  expect(readdirSync(folder)).not.toContain(sessionId);
});
