import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { isStoredEvent, mendedEvent } from "../../src/core/event-shape.ts";
import {
  createSessionService,
  ephemeralStores,
  type LanguageModel,
  type SessionService,
} from "../../src/index.ts";
import { LogCopy } from "../../src/moving/copy-log.ts";
import { type SqliteStores, sqliteStores } from "../../src/sqlite.ts";
import { examineStore } from "../../src/stores/sqlite/examine-sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";
import { temporaryFolder } from "../support/obey.ts";
import { Project } from "../support/rkat-process.ts";
import { scriptedProvider } from "../support/scripted-provider.ts";
import { trials } from "../support/trials.ts";

const OTTER = "The otter sleeps in the harbour.";

/** What another session says is found, whatever the first one has done to the store. */
async function expectMemoryWorks(service: SessionService): Promise<void> {
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: OTTER });
  const found = await service.searchMemory({ query: "Where does the otter sleep?" });
  expect(found.map(({ content }) => content)).toContain(OTTER);
}

/** A model that answers with whatever chunks it likes. */
function modelOf(...chunks: readonly unknown[]): LanguageModel {
  return {
    id: "odd/model",
    async *stream() {
      yield* chunks as never[];
    },
  };
}

test("a model cannot stop memory with odd counts of tokens", async () => {
  const block = { type: "block", block: { block_type: "text", data: { text: "Hello." } } };
  const odd = fc.oneof(
    fc.constantFrom(Number.NaN, -5, "5", Number.POSITIVE_INFINITY, null),
    fc.anything(),
  );
  const usage = fc.oneof(
    fc.anything(),
    fc.record({
      input_tokens: odd,
      output_tokens: odd,
      cache_creation_tokens: odd,
      cache_read_tokens: odd,
    }),
  );
  await fc.assert(
    fc.asyncProperty(usage, async (given) => {
      const finish = { type: "finish", stopReason: "end_turn", usage: given };
      const stores = ephemeralStores();
      const service = createSessionService({ model: modelOf(block, finish), stores });
      const { sessionId } = await service.createSession({});
      const turn = await service.startTurn({ sessionId, prompt: "Hi." });
      expect(turn.text).toBe("Hello.");
      expect(turn.usage.inputTokens).toBeGreaterThanOrEqual(0);
      expect(turn.usage.outputTokens).toBeGreaterThanOrEqual(0);
      await expectMemoryWorks(service);
      await service.close();
    }),
    { numRuns: trials(6, 40) },
  );
});

test("whatever a model sends, the turn ends, and memory goes on", async () => {
  const part = fc.oneof(
    fc.anything(),
    fc.record({ type: fc.constantFrom("block", "finish", "text_delta"), block: fc.anything() }),
    fc.record({
      type: fc.constant("block"),
      block: fc.record({
        block_type: fc.constantFrom("text", "tool_use", "reasoning"),
        data: fc.anything(),
      }),
    }),
  );
  const finish = { type: "finish", stopReason: "end_turn", usage: {} };
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 3 }), async (parts) => {
      const odd = modelOf(...parts, finish);
      let calls = 0;
      const model: LanguageModel = {
        id: "odd/model",
        stream: (request) => (calls++ === 0 ? odd : scriptedModel(["ok"])).stream(request),
      };
      const service = createSessionService({
        model,
        stores: ephemeralStores(),
        retry: { maxRetries: 0 },
      });
      const { sessionId } = await service.createSession({});
      await service
        .startTurn({ sessionId, prompt: "Hi." })
        .catch((error) => expect(error).toMatchObject({ code: "PROVIDER_ERROR" }));
      await expectMemoryWorks(service);
      await service.close();
    }),
    { numRuns: trials(10, 60) },
  );
});

async function openStores(
  path: string,
  replies: readonly string[] = [],
): Promise<{ stores: SqliteStores; service: SessionService }> {
  const stores = sqliteStores({ path });
  const service = createSessionService({ model: scriptedModel(replies), stores });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return { stores, service };
}

