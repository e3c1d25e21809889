import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { type CompactionOptions, createSessionService, type SessionService } from "../src/index.ts";
import { type SqliteStores, sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { filesWithTraces } from "./support/files-with-traces.ts";
import { heldModel } from "./support/held-model.ts";
import { temporaryFolder } from "./support/obey.ts";

const DAY_MS = 86_400_000;
const SECRET = "The vault opens with tangerine-9417, says Ottilie.";
/** A turn that a compaction leaves alone, while there is something to gain by the others. */
const LONG = `What happened on the quay? ${"The crane lifted crates of oranges. ".repeat(40)}`;
const RULE = "Always sign the harbour log with two names.";

async function open(
  folder: string,
  keepDays: { readonly archived?: number; readonly compacted?: number },
  compaction: CompactionOptions = { summarizer: "fallback", recentTurnBudget: 1 },
) {
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  const service = createSessionService({
    model: scriptedModel(({ messages }) => {
      const said = JSON.stringify(messages.at(-1));
      return { text: said.includes("vault") ? "Ottilie has the vault." : "Noted." };
    }),
    stores,
    compaction: { autoCompactThreshold: 100_000, ...compaction },
    sessionFiles: join(folder, "sessions"),
    keepDays,
  });
  const close = async () => {
    await service.close();
    await stores.close();
  };
  return { service, stores, close };
}

/** Runs `work` with the clock so many days ahead. Timers are real. */
async function daysLater<Result>(days: number, work: () => Promise<Result>): Promise<Result> {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + days * DAY_MS });
  onTestFinished(() => void vi.useRealTimers());
  try {
    return await work();
  } finally {
    vi.useRealTimers();
  }
}

async function talk(service: SessionService, prompts: readonly string[]): Promise<string> {
  const { sessionId } = await service.createSession({});
  for (const prompt of [...prompts, LONG]) await service.startTurn({ sessionId, prompt });
  return sessionId;
}

const traces = (folder: string) => filesWithTraces(folder, ["tangerine-9417", "Ottilie"]);

test("without limits nothing is deleted, however old it is", async () => {
  const folder = await temporaryFolder();
  const { service, close } = await open(folder, {});
  const sessionId = await talk(service, [SECRET, LONG, "Tea is at four."]);
  expect((await service.compact({ sessionId })).compacted).toBe(true);
  await service.archive({ sessionId });
  await daysLater(10_000, close);
  expect(await traces(folder)).not.toEqual([]);
});

test("an archived session is deleted everywhere when it is too old, and others stay", async () => {
  const folder = await temporaryFolder();
  const first = await open(folder, { archived: 30 });
  const old = await talk(first.service, [SECRET]);
  const active = await talk(first.service, ["Lunch is at noon."]);
  await first.service.archive({ sessionId: old });
  await daysLater(29, first.close);
  expect(await traces(folder)).not.toEqual([]);
  const second = await open(folder, { archived: 30 });
  await daysLater(31, second.close);
  expect(await traces(folder)).toEqual([]);
  const third = await open(folder, {});
  const left = await third.service.list({ includeArchived: true });
  expect(left.map((session) => session.sessionId)).toEqual([active]);
  expect(await third.service.list({ deleted: true })).toEqual([]);
  await third.close();
});

test("what a compaction took out of the window is emptied when it is too old, and the session goes on", async () => {
  const folder = await temporaryFolder();
  const first = await open(folder, { compacted: 30 });
  const sessionId = await talk(first.service, [SECRET, RULE, LONG, "Tea is at four."]);
  expect((await first.service.compact({ sessionId })).compacted).toBe(true);
  await first.service.startTurn({ sessionId, prompt: "Supper is at eight." });
  // The summary of the second compaction is made of the first one's, which quotes the start.
  expect((await first.service.compact({ sessionId })).compacted).toBe(true);
  const before = await first.service.read({ sessionId });
  const taught = await first.service.listKnowledge({});
  await daysLater(29, first.close);
  const found = async (service: SessionService, query: string) =>
    (await service.searchMemory({ query })).map(({ content }) => content);
  const second = await open(folder, { compacted: 30 });
  expect(await found(second.service, "tangerine")).toContain(SECRET);
  await daysLater(31, second.close);
  const third = await open(folder, { compacted: 30 });
  expect(await found(third.service, "tangerine")).toEqual([]);
  expect(await found(third.service, "supper")).toContain("Supper is at eight.");
  expect(await third.service.searchHistory({ query: "tangerine" })).toEqual([]);
  const after = await third.service.read({ sessionId });
  expect(after.history).toEqual(before.history);
  expect(await third.service.listKnowledge({})).toEqual(taught);
  const log = await Array.fromAsync(third.stores.events.read(sessionId, 0));
  const emptied = log.filter(({ event }) => event.type === "text_forgotten");
  await third.service.startTurn({ sessionId, prompt: "Good night." });
  await daysLater(32, third.close);
  expect(emptied.length).toBeGreaterThan(0);
  // The last summary may still tell it: it is in the window.
  const fourth = await open(folder, {});
  const again = await Array.fromAsync(fourth.stores.events.read(sessionId, 0));
  const count = again.filter(({ event }) => event.type === "text_forgotten").length;
  expect(count).toBe(emptied.length);
  await fourth.close();
});

