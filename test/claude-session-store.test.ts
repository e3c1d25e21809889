import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { type ClaudeEntry, rkatMcp, rkatSessionStore } from "../src/claude.ts";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { temporaryFolder } from "./support/obey.ts";
import { trials } from "./support/trials.ts";

async function open(file?: string) {
  const path = file ?? join(await temporaryFolder(), "rkat.db");
  const stores = sqliteStores({ path });
  const sessions = createSessionService({ model: "none", stores });
  const store = rkatSessionStore({ stores });
  onTestFinished(async () => {
    await store.close();
    await sessions.close();
    await stores.close();
  });
  return { path, stores, sessions, store };
}

const KEY = { projectKey: "-home-ada-harbour", sessionId: "7d3f" };

const line = (uuid: string, fields: Omit<ClaudeEntry, "uuid">): ClaudeEntry =>
  ({ uuid, timestamp: "2026-03-01T10:00:00.000Z", ...fields }) as ClaudeEntry;

const RUN: readonly ClaudeEntry[] = [
  line("1", {
    type: "user",
    promptSource: "typed",
    message: { role: "user", content: "Which berth does the Ottilie have?" },
  }),
  line("2", { type: "user", isMeta: true, message: { role: "user", content: "Injected notice." } }),
  line("3", {
    type: "assistant",
    message: {
      role: "assistant",
      content: [{ type: "thinking", thinking: "Ask.", signature: "s" }],
    },
  }),
  line("4", {
    type: "assistant",
    message: {
      role: "assistant",
      content: [{ type: "tool_use", id: "t", name: "Bash", input: {} }],
    },
  }),
  { type: "progress", note: "has no uuid" },
  line("5", {
    type: "user",
    message: {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "t", content: "berth 4417" }],
    },
    toolUseResult: { stdout: "berth 4417" },
  }),
  line("6", {
    type: "assistant",
    message: { role: "assistant", content: [{ type: "text", text: "The Ottilie lies at 4417." }] },
  }),
  line("7", {
    type: "user",
    isCompactSummary: true,
    message: { role: "user", content: "This session is being continued." },
  }),
];

test("entries come back as they were given, once for each uuid, to every process", async () => {
  const { path, store } = await open();
  const { store: other } = await open(path);
  expect(await store.load(KEY)).toBeNull();
  await store.append(KEY, RUN.slice(0, 4));
  await other.append(KEY, RUN.slice(2));
  await store.append(
    KEY,
    RUN.filter(({ uuid }) => uuid !== undefined),
  );
  expect(await store.load(KEY)).toEqual(RUN);
  expect(await other.load(KEY)).toEqual(RUN);
});

test("batches in any order and number, tried again at will, store every entry once and in order", async () => {
  const { store } = await open();
  let run = 0;
  const batch = fc.array(fc.nat(5), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { maxLength: 8 }), async (batches) => {
      run += 1;
      const key = { ...KEY, sessionId: `s-${run}` };
      const wanted: ClaudeEntry[] = [];
      for (const numbers of batches) {
        const entries = numbers.map((n) =>
          line(`${n}`, { type: "mode", deep: { n, list: [n, null] } }),
        );
        await store.append(key, entries);
        for (const entry of entries) {
          if (!wanted.some(({ uuid }) => uuid === entry.uuid)) wanted.push(entry);
        }
      }
      expect(await store.load(key)).toEqual(wanted.length === 0 ? null : wanted);
    }),
    { numRuns: trials(2, 15) },
  );
});

test("projects, sessions and subagents are listed and deleted apart", async () => {
  const { store, sessions } = await open();
  const subagent = { ...KEY, subpath: "subagents/agent-1" };
  const others = [
    { ...KEY, projectKey: "other" },
    { ...KEY, sessionId: "8a" },
  ];
  for (const key of [KEY, subagent, ...others]) await store.append(key, RUN);
  const listed = await store.listSessions(KEY.projectKey);
  expect(listed.map(({ sessionId }) => sessionId).sort()).toEqual(["7d3f", "8a"]);
  expect(listed.every(({ mtime }) => Number.isSafeInteger(mtime) && mtime > 0)).toBe(true);
  expect(await store.listSubkeys(KEY)).toEqual(["subagents/agent-1"]);
  await store.delete(KEY);
  expect(await store.load(KEY)).toBeNull();
  expect(await store.load(subagent)).toBeNull();
  for (const key of others) expect(await store.load(key)).toEqual(RUN);
  await store.delete(KEY);
  const deleted = await sessions.list({ deleted: true });
  expect(deleted.map(({ labels }) => labels.subagent).sort()).toEqual([
    "subagents/agent-1",
    undefined,
  ]);
});

test("what people and the model said is in memory, and only that", async () => {
  const { store, sessions } = await open();
  await store.append(KEY, RUN);
  await store.append({ ...KEY, subpath: "subagents/agent-1" }, RUN);
  const entries = await sessions.listMemory({ kind: "message" });
  expect(entries.map(({ role, content, time }) => ({ role, content, time }))).toEqual([
    {
      role: "user",
      content: "Which berth does the Ottilie have?",
      time: "2026-03-01T10:00:00.000Z",
    },
    { role: "assistant", content: "The Ottilie lies at 4417.", time: "2026-03-01T10:00:00.000Z" },
  ]);
  const found = await sessions.searchHistory({ query: "berth 4417" });
  expect(found.map(({ role }) => role)).toContain("tool");
});

test("a forgotten text is in no entry", async () => {
  const { store, sessions } = await open();
  await store.append(KEY, RUN);
  const [hit] = await sessions.searchMemory({ query: "The Ottilie lies at 4417" });
  await sessions.forgetMemory({ ids: [hit?.id ?? ""] });
  const text = JSON.stringify(await store.load(KEY));
  expect(text).not.toContain("lies at 4417");
  expect(await store.load(KEY)).toHaveLength(RUN.length);
});

test("a query of the SDK has rkat's tools in its own process", async () => {
  const { store, stores } = await open();
  await store.append(KEY, RUN);
  const { instance } = rkatMcp({ stores });
  const answers: unknown[] = [];
  const transport = {
    onmessage: undefined as ((message: unknown) => void) | undefined,
    async start() {},
    async close() {},
    async send(message: unknown) {
      answers.push(message);
    },
  };
  await (instance as { connect(to: typeof transport): Promise<void> }).connect(transport);
  const ask = (id: number, method: string, params: object) =>
    transport.onmessage?.({ jsonrpc: "2.0", id, method, params });
  ask(1, "initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "0" },
  });
  await expect.poll(() => answers.length).toBe(1);
  ask(2, "tools/call", { name: "memory_search", arguments: { query: "Ottilie berth" } });
  await expect.poll(() => answers.length).toBe(2);
  expect(JSON.stringify(answers[1])).toContain("The Ottilie lies at 4417.");
});

test.each([
  ["a session key", (store: Store) => store.load({ ...KEY, subpath: "" })],
  ["a `type`", (store: Store) => store.append(KEY, [{} as ClaudeEntry])],
  ["a `type`", (store: Store) => store.append(KEY, undefined as never)],
])("bad input is refused, and the error names %s", async (named, act) => {
  const { store } = await open();
  await expect(act(store)).rejects.toThrow(new RegExp(named, "i"));
});

type Store = ReturnType<typeof rkatSessionStore>;
