import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { importTranscripts } from "../../src/app/import-transcripts.ts";
import { rkatSessionStore } from "../../src/claude.ts";
import { isDeeperThan, jsonText, NESTING_MAX, textsIn } from "../../src/core/json-values.ts";
import {
  createHistoryWindow,
  createSessionService,
  defineTool,
  SessionError,
} from "../../src/index.ts";
import { rkatStore } from "../../src/langchain.ts";
import { rkatSession } from "../../src/openai-agents.ts";
import { type Stores, sqliteStores } from "../../src/sqlite.ts";
import { eventText } from "../../src/stores/history/event-text.ts";
import { indexedText } from "../../src/stores/history/search-words.ts";
import { scriptedModel } from "../../src/testing.ts";
import { temporaryFolder } from "../support/obey.ts";
import { overJsonRpc, overMcp, overRest } from "../support/surfaces.ts";
import { TRANSCRIPT_SAMPLES, transcriptBytes } from "../support/transcript-samples.ts";
import { trials } from "../support/trials.ts";

/** The text of a value inside so many lists and objects. */
function nested(levels: number, pick: number, inner: string): string {
  const isList = (level: number) => ((pick >> (level % 30)) & 1) === 1;
  const at = Array.from({ length: levels }, (_, level) => level);
  const opens = at.map((level) => (isList(level) ? "[" : '{"in":'));
  const closes = at.reverse().map((level) => (isList(level) ? "]" : "}"));
  return `${opens.join("")}${inner}${closes.join("")}`;
}

const levels = fc.oneof(
  fc.integer({ min: 80, max: 130 }),
  fc.integer({ min: 900, max: 5_000 }),
  fc.integer({ min: 5_000, max: 60_000 }),
);
const pick = fc.nat(2 ** 30);
const RUNS = { numRuns: trials(3, 200) };

const SECRET = "The heron's code is tangerine-941703625.";

const save = (ran: unknown[]) =>
  defineTool({
    name: "save",
    description: "Saves anything.",
    input: z.object({ value: z.unknown() }),
    execute: ({ value }) => {
      ran.push(value);
      return "Saved.";
    },
  });

async function storesIn(folder: string): Promise<Stores> {
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  onTestFinished(() => stores.close());
  return stores;
}

test("a call of any depth ends its turn, runs if a message can have it, and nothing else stops", async () => {
  const stores = await storesIn(await temporaryFolder());
  await fc.assert(
    fc.asyncProperty(levels, pick, fc.constantFrom("allow", "ask"), async (deep, bits, policy) => {
      const ran: unknown[] = [];
      const value = JSON.parse(nested(deep, bits, JSON.stringify(SECRET)));
      const call = { id: "c1", name: "save", args: { value } };
      const service = createSessionService({
        model: scriptedModel([{ toolCalls: [call] }, "Done.", "Again."]),
        stores,
        tools: [save(ran)],
        approvals: {
          policies: { save: policy as "allow" | "ask" },
          approve: async () => ({ decision: "allow" }),
        },
        redact: "log",
        compaction: { summarizer: "fallback" },
      });
      const { sessionId } = await service.createSession({ memory: true, knowledge: true });
      await service.startTurn({ sessionId, prompt: `Save it. ${SECRET}` });
      expect(ran.length).toBe(isDeeperThan(NESTING_MAX - 4, call.args) ? 0 : 1);
      const { text } = await service.startTurn({ sessionId, prompt: "And now?" });
      expect(text).toBe("Again.");
      await service.compact({ sessionId });
      const events = await Array.fromAsync(stores.events.read(sessionId, 0));
      expect(isDeeperThan(NESTING_MAX + 20, events)).toBe(false);
      const found = await service.searchMemory({ query: "heron code", limit: 50 });
      const ids = found.filter((hit) => hit.sessionId === sessionId).map(({ id }) => id);
      await service.forgetMemory({ ids });
      expect(textsIn(await Array.fromAsync(stores.events.read(sessionId, 0))).join()).not.toContain(
        "941703625",
      );
      await service.close();
    }),
    RUNS,
  );
});

/** Puts events into the file of a store, where no words wait, as an earlier version did, which had no limit. */
function insertAsBefore(file: string, sessionId: string, events: readonly string[]): void {
  const db = new DatabaseSync(file);
  const { key, seq } = db
    .prepare(
      "SELECT key, max(seq) AS seq FROM log JOIN event ON log = key WHERE session_id = ? GROUP BY key",
    )
    .get(sessionId) as { key: number; seq: number };
  const insert = db.prepare(
    "INSERT INTO event (log, seq, turns, timestamp_ms, event_id, event, checksum) VALUES (?, ?, 1, ?, ?, ?, ?)",
  );
  const index = db.prepare("INSERT INTO event_words (rowid, text) VALUES (?, ?)");
  for (const [at, event] of events.entries()) {
    const id = `old-${seq}-${at}`;
    const { lastInsertRowid } = insert.run(key, seq + 1 + at, Date.now(), id, event, crc32(event));
    const said = eventText(JSON.parse(event));
    if (said) index.run(lastInsertRowid, indexedText(said.text));
    db.prepare("UPDATE words_end SET position = ?").run(lastInsertRowid);
  }
  db.close();
}