/** Writes over the last event of a type, as an earlier version did, or a disk. */
function spoil(path: string, type: string, change: (event: string) => string): void {
  const db = new DatabaseSync(path);
  const row = db
    .prepare("SELECT position, event FROM event WHERE event LIKE ? ORDER BY position DESC")
    .get(`{"type":"${type}"%`) as { position: number; event: string };
  const text = change(row.event);
  const update = db.prepare("UPDATE event SET event = ?, checksum = ? WHERE position = ?");
  update.run(text, crc32(text), row.position);
  db.close();
}

/** Writes over the last event of a session, or one before it. */
function spoilLastOf(path: string, sessionId: string, before = 0): void {
  const db = new DatabaseSync(path);
  const row = db
    .prepare(
      `SELECT position FROM event WHERE log = (
         SELECT log FROM event WHERE event LIKE ? ORDER BY position DESC LIMIT 1
       ) AND event NOT LIKE '{"type":"session_deleted"%' ORDER BY seq DESC LIMIT 1 OFFSET ?`,
    )
    .get(`{"type":"session_created","session_id":"${sessionId}"%`, before) as { position: number };
  const text = '{"type":"message_added","message":5}';
  const update = db.prepare("UPDATE event SET event = ?, checksum = ? WHERE position = ?");
  update.run(text, crc32(text), row.position);
  db.close();
}

const SPOILT: readonly [string, (event: string) => string][] = [
  ["turn_completed", (event) => event.replace(/"usage":\{[^}]*\}/, '"usage":"many"')],
  ["run_started", (event) => event.slice(0, 20)],
  ["text_complete", () => "null"],
  ["session_created", () => '{"type":"session_created"}'],
  ["run_completed", (event) => event.replace(/"input_tokens":\d+/, '"input_tokens":null')],
];

test.each(SPOILT)(
  "an unreadable %s stops no other session, and is repaired",
  async (type, change) => {
    const path = join(await temporaryFolder(), "rkat.db");
    const before = await openStores(path);
    const { sessionId } = await before.service.createSession({});
    await before.service.startTurn({ sessionId, prompt: "The heron fishes at dawn." });
    await before.service.close();
    spoil(path, type, change);
    const { stores, service } = await openStores(path);
    await stores.events.saveCheckpoint("memory-of-all", 0);
    await expectMemoryWorks(service);
    await expect(service.searchHistory({ query: "heron otter" })).resolves.not.toEqual([]);
    expect(examineStore(path)).toEqual([expect.stringContaining("cannot be read")]);
    const repaired = await stores.events.repair?.();
    expect(repaired).toMatchObject([{ sessionId }]);
    expect(examineStore(path)).toEqual([]);
    expect(await stores.events.repair?.()).toEqual([]);
    for await (const { event } of stores.events.read(sessionId, 0)) expect(event.type).toBeTruthy();
    await service.delete({ sessionId, now: true });
    expect((await service.list({})).map(({ sessionId }) => sessionId)).not.toContain(sessionId);
  },
);

test("doctor names an unreadable event, and a repair brings its session back into memory", async () => {
  const provider = await scriptedProvider(["Yes.", "Again."], async () => {});
  const project = await Project.open({ provider });
  const args = ["run", "--output=json", "The heron fishes at dawn."];
  const { session_id } = (await project.json(args)) as { session_id: string };
  const usage = (event: string) => event.replace(/"usage":\{[^}]*\}/, '"usage":"many"');
  spoil(join(project.folder, ".rkat", "rkat.db"), "turn_completed", usage);
  const doctor = await project.rkat(["doctor"]);
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(new RegExp(`Event \\d+ of session ${session_id} cannot be read`));
  expect(doctor.stdout).toContain("rkat repair");
  expect((await project.rkat(["repair"])).stdout).toMatch(
    new RegExp(`^Event \\d+ of session ${session_id}: is turn_completed again\\.\n`),
  );
  expect((await project.rkat(["resume", session_id, "And now?"])).stdout).toBe("Again.\n");
  expect((await project.rkat(["memory", "search", "heron"])).stdout).toContain("fishes at dawn");
});