test("a session that cannot be read keeps no other waiting, and is emptied after its repair", async () => {
  const folder = await temporaryFolder();
  const talks = await open(folder, {});
  for (let time = 0; time < 2; time += 1) {
    const sessionId = await talk(talks.service, [SECRET, LONG, "Tea is at four."]);
    expect((await talks.service.compact({ sessionId })).compacted).toBe(true);
  }
  const [other = "", spoilt = ""] = (await talks.service.list({})).map((each) => each.sessionId);
  await talks.close();
  spoil(join(folder, "rkat.db"), spoilt);
  /** What was typed, without the last summary, which is in the window. */
  const saysVault = async (stores: SqliteStores, sessionId: string) => {
    const log = await Array.fromAsync(stores.events.read(sessionId, 0)).catch(() => undefined);
    return log?.some(({ event }) => event.type === "run_started" && event.prompt === SECRET);
  };
  const first = await open(folder, { compacted: 30 });
  expect(await saysVault(first.stores, spoilt)).toBe(undefined);
  await daysLater(31, first.close);
  const second = await open(folder, { compacted: 30 });
  expect(await saysVault(second.stores, other)).toBe(false);
  await second.stores.events.repair?.();
  expect(await saysVault(second.stores, spoilt)).toBe(true);
  await daysLater(31, second.close);
  const third = await open(folder, {});
  expect(await saysVault(third.stores, spoilt)).toBe(false);
  await third.close();
});

/** Writes over the first answer in a session. */
function spoil(path: string, sessionId: string): void {
  const db = new DatabaseSync(path);
  const row = db
    .prepare(
      `SELECT position FROM event WHERE event LIKE '{"type":"text_complete"%' AND log = (
         SELECT log FROM event WHERE event LIKE ?
       ) ORDER BY seq LIMIT 1`,
    )
    .get(`{"type":"session_created","session_id":"${sessionId}"%`) as { position: number };
  db.prepare("UPDATE event SET event = ? WHERE position = ?").run(
    '{"type":"text_complete","content":5}',
    row.position,
  );
  db.close();
}

test("a session in which a turn runs is emptied the next time", async () => {
  const folder = await temporaryFolder();
  const first = await open(folder, { archived: 0, compacted: 0 });
  const sessionId = await talk(first.service, [SECRET, LONG, "Tea is at four."]);
  expect((await first.service.compact({ sessionId })).compacted).toBe(true);
  const elsewhere = { id: "other", host: "elsewhere.example", pid: 1 };
  await first.stores.sessions.acquire(`session:${sessionId}`, elsewhere, 60_000);
  await first.close();
  const second = await open(folder, { compacted: 0 });
  expect((await second.service.searchHistory({ query: "tangerine" })).length).toBeGreaterThan(0);
  await second.stores.sessions.release(`session:${sessionId}`, elsewhere);
  await second.close();
  const third = await open(folder, {});
  expect(await third.service.searchHistory({ query: "tangerine" })).toEqual([]);
  await third.close();
});

test("a session is not deleted while a turn runs in it", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  const { model, asked, letGo } = heldModel(scriptedModel(["slow"]));
  const service = createSessionService({ model, stores });
  const { sessionId } = await service.createSession({});
  const turn = service.startTurn({ sessionId, prompt: "one" });
  await asked;
  await expect(service.delete({ sessionId })).rejects.toMatchObject({ code: "SESSION_BUSY" });
  letGo();
  expect((await turn).text).toBe("slow");
  await service.close();
  await stores.close();
});