test("a store with deep events of an earlier version works again: its sessions, searches, and forgetting", async () => {
  const folder = await temporaryFolder();
  const stores = await storesIn(folder);
  const service = createSessionService({
    model: scriptedModel(() => "Fine."),
    stores,
    compaction: { summarizer: "fallback", recentTurnBudget: 1 },
    sessionFiles: join(folder, "sessions"),
  });
  onTestFinished(() => service.close());
  const other = (await service.createSession({ memory: true })).sessionId;
  await service.startTurn({ sessionId: other, prompt: `Keep this. ${SECRET}` });
  await fc.assert(
    fc.asyncProperty(levels, pick, async (deep, bits) => {
      const { sessionId } = await service.createSession({ memory: true });
      await service.startTurn({ sessionId, prompt: "Begin." });
      const value = nested(deep, bits, JSON.stringify(SECRET));
      const call = `{"id":"old","name":"save","args":${value}}`;
      const data = `{"block_type":"tool_use","data":${call}}`;
      const results = '[{"tool_use_id":"old","content":"Saved.","is_error":false}]';
      await service.searchHistory({ query: "begin" });
      insertAsBefore(join(folder, "rkat.db"), sessionId, [
        `{"type":"message_added","message":{"role":"block_assistant","blocks":[${data}],"stop_reason":"tool_use"}}`,
        `{"type":"message_added","message":{"role":"tool_results","results":${results}}}`,
        `{"type":"host_items_changed","items":[{"type":"x","in":${value}}]}`,
      ]);
      const { text } = await service.startTurn({ sessionId, prompt: "Go on." });
      expect(text).toBe("Fine.");
      await service.startTurn({ sessionId, prompt: "And on." });
      await service.compact({ sessionId });
    }),
    RUNS,
  );
  const found = await service.searchMemory({ query: "heron code tangerine" });
  const [named] = found.filter(({ sessionId }) => sessionId === other);
  const { forgotten } = await service.forgetMemory({ ids: [named?.id ?? ""] });
  expect(forgotten).toBe(1);
  const log = await stores.events.readAll(0, 1000);
  expect(jsonText(log)).not.toContain("941703625");
  expect(await service.searchHistory({ query: "tangerine" })).toEqual([]);
  for (const { id } of await stores.sessions.list({})) {
    await service.delete({ sessionId: id, now: true });
  }
});

test("a message of any depth is refused or stored by each surface alike, and the next request is answered", async () => {
  const service = createSessionService({ model: scriptedModel(() => "Fine.") });
  const opened = { service, close: async () => {} };
  const clients = {
    "json-rpc": overJsonRpc(opened),
    rest: await overRest(opened),
    mcp: await overMcp(opened, "modern"),
    sdk: service,
  };
  await fc.assert(
    fc.asyncProperty(levels, pick, async (deep, bits) => {
      // The clients themselves write requests by a recursive function of the runtime.
      const args = JSON.parse(nested(Math.min(deep, 1_500), bits, "1"));
      const call = { id: "c", name: "save", args };
      const message = { role: "assistant" as const, content: "", tool_calls: [call] };
      const result = { tool_use_id: "c", content: "Saved.", is_error: false };
      const isFine = !isDeeperThan(NESTING_MAX, message);
      for (const [surface, client] of Object.entries(clients)) {
        const { sessionId } = await client.createSession({});
        const append = client.appendMessages({
          sessionId,
          messages: [message, { role: "tool_results", results: [result] }],
        });
        const code = await append.then(
          () => "stored",
          (error: { code?: unknown }) => error.code,
        );
        // A client of MCP takes a body that is refused for a server that does not answer.
        const refused =
          surface === "mcp" ? ["INVALID_PARAMS", "SERVICE_UNAVAILABLE"] : ["INVALID_PARAMS"];
        expect(isFine ? ["stored"] : refused).toContain(code);
        expect((await client.startTurn({ sessionId, prompt: "Hi" })).text).toBe("Fine.");
      }
    }),
    RUNS,
  );
});