test("one command makes all again that comes from the log", async () => {
  const provider = await scriptedProvider(["Yes."], async () => {});
  const project = await Project.open({ provider });
  const args = ["run", "--output=json", "The heron fishes at dawn."];
  const { session_id } = (await project.json(args)) as { session_id: string };
  await project.rkat(["memory", "search", "heron"]);
  const file = join(project.folder, ".rkat", "rkat.db");
  const events = readFileSync(
    join(project.folder, ".rkat", "sessions", session_id, "events.jsonl"),
  );
  rmSync(join(project.folder, ".rkat", "sessions"), { recursive: true });
  const stores = sqliteStores({ path: file });
  await stores.memory.delete({ sessionId: session_id });
  await stores.close();
  expect((await project.rkat(["doctor"])).stdout).toContain("`rkat repair`");
  spoil(file, "turn_completed", (event) => event.replace(/"usage":\{[^}]*\}/, '"usage":"many"'));
  expect(await project.json(["repair", "--json"])).toMatchObject({
    events: [{ session_id, type: "turn_completed" }],
    memory: { entries: 2 },
    sessions: 1,
  });
  const again = readFileSync(join(project.folder, ".rkat", "sessions", session_id, "events.jsonl"));
  expect(String(again).split("\n").length).toBe(String(events).split("\n").length);
  expect((await project.rkat(["memory", "search", "heron"])).stdout).toContain("fishes at dawn");
  const { code, stdout } = await project.rkat(["repair"]);
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining("Memory has what the log has: 2 entries."),
  ]);
});

/** Two sessions in which the same was said. */
async function saidTwice() {
  const path = join(await temporaryFolder(), "rkat.db");
  const before = await openStores(path);
  const ids: string[] = [];
  for (const more of ["Nothing more.", OTTER]) {
    const { sessionId } = await before.service.createSession({});
    const said = { role: "user", content: "The heron fishes at dawn, off pier nine." } as const;
    const answer = { role: "assistant", content: more } as const;
    await before.service.appendMessages({ sessionId, messages: [said, answer] });
    ids.push(sessionId);
  }
  await before.service.close();
  return { path, spoilt: String(ids[0]), other: String(ids[1]) };
}

test("a copy in a session that cannot be read stops no forgetting, and the receipt names it", async () => {
  const { path, spoilt, other } = await saidTwice();
  const first = await openStores(path, ["The heron fishes at dawn, off pier nine."]);
  // What the run gave is a copy of what the model said.
  await first.service.startTurn({ sessionId: spoilt, prompt: "Who fishes?" });
  await first.service.close();
  spoilLastOf(path, spoilt, 1);
  const { stores, service } = await openStores(path);
  const { notCleaned, forgotten } = await service.forgetMemory({ sessionId: other });
  expect(forgotten).toBe(2);
  expect(notCleaned).toContainEqual({
    place: "unreadable_sessions",
    why: expect.stringMatching(new RegExp(`${spoilt}.*rkat repair`)),
  });
  expect(await service.listMemory({ sessionId: other })).toEqual([]);
  expect(JSON.stringify(await Array.fromAsync(stores.events.read(other, 0)))).not.toContain(
    "heron",
  );
  await stores.events.repair?.();
  const again = await service.forgetMemory({ sessionId: spoilt });
  expect(again.notCleaned.map(({ place }) => place)).not.toContain("unreadable_sessions");
  expect(JSON.stringify(await Array.fromAsync(stores.events.read(spoilt, 0)))).not.toContain(
    "heron",
  );
});

