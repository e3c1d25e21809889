import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { ToolSet } from "../src/agent/tool-set.ts";
import type { StoredEvent } from "../src/core/event.ts";
import type { SessionView } from "../src/core/operations/sessions.ts";
import type { Stores } from "../src/core/stores.ts";
import { createSessionService } from "../src/index.ts";
import { Replay } from "../src/replay/replay.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { readTranscript } from "../src/transcripts/read-transcript.ts";
import { heldInMemory, inOrder, owedToMemory } from "./support/memory-account.ts";
import { messagesOf } from "./support/messages-of.ts";
import { temporaryFolder } from "./support/obey.ts";
import { replayChat } from "./support/replay-chat.ts";
import { trials } from "./support/trials.ts";

type Line = Readonly<Record<string, unknown>>;

const chat = (lines: readonly object[]) =>
  new TextEncoder().encode(lines.map((line) => JSON.stringify(line)).join("\n"));

/** A conversation long enough to be compacted, with tools, told apart line by line. */
const LONG: readonly Line[] = [
  { role: "system", content: "Be brief." },
  ...Array.from({ length: 40 }, (_, turn): Line[] => [
    {
      role: "user",
      content: `Question ${turn}: ${"what about it, ".repeat(20)}`,
      speaker: "Ada",
      time: `2026-01-01T10:${10 + turn}:00Z`,
    },
    {
      role: "assistant",
      content: `Let me look ${turn}.`,
      tool_calls: [{ id: `call-${turn}`, function: { name: "look", arguments: `{"at":${turn}}` } }],
    },
    {
      role: "tool",
      tool_call_id: `call-${turn}`,
      content: `Found ${turn}: ${"this and that ".repeat(30)}`,
    },
    {
      role: "assistant",
      content: `Answer ${turn}: ${"it is so, ".repeat(20)}`,
      speaker: "Bot",
      time: `2026-01-01T10:${10 + turn}:30Z`,
    },
  ]).flat(),
];

async function openStores(): Promise<Stores> {
  const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  onTestFinished(() => stores.close());
  return stores;
}

async function view(stores: Stores, sessionId: string): Promise<SessionView> {
  const service = createSessionService({ model: "none", stores });
  try {
    return await service.read({ sessionId });
  } finally {
    await service.close();
  }
}

const logOf = (stores: Stores, sessionId: string) =>
  Array.fromAsync(stores.events.read(sessionId, 0));

let twice: ReturnType<typeof replayedTwice> | undefined;

/** A conversation, and the log of its replay replayed in turn: once for the tests that ask. */
function replayTwice() {
  twice ??= replayedTwice();
  return twice;
}

async function replayedTwice() {
  const stores = await openStores();
  const first = await replayChat(chat(LONG), stores);
  const recorded = await logOf(stores, first.session_id);
  const second = await replayChat(chat(recorded), stores, { name: "events.jsonl" });
  return { recorded, again: await logOf(stores, second.session_id) };
}

test("a replay reports what happened: turns, compactions, what left and what memory has of it", async () => {
  const stores = await openStores();
  const report = await replayChat(chat(LONG), stores);
  expect(report).toMatchObject({
    file: "talk.jsonl",
    turns: 40,
    interrupted: false,
    failures: [],
  });
  expect(report.compactions.length).toBeGreaterThan(2);
  // The threshold is for a whole request: the history, the definitions of the tools, and a quarter for recalled records.
  const { tools } = new Replay(await readTranscript([chat(LONG)], "talk.jsonl"));
  const toolTokens = new ToolSet(tools).tokens;
  for (const compaction of report.compactions) {
    expect(compaction.tokens_after).toBeLessThan(4000);
    expect(compaction.tokens_before + toolTokens + 1000).toBeGreaterThanOrEqual(4000);
    expect(compaction.messages_after).toBeLessThan(compaction.messages_before);
    expect(compaction.summarised_by).toBe("fallback");
  }
  const held = await heldInMemory(stores.memory);
  expect(report.indexed_messages).toBe(held.length);
  expect(held.length).toBeGreaterThan(report.discarded_with_text);
  expect(report.discarded_messages).toBeGreaterThan(report.discarded_with_text);
  expect(report.tokens_before).toBeGreaterThan(2 * report.tokens_after);
});

