import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { messageTexts } from "../src/core/message.ts";
import { createSessionService, type SessionService } from "../src/index.ts";
import { MemoryIndex } from "../src/projections/memory-index.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { ephemeralStores } from "../src/stores/ephemeral/ephemeral-stores.ts";
import { type ScriptedReply, scriptedModel } from "../src/testing.ts";
import { filesWithTraces } from "./support/files-with-traces.ts";
import { temporaryFolder } from "./support/obey.ts";

const SECRET = 'The vault opens with "tangerine-941703625",\nand Ottilie keeps the paper of it.';
/** What no file may have any more, not even in part. */
const TRACES: readonly string[] = ["tangerine", "941703625", "Ottilie keeps the paper"];
const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(80);

interface Place {
  readonly folder: string;
  readonly stores: Stores;
  readonly service: SessionService;
}

async function openIn(folder: string, replies: readonly ScriptedReply[]): Promise<Place> {
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  const service = createSessionService({
    model: scriptedModel(replies),
    stores,
    knowledge: false,
    compaction: { recentTurnBudget: 1 },
    sessionFiles: join(folder, "sessions"),
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return { folder, stores, service };
}

/** A session that says the secret, and is compacted with a summary that repeats it. */
async function compacted(said: string, { service }: Place) {
  const { sessionId } = await service.createSession({});
  for (const prompt of [said, LONG, "the last one"]) {
    await service.startTurn({ sessionId, prompt });
  }
  const { compacted } = await service.compact({ sessionId });
  expect(compacted).toBe(true);
  return sessionId;
}

const SUMMARY = `Summary. ${SECRET} Then the fox jumped.`;
const TALK: readonly ScriptedReply[] = [
  { text: "Noted.", reasoning: `He says: ${SECRET}` },
  "b",
  "c",
  SUMMARY,
];

async function idOf(query: string, { service }: Place): Promise<string> {
  const [hit] = await service.searchMemory({ query, limit: 1 });
  return hit?.id ?? "";
}

test("what is forgotten is in no byte of the store and of the files that show it", async () => {
  const place = await openIn(await temporaryFolder(), [
    ...TALK,
    { toolCalls: [{ id: "m", name: "memory_search", args: { query: "vault" } }] },
    { toolCalls: [{ id: "n", name: "note", args: { text: SECRET } }] },
    "searched",
  ]);
  await compacted(SECRET, place);
  const other = await place.service.createSession({});
  await place.service.startTurn({ ...other, prompt: "what opens it?" });
  expect(await filesWithTraces(place.folder, TRACES)).not.toEqual([]);

  const id = await idOf("vault tangerine", place);
  expect(await place.service.forgetMemory({ ids: [id] })).toMatchObject({
    forgotten: 1,
    remaining: [],
  });
  expect(await filesWithTraces(place.folder, TRACES)).toEqual([]);
  expect(await place.service.searchMemory({ query: SECRET })).toEqual([]);
  expect(await place.service.searchHistory({ query: "tangerine 941703625" })).toEqual([]);
});

test("a number that was told in groups is in no byte either, however others wrote it", async () => {
  const folder = await temporaryFolder();
  const place = await openIn(folder, [
    { text: "Noted.", reasoning: "So I pay to 7304419926, that is 73 04 41 99 26." },
    "b",
    "c",
    "The user pays from 7304-419926 now. The fox jumped.",
  ]);
  await compacted("My account is 7304 419 926, keep it to yourself.", place);
  const id = await idOf("my account", place);
  await place.service.forgetMemory({ ids: [id] });
  const forms = ["7304 419 926", "7304419926", "73 04 41 99 26", "7304-419926", "419 926"];
  for (const form of forms) expect(await filesWithTraces(folder, [form])).toEqual([]);
});

test("the session goes on with a marker in the place of the text, and all else as it was", async () => {
  const place = await openIn(await temporaryFolder(), TALK);
  const sessionId = await compacted(SECRET, place);
  const before = await place.service.read({ sessionId });
  await place.service.forgetMemory({ ids: [await idOf("vault", place)] });
  const after = await place.service.read({ sessionId });
  expect(after.seq).toBe(before.seq + 1);
  expect(after.history.map(({ id }) => id)).toEqual(before.history.map(({ id }) => id));
  const [summary] = after.history.filter(({ message }) => "kind" in message);
  const told = JSON.stringify(summary);
  expect(told).toContain("The quick brown fox considers");
  for (const trace of TRACES) expect(told).not.toContain(trace);
  expect((await place.service.startTurn({ sessionId, prompt: "go on" })).text).toBe("ok");
});

test("what is forgotten does not come back when memory is built from the log again", async () => {
  const place = await openIn(await temporaryFolder(), TALK);
  await compacted(SECRET, place);
  const { entries } = await place.service.memoryStats({});
  await place.service.forgetMemory({ ids: [await idOf("vault", place)] });
  const log = await place.stores.events.readAll(0, 1000);
  await new MemoryIndex(place.stores.events, place.stores.memory).apply(log);
  expect((await place.stores.memory.stats()).entries).toBe(entries - 1);
  expect(await filesWithTraces(place.folder, TRACES)).toEqual([]);
});

test("another process that has the session at hand sends the text to no model, and shows it to nobody", async () => {
  const folder = await temporaryFolder();
  const one = await openIn(folder, ["Noted: tangerine-941703625 it is."]);
  const { sessionId } = await one.service.createSession({});
  await one.service.startTurn({ sessionId, prompt: SECRET });
  const requests: string[] = [];
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  const model = scriptedModel((request) => {
    requests.push(JSON.stringify(request.messages));
    return "ok";
  });
  const other = createSessionService({ model, stores, knowledge: false });
  onTestFinished(async () => {
    await other.close();
    await stores.close();
  });
  expect((await other.read({ sessionId })).lastAssistantText).toContain("tangerine");

  const { history } = await one.service.read({ sessionId });
  const ids = history.slice(1).map(({ id }) => `${sessionId}:${id}`);
  expect(await one.service.forgetMemory({ ids })).toMatchObject({ forgotten: 2, remaining: [] });
  expect((await other.read({ sessionId })).lastAssistantText).toBe("[forgotten]");
  await other.startTurn({ sessionId, prompt: "go on" });
  expect(requests.join()).toContain("[forgotten]");
  expect(requests.join()).not.toContain("tangerine");
  expect(await filesWithTraces(folder, TRACES)).toEqual([]);
});

test("others who say the same are not forgotten, and are named", async () => {
  const place = await openIn(await temporaryFolder(), TALK);
  await compacted(SECRET, place);
  const again = await place.service.createSession({});
  await place.service.startTurn({ ...again, prompt: `As I said: ${SECRET}` });
  await place.stores.memory.add([
    { id: "by hand", content: SECRET, sessionId: "elsewhere", turn: null, kind: "fact" },
  ]);
  const [first, second] = await place.service.searchMemory({ query: SECRET, limit: 2 });
  const log = [first?.id, second?.id].find((id) => id !== "by hand") ?? "";
  const { forgotten, remaining } = await place.service.forgetMemory({ ids: [log] });
  expect(forgotten).toBe(1);
  expect(remaining).toHaveLength(2);
  expect(remaining).toContain("by hand");
  const message = remaining.find((id) => id !== "by hand") ?? "";
  expect(message).toMatch(new RegExp(`^${again.sessionId}:`));
  expect(await place.service.forgetMemory({ ids: [...remaining] })).toMatchObject({
    forgotten: 2,
    remaining: [],
  });
  expect(await filesWithTraces(place.folder, TRACES)).toEqual([]);
});

test("all that was said in a session can be forgotten together", async () => {
  const place = await openIn(await temporaryFolder(), TALK);
  const sessionId = await compacted(SECRET, place);
  const { entries } = await place.service.memoryStats({ sessionId });
  expect(entries).toBe(6);
  expect(await place.service.forgetMemory({ sessionId })).toMatchObject({ forgotten: 6 });
  expect(await place.service.listMemory({})).toEqual([]);
  const traces = [...TRACES, "quick brown fox", "the last one"];
  expect(await filesWithTraces(place.folder, traces)).toEqual([]);
});

test.each(["save", "redact", "delete"] as const)(
  "forgetting that was killed at %s is done by whoever comes next, or when it is asked for again",
  async (killedAt) => {
    const place = await openIn(await temporaryFolder(), TALK);
    await compacted(SECRET, place);
    const ids = [await idOf("vault", place)];
    const killed = { [killedAt]: () => Promise.reject(new Error("killed")) };
    const { memory, events, sessions } = place.stores;
    const over = <Store extends object>(store: Store): Store =>
      new Proxy(store, {
        get: (_, name) => {
          const method = Reflect.get(name in killed ? killed : store, name);
          return typeof method === "function" ? method.bind(store) : method;
        },
      });
    const dying = createSessionService({
      model: scriptedModel([]),
      stores: { events: over(events), sessions: over(sessions) },
      memory: over(memory),
      onBackgroundError: () => {},
    });
    await expect(dying.forgetMemory({ ids })).rejects.toThrow("killed");
    const { forgotten } = await place.service.forgetMemory({ ids });
    expect(forgotten).toBe(killedAt === "delete" ? 0 : 1);
    expect(await filesWithTraces(place.folder, TRACES)).toEqual([]);
    const log = await events.readAll(0, 1000);
    expect(await place.service.forgetMemory({ ids })).toEqual({
      forgotten: 0,
      remaining: [],
      remainingCount: 0,
      cleaned: [],
      notCleaned: [],
      notFound: ids,
    });
    expect(await events.readAll(0, 1000)).toEqual(log);
  },
);

test("a turn that does not end in time is named, and nothing is forgotten meanwhile", async () => {
  const place = await openIn(await temporaryFolder(), [...TALK, { text: "slow", delayMs: 60_000 }]);
  const sessionId = await compacted(SECRET, place);
  const turn = place.service.startTurn({ sessionId, prompt: "wait" });
  const ended = expect(turn).rejects.toMatchObject({ code: "TURN_INTERRUPTED" });
  await expect.poll(async () => (await place.service.read({ sessionId })).isActive).toBe(true);
  const ids = [await idOf("vault", place)];
  // Each look at the clock is three seconds later.
  const now = performance.now();
  const clock = vi.spyOn(performance, "now");
  onTestFinished(() => clock.mockRestore());
  clock.mockImplementation(() => now + 3000 * clock.mock.calls.length);
  await expect(place.service.forgetMemory({ ids })).rejects.toMatchObject({
    code: "SESSION_BUSY",
    message: `A turn is still running in the session "${sessionId}", after 5 seconds.`,
  });
  clock.mockRestore();
  expect(await idOf("vault", place)).toBe(ids[0]);
  await place.service.interrupt({ sessionId });
  await ended;
  expect(await place.service.forgetMemory({ ids })).toMatchObject({ forgotten: 1 });
});

test("an entry that names events which say something else changes no log", async () => {
  const place = await openIn(await temporaryFolder(), ["Blue."]);
  const { sessionId } = await place.service.createSession({});
  await place.service.startTurn({ sessionId, prompt: "Which colour has the harbour door?" });
  const content = "The lighthouse keeper retired in March of that year.";
  const source = { from: 1, to: 9 };
  await place.stores.memory.add([
    { id: "forged", content, sessionId, turn: 0, kind: "message", source },
  ]);
  const before = await place.stores.events.readAll(0, 100);
  expect(await place.service.forgetMemory({ ids: ["forged"] })).toMatchObject({ forgotten: 1 });
  expect(await place.stores.events.readAll(0, 100)).toEqual(before);
});

test.each([
  ["as a whole", { whole: true }],
  ["by its message", { whole: false }],
])("the title of a session is forgotten %s", async (_, { whole }) => {
  const place = await openIn(await temporaryFolder(), []);
  const { service, folder } = place;
  // Shorter than what is searched for in copies.
  const source = { agent: "codex", nativeId: "1", title: 'The vault opens with "tangerine…' };
  const { sessionId } = await service.createSession({ source });
  const messages = [
    { role: "user" as const, content: SECRET },
    { role: "assistant" as const, content: "Noted." },
  ];
  await service.appendMessages({ sessionId, messages });
  const ids = [await idOf("vault tangerine", place)];
  await service.forgetMemory(whole ? { sessionId } : { ids });
  expect((await service.read({ sessionId })).source).not.toHaveProperty("title");
  await service.close();
  expect(await filesWithTraces(folder, TRACES)).toEqual([]);
});

test("what is forgotten while another process adds it to memory does not come back", async () => {
  const path = join(await temporaryFolder(), "rkat.db");
  const others = sqliteStores({ path });
  const stores = sqliteStores({ path });
  const forgetting = createSessionService({ model: scriptedModel([]), stores, knowledge: false });
  let meanwhile = async () => {};
  // The other process has read the message from the log when it is forgotten, and adds it afterwards.
  const add: typeof others.memory.add = async (...given) => {
    await meanwhile();
    return await others.memory.add(...given);
  };
  const memory = new Proxy(others.memory, {
    get: (store, name) => (name === "add" ? add : Reflect.get(store, name)?.bind(store)),
  });
  const indexing = createSessionService({
    model: scriptedModel(["Noted."]),
    stores: { ...others, memory },
    knowledge: false,
  });
  onTestFinished(async () => {
    await indexing.close();
    await forgetting.close();
    await Promise.all([stores.close(), others.close()]);
  });
  const { sessionId } = await indexing.createSession({ memory: true });
  const receipts: unknown[] = [];
  meanwhile = async () => {
    meanwhile = async () => {};
    const [entry] = await forgetting.listMemory({});
    receipts.push(await forgetting.forgetMemory({ ids: [entry?.id ?? "", "none"] }));
  };
  await indexing.startTurn({ sessionId, prompt: SECRET });
  const texts = async (service: SessionService) =>
    (await service.listMemory({})).map(({ content }) => content);
  expect(await texts(indexing)).toEqual(["Noted."]);
  expect(await texts(forgetting)).toEqual(["Noted."]);
  expect(receipts).toEqual([expect.objectContaining({ forgotten: 1, notFound: ["none"] })]);
});

test("what was forgotten is known afterwards, without its text, and after everything was closed", async () => {
  const place = await openIn(await temporaryFolder(), [...TALK, "d"]);
  const { service, folder, stores } = place;
  const sessionId = await compacted(SECRET, place);
  const { forgotten } = stores;
  expect(await forgotten?.has(sessionId, [SECRET, "Yes."])).toEqual([false, false]);
  await service.forgetMemory({ ids: [await idOf("vault tangerine", place)] });
  await service.close();
  await stores.close();
  expect(await filesWithTraces(folder, TRACES)).toEqual([]);

  const after = sqliteStores({ path: join(folder, "rkat.db") });
  const has = (id: string, text: string) => after.forgotten?.has(id, [text, "", "Another text."]);
  for (const id of [sessionId, "another session"]) {
    expect(await has(id, SECRET)).toEqual([true, false, false]);
    expect(await has(id, ` ${SECRET.replaceAll(" ", "\r\n")}\n`)).toEqual([true, false, false]);
    expect(await has(id, `${SECRET}!`)).toEqual([false, false, false]);
  }
  // The reasoning that quoted it was no message.
  expect(await has(sessionId, "Noted.")).toEqual([false, false, false]);
  expect(await after.forUser("ada").forgotten?.has(sessionId, [SECRET])).toEqual([false]);
  await after.close();
});

test.each([
  ["SQLite", () => sqliteStores({ path: ":memory:" })],
  ["ephemeral", ephemeralStores],
])("a short text is forgotten in its session only (%s)", async (_, open) => {
  const { forgotten, close } = open();
  await forgotten?.add("s", ["Yes, do it.", " ", "x".repeat(20)]);
  expect(await forgotten?.has("s", ["yes, do it.", "Yes,\tdo it.", ""])).toEqual([
    false,
    true,
    false,
  ]);
  expect(await forgotten?.has("r", ["Yes, do it.", "x".repeat(20)])).toEqual([false, true]);
  await close();
});

test("a message is known by its text, by each of its blocks, and by what tools returned", () => {
  const text = (said: string) => ({ block_type: "text" as const, data: { text: said } });
  expect(messageTexts({ role: "user", content: "One." })).toEqual(["One."]);
  const blocks = [text("One."), text("Two.")];
  const answer = { role: "block_assistant", blocks, stop_reason: "end_turn" } as const;
  expect(messageTexts(answer)).toEqual(["One.\nTwo.", "One.", "Two."]);
  const results = [{ tool_use_id: "1", content: "Out." }];
  expect(messageTexts({ role: "tool_results", results } as never)).toEqual(["Out."]);
});

test("forgetting is no use of a session: the last one stays the last, also when the log is read again", async () => {
  const folder = await temporaryFolder();
  const place = await openIn(folder, ["Noted.", "Noted."]);
  const { service } = place;
  const { sessionId: old } = await service.createSession({});
  await service.startTurn({ sessionId: old, prompt: SECRET });
  const { updatedAt } = await service.read({ sessionId: old });
  const { sessionId: last } = await service.createSession({});
  await service.startTurn({ sessionId: last, prompt: "Something else." });
  await service.forgetMemory({ ids: [await idOf("vault tangerine", place)] });
  const listed = (each: SessionService) =>
    each.list({}).then((found) => found.map(({ sessionId }) => sessionId));
  expect(await listed(service)).toEqual([last, old]);
  const again = await openIn(folder, []);
  expect((await again.service.read({ sessionId: old })).updatedAt).toBe(updatedAt);
});