/** A folder in which a user has one session, which was archived or deleted. The clock is a fake one. */
async function userWhoDid(end: "archive" | "delete") {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const folder = await temporaryFolder();
  const first = await open(folder, {});
  const ada = first.service.forUser("ada");
  const sessionId = await talk(ada, [SECRET]);
  await ada[end]({ sessionId });
  await first.close();
  return { folder, sessionId };
}

test("a server deletes what is old while it runs, also of users whom nobody serves", async () => {
  const { folder, sessionId } = await userWhoDid("archive");
  const server = await open(folder, { archived: 30 });
  vi.advanceTimersByTime(30 * DAY_MS);
  expect(await server.stores.forUser("ada").events.lastSeq(sessionId)).toBeGreaterThan(0);
  vi.advanceTimersByTime(2 * 3_600_000);
  const lastSeq = () => server.stores.forUser("ada").events.lastSeq(sessionId);
  await vi.waitFor(async () => expect(await lastSeq()).toBe(0), 30_000);
  await server.close();
});

test("a user's deleted session ends with its days, also when the user has nothing else", async () => {
  const { folder, sessionId } = await userWhoDid("delete");
  vi.advanceTimersByTime(8 * DAY_MS);
  const server = await open(folder, {});
  vi.advanceTimersByTime(2 * 3_600_000);
  const left = () => server.stores.forUser("ada").trash?.events.lastSeq(sessionId);
  await vi.waitFor(async () => expect(await left()).toBe(0), 30_000);
  await server.close();
});

test("what an undo brought back into the window is not emptied, and what is in no window is", async () => {
  const folder = await temporaryFolder();
  const first = await open(folder, { compacted: 30 });
  const kept = await talk(first.service, ["The ferry Halcyon-77 sails at six.", LONG]);
  const old = await talk(first.service, [SECRET, LONG]);
  for (const sessionId of [kept, old]) {
    expect((await first.service.compact({ sessionId })).compacted).toBe(true);
  }
  expect((await first.service.undoCompaction({ sessionId: kept })).undone).toBe(true);
  await daysLater(31, first.close);
  const second = await open(folder, { compacted: 30 });
  await daysLater(31, second.close);
  const third = await open(folder, {});
  const prompts = async (sessionId: string) =>
    (await Array.fromAsync(third.stores.events.read(sessionId, 0))).flatMap(({ event }) =>
      event.type === "run_started" ? [event.prompt] : [],
    );
  expect(await prompts(kept)).toEqual(["The ferry Halcyon-77 sails at six.", LONG, LONG]);
  expect(await prompts(old)).toEqual(["[forgotten]", "[forgotten]", LONG]);
  await third.close();
});

test("what memory and people brought back into a window since compacted goes with it", async () => {
  const folder = await temporaryFolder();
  /** Its summaries have nothing of what was said, so that memory brings it back. */
  const first = await open(
    folder,
    { compacted: 30 },
    {
      summarizer: scriptedModel(() => "Cranes lifted oranges on the quay, all day long."),
      recentTurnBudget: 1,
      userWordsTokens: 0,
      keepAnchors: false,
    },
  );
  const { service, stores } = first;
  const sessionId = await talk(service, [SECRET, LONG, "Tea is at four."]);
  expect((await service.compact({ sessionId })).compacted).toBe(true);
  await service.startTurn({ sessionId, prompt: "How does the vault open, does Ottilie say?" });
  await service.bringBack({ sessionId, turn: 0 });
  await service.bringBack({ sessionId, turn: 2, pin: true });
  for (const prompt of [LONG, LONG, "Supper is at eight."])
    await service.startTurn({ sessionId, prompt });
  expect((await service.compact({ sessionId })).compacted).toBe(true);
  const log = await Array.fromAsync(stores.events.read(sessionId, 0));
  const saying = log.filter(({ event }) => JSON.stringify(event).includes("tangerine"));
  expect(saying.map(({ event }) => event.type)).toEqual([
    "run_started",
    "memory_recalled",
    "messages_brought_back",
    "compaction_completed",
  ]);
  await daysLater(31, first.close);
  const second = await open(folder, { compacted: 30 });
  await daysLater(31, second.close);
  expect(await traces(folder)).toEqual([]);
  // What was pinned is still in the window.
  const third = await open(folder, {});
  const left = await Array.fromAsync(third.stores.events.read(sessionId, 0));
  const quoting = left.filter(({ event }) => JSON.stringify(event).includes("Tea is at four."));
  expect(quoting.map(({ event }) => event.type)).toEqual([
    "messages_brought_back",
    "compaction_completed",
  ]);
  await third.close();
});