test("a window over another loop takes calls of any depth", async () => {
  await fc.assert(
    fc.asyncProperty(levels, pick, async (deep, bits) => {
      const args = JSON.parse(nested(deep, bits, JSON.stringify(SECRET)));
      const history = [
        { role: "user", content: "Save it." },
        { role: "assistant", content: "", tool_calls: [{ id: "c", name: "save", args }] },
        {
          role: "tool_results",
          results: [{ tool_use_id: "c", content: "Saved.", is_error: false }],
        },
        ...Array.from({ length: 8 }, (_, at) => ({
          role: at % 2 ? "assistant" : "user",
          content: `Step ${at}. ${"It goes on and on. ".repeat(20)}`,
        })),
      ] as never[];
      const window = createHistoryWindow({
        view: {
          read: (message: object) => ({ message: message as never }),
          summary: (content) => ({ role: "user", content }),
          shorten: (message) => message,
        },
        autoCompactThreshold: 400,
        summarize: async () => "They saved it, step by step, and it went on.",
      });
      await window.apply(history);
    }),
    RUNS,
  );
});

const DEEP = '"(the deep value)"';

/** The objects in a value, each with a way to put a deep value into it. */
function withDeepField(value: object, at: number): object {
  const copy = structuredClone(value);
  const objects: Record<string, unknown>[] = [];
  const left: unknown[] = [copy];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next !== "object" || next === null) continue;
    if (!Array.isArray(next)) objects.push(next as Record<string, unknown>);
    left.push(...Object.values(next));
  }
  const chosen = objects[at % objects.length] ?? {};
  const known = ["arguments", "args", "input", "output", "parts"].find((name) => name in chosen);
  chosen[known ?? "deep"] = JSON.parse(DEEP);
  return copy;
}

for (const sample of TRANSCRIPT_SAMPLES) {
  test(`one deep value in a transcript of ${sample.format.agent} costs at most its own message`, async () => {
    await fc.assert(
      fc.asyncProperty(levels, pick, fc.nat(), fc.nat(), async (deep, bits, which, at) => {
        const folder = await temporaryFolder();
        const line = which % sample.values.length;
        const values = sample.values.map((value, index) =>
          index === line ? withDeepField(value, at) : value,
        );
        const text = transcriptBytes(sample, values)
          .toString("utf8")
          .replace(DEEP, () => nested(deep, bits, '"words"'));
        const path = join(folder, sample.path);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, text);
        const stores = await storesIn(folder);
        const report = await importTranscripts({ stores, path });
        expect(report.sessions).toBe(1);
        const log = await stores.events.readAll(0, 1000);
        expect(
          isDeeperThan(
            NESTING_MAX + 20,
            log.map(({ stored }) => stored.event),
          ),
        ).toBe(false);
        const kept = sample.typed.filter((typed) => JSON.stringify(log).includes(typed));
        expect(kept.length).toBeGreaterThanOrEqual(sample.typed.length - 1);
      }),
      { numRuns: trials(2, 100) },
    );
  });
}

test("hosts' sessions and stores take items of any depth, or refuse them with a sentence", async () => {
  const stores = await storesIn(await temporaryFolder());
  const claude = rkatSessionStore({ stores });
  const graph = rkatStore({ stores });
  await fc.assert(
    fc.asyncProperty(levels, pick, fc.uuid(), async (deep, bits, id) => {
      const text = nested(deep, bits, JSON.stringify(SECRET));
      const openai = rkatSession({ stores, sessionId: id });
      const user = (content: string) => ({ type: "message", role: "user", content }) as const;
      const named = { callId: "c", name: "save" };
      await openai.addItems([
        user("Save it."),
        { type: "function_call", ...named, arguments: `{"value":${text}}` },
        { type: "function_call_result", ...named, output: JSON.parse(text) },
        user("And on."),
      ]);
      expect((await openai.getItems()).length).toBe(4);
      expect(textsIn(await openai.getItems()).join()).toContain("941703625");
      await openai.close();
      const key = { projectKey: "p", sessionId: id };
      const call = { type: "tool_use", id: "t", name: "Bash", input: JSON.parse(text) };
      const message = { role: "assistant", content: [call] };
      await claude.append(key, [{ type: "assistant", uuid: id, message } as never]);
      expect(textsIn(await claude.load(key)).join()).toContain("941703625");
      const put = graph.put(["p"], id, { value: JSON.parse(text) });
      const refused = await put.then(
        () => undefined,
        (error: unknown) => error,
      );
      if (deep < NESTING_MAX - 5) expect(refused).toBeUndefined();
      else if (deep > NESTING_MAX) expect(SessionError.is(refused)).toBe(true);
    }),
    // Memory has the words of an output that is not too deep.
    { ...RUNS, examples: [[80, 0, "c5b476c2-053d-4fb0-af57-5e4c00000018"]] },
  );
  const service = createSessionService({ model: "none", stores });
  const found = await service.searchMemory({ query: "heron's code", limit: 50 });
  await service.forgetMemory({ ids: found.map(({ id }) => id) });
  expect(textsIn(await stores.events.readAll(0, 1000)).filter((text) => text === SECRET)).toEqual(
    [],
  );
  await graph.stop();
  await claude.close();
  await service.close();
});