test("each message with text is in memory once, with who said it and when", async () => {
  const stores = await openStores();
  const { session_id } = await replayChat(chat(LONG), stores);
  const owed = owedToMemory(session_id, await logOf(stores, session_id));
  expect(inOrder(await heldInMemory(stores.memory))).toEqual(inOrder(owed));
  expect(owed.map(({ speaker }) => speaker)).toContain("Ada");
});

test("the same conversation gives the same history and the same memory twice", async () => {
  const stores = await openStores();
  const one = await replayChat(chat(LONG), stores);
  const two = await replayChat(chat(LONG), stores);
  expect(two.session_id).not.toBe(one.session_id);
  const same = async ({ session_id, duration_ms: _, ...report }: typeof one) => ({
    report,
    history: (await view(stores, session_id)).history,
    memory: inOrder(
      (await heldInMemory(stores.memory)).filter(({ id }) => id.startsWith(session_id)),
    ).map(({ id, time, ...entry }) => ({
      ...entry,
      place: Number(id.split(":")[1]),
      time: entry.speaker ? time : "",
    })),
  });
  expect(await same(two)).toEqual(await same(one));
});

test("a log of rkat's own replays to the conversation that it came from", async () => {
  const { recorded, again } = await replayTwice();
  const conversation = (log: readonly StoredEvent[]) =>
    messagesOf(log).filter((message) => message.role !== "system");
  expect(conversation(again)).toEqual(conversation(recorded));
});

test("replaying a log adds no message of its own", async () => {
  const { recorded, again } = await replayTwice();
  expect(messagesOf(again)).toEqual(messagesOf(recorded));
});

test("a replay that is stopped keeps what it had, and says so", async () => {
  const stores = await openStores();
  const stop = new AbortController();
  const report = await replayChat(chat(LONG), stores, {
    signal: stop.signal,
    watch: { onTurn: ({ turns }) => (turns === 25 ? stop.abort() : undefined) },
  });
  expect(report).toMatchObject({ interrupted: true, turns: 25 });
  expect(await view(stores, report.session_id)).toMatchObject({ turns: 25, isActive: false });
  const owed = owedToMemory(report.session_id, await logOf(stores, report.session_id));
  expect(inOrder(await heldInMemory(stores.memory))).toEqual(inOrder(owed));
});

test("a replay hears that it is to stop, although it never waits for anything", async () => {
  const stores = await openStores();
  const stop = new AbortController();
  setImmediate(() => stop.abort());
  const { interrupted } = await replayChat(chat(LONG), stores, { signal: stop.signal });
  expect(interrupted).toBe(true);
});

test("labels and compaction settings are those of the session", async () => {
  const stores = await openStores();
  const { session_id, compactions } = await replayChat(chat(LONG), stores, {
    labels: { from: "test" },
    compaction: { autoCompactThreshold: 1_000_000 },
  });
  expect(compactions).toEqual([]);
  expect(await view(stores, session_id)).toMatchObject({
    labels: { from: "test" },
    model: "recording/talk.jsonl",
  });
});

test("whatever a recording looks like, it replays, and each text is a message of its own", async () => {
  const stores = await openStores();
  const id = fc.constantFrom("a", "b", "");
  const calls = fc.array(
    id.map((of) => ({ id: of, function: { name: `tool ${of}`, arguments: "{}" } })),
    { maxLength: 2 },
  );
  const content = fc.oneof(
    fc.constant(""),
    fc.constant(null),
    fc.string(),
    fc.lorem({ maxCount: 60 }),
  );
  const line = fc.oneof(
    fc.record({ role: fc.constant("system"), content: fc.string({ maxLength: 50 }) }),
    fc.record({ role: fc.constant("user"), content }),
    fc.record({ role: fc.constant("user"), content }),
    fc.record({ role: fc.constant("assistant"), content, tool_calls: calls }),
    fc.record({ role: fc.constant("tool"), content, tool_call_id: id }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 40 }), async (lines) => {
      const { session_id, failures } = await replayChat(chat(lines), stores, { threshold: 1500 });
      expect(failures).toEqual([]);
      const log = JSON.stringify(await logOf(stores, session_id));
      for (const said of lines) {
        if (said.content) expect(log).toContain(JSON.stringify(said.content));
      }
    }),
    { numRuns: trials(3, 500) },
  );
});