test("what is said in a session that cannot be read is forgotten after its repair, and nothing of it before", async () => {
  const { path, spoilt, other } = await saidTwice();
  spoilLastOf(path, spoilt);
  const { stores, service } = await openStores(path);
  await expect(service.forgetMemory({ sessionId: spoilt })).rejects.toMatchObject({
    code: "SESSION_STORE_ERROR",
    hint: expect.stringContaining("rkat repair"),
  });
  expect((await service.listMemory({ sessionId: spoilt })).length).toBeGreaterThan(0);
  expect(JSON.stringify(await Array.fromAsync(stores.events.read(other, 0)))).toContain("heron");
});

test("a session that cannot be read is deleted for good, and for some days only after its repair", async () => {
  const { path, spoilt } = await saidTwice();
  spoilLastOf(path, spoilt);
  const { stores, service } = await openStores(path);
  await expect(service.delete({ sessionId: spoilt })).rejects.toMatchObject({
    code: "SESSION_STORE_ERROR",
    hint: expect.stringMatching(/rkat repair.*--now/),
  });
  expect(await stores.events.lastSeq(spoilt)).toBeGreaterThan(0);
  await service.delete({ sessionId: spoilt, now: true });
  expect(await stores.events.lastSeq(spoilt)).toBe(0);
  expect(await service.listMemory({ sessionId: spoilt })).toEqual([]);
  await expect(service.read({ sessionId: spoilt })).rejects.toMatchObject({
    code: "SESSION_NOT_FOUND",
  });
});

test("a deleted session that cannot be read stops no forgetting, and the receipt names it", async () => {
  const { path, spoilt, other } = await saidTwice();
  const first = await openStores(path);
  await first.service.delete({ sessionId: spoilt });
  await first.service.close();
  spoilLastOf(path, spoilt, 1);
  const { service } = await openStores(path);
  const { notCleaned } = await service.forgetMemory({ sessionId: other });
  expect(notCleaned).toContainEqual({
    place: "unreadable_sessions",
    why: expect.stringContaining(`rkat sessions delete ${spoilt} --now`),
  });
  await service.delete({ sessionId: spoilt, now: true });
  expect(await service.list({ deleted: true })).toEqual([]);
});

test.each(["in the middle", "at the end"])(
  "a store with an unreadable event %s is not moved without it",
  async (where) => {
    const { path, spoilt } = await saidTwice();
    if (where === "at the end") spoilLastOf(path, spoilt);
    else spoilLastOf(path, spoilt, 1);
    const from = sqliteStores({ path });
    const to = sqliteStores({ path: join(await temporaryFolder(), "copy.db") });
    onTestFinished(async () => void (await Promise.all([from.close(), to.close()])));
    await expect(new LogCopy(from.events, to.events).run()).rejects.toMatchObject({
      code: "SESSION_STORE_ERROR",
      hint: expect.stringContaining("rkat repair"),
    });
    await from.events.repair?.();
    const copy = new LogCopy(from.events, to.events);
    await copy.run();
    expect(await to.events.lastSeq(spoilt)).toBe(await from.events.lastSeq(spoilt));
  },
);

test("whatever stands in the place of an event, its repair can be read", () => {
  const types = ["turn_completed", "message_added", "tool_approval_resolved", "text_forgotten"];
  const event = fc.record({ type: fc.constantFrom(...types) });
  const extended = fc.tuple(event, fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue());
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    extended.map(([of, more, usage]) => JSON.stringify({ ...more, usage, message: more, ...of })),
  );
  fc.assert(
    fc.property(text, (json) => {
      const mended = JSON.parse(JSON.stringify(mendedEvent(json)));
      expect(isStoredEvent(mended)).toBe(true);
    }),
  );
});

test("an event without a text that others read is told from a whole one, and is mended", () => {
  for (const event of [{ type: "retrying", error: 7 }, { type: "budget_warning" }]) {
    expect(isStoredEvent(event), event.type).toBe(false);
    expect(isStoredEvent(mendedEvent(JSON.stringify(event)))).toBe(true);
  }
  expect(isStoredEvent({ type: "a_later_kind" })).toBe(true);
});
