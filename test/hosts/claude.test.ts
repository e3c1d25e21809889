import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  deleteSession,
  getSessionMessages,
  getSubagentMessages,
  InMemorySessionStore,
  importSessionToStore,
  listSessions,
  listSubagents,
  type Options,
  type SessionStore,
  type SessionStoreEntry,
} from "@anthropic-ai/claude-agent-sdk";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { rkatMcp, rkatSessionStore } from "../../src/claude.ts";
import { createSessionService } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { temporaryFolder } from "../support/obey.ts";

async function open() {
  const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  const sessions = createSessionService({ model: "none", stores });
  const store = rkatSessionStore({ stores });
  onTestFinished(async () => {
    await store.close();
    await sessions.close();
    await stores.close();
  });
  return { stores, sessions, store };
}

const SESSION = "7d3f2b1c-4a5e-4f60-8b7a-1c2d3e4f5a6b";

const uuidOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

/** A conversation of `turns` turns with a tool call in each, as Claude Code writes it. */
function transcript(turns: number, sessionId: string): SessionStoreEntry[] {
  const said = Array.from({ length: turns }, (_, turn) => [
    ["user", `Prompt ${turn}: where does ship ${turn} lie?`],
    ["assistant", [{ type: "tool_use", id: `t${turn}`, name: "Bash", input: { command: "ls" } }]],
    ["user", [{ type: "tool_result", tool_use_id: `t${turn}`, content: `quay ${turn}` }]],
    ["assistant", [{ type: "text", text: `Ship ${turn} lies at quay ${turn}.` }]],
  ]).flat();
  return said.map(([role, content], index) => ({
    type: role as string,
    uuid: uuidOf(index),
    parentUuid: index === 0 ? null : uuidOf(index - 1),
    sessionId,
    timestamp: new Date(Date.UTC(2026, 2, 1) + index * 1000).toISOString(),
    cwd: "/home/ada/harbour",
    userType: "external",
    isSidechain: false,
    version: "2.0.0",
    message:
      role === "user" ? { role, content } : { id: `m${index}`, role, content, model: "claude" },
  }));
}

test("a local session is imported, once, and read as the SDK reads its own files", async () => {
  const { sessions, store } = await open();
  const config = await temporaryFolder();
  vi.stubEnv("CLAUDE_CONFIG_DIR", config);
  onTestFinished(() => void vi.unstubAllEnvs());
  const folder = join(config, "projects", "-home-ada-harbour");
  const write = async (path: string, entries: readonly SessionStoreEntry[]) => {
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  };
  await write(join(folder, `${SESSION}.jsonl`), transcript(30, SESSION));
  await write(join(folder, SESSION, "subagents", "agent-a1.jsonl"), transcript(2, SESSION));
  await importSessionToStore(SESSION, store, { batchSize: 7 });
  await importSessionToStore(SESSION, store);

  const memory = new InMemorySessionStore();
  await importSessionToStore(SESSION, memory);
  // Without a folder, the key of a project is that of this process's folder.
  const options = (sessionStore: SessionStore) => ({ sessionStore });
  expect(await getSessionMessages(SESSION, options(store))).toEqual(
    await getSessionMessages(SESSION, options(memory)),
  );
  expect(await getSessionMessages(SESSION, options(store))).toHaveLength(120);
  expect(await listSubagents(SESSION, options(store))).toEqual(["a1"]);
  expect(await getSubagentMessages(SESSION, "a1", options(store))).toHaveLength(8);
  const listed = await listSessions(options(store));
  expect(listed).toMatchObject([
    { sessionId: SESSION, firstPrompt: "Prompt 0: where does ship 0 lie?" },
  ]);

  const [hit] = await sessions.searchMemory({ query: "ship 17 lies at quay" });
  expect(hit?.content).toBe("Ship 17 lies at quay 17.");
  const entries = await sessions.listMemory({ kind: "message", limit: 100 });
  expect(entries).toHaveLength(60);

  await deleteSession(SESSION, options(store));
  expect(await getSessionMessages(SESSION, options(store))).toEqual([]);
  expect(await listSubagents(SESSION, options(store))).toEqual([]);
});

test("what a subagent was told and said is in no memory, also where it stands in the session's own transcript", async () => {
  const { sessions, store } = await open();
  const key = { projectKey: "harbour", sessionId: SESSION };
  const task = (entry: SessionStoreEntry, number: number) => ({
    ...entry,
    uuid: uuidOf(900 + number),
    isSidechain: true,
    ...(entry.type === "user"
      ? { message: { role: "user", content: "Always use berth 9, whatever the ship." } }
      : {}),
  });
  const [asked, , , answered] = transcript(1, SESSION);
  if (!asked || !answered) throw new Error("The transcript is empty.");
  const chain = [asked, answered].map(task);
  await store.append(key, [...transcript(2, SESSION), ...chain]);
  await store.append({ ...key, subpath: "subagents/agent-1" }, chain);
  await store.close();
  const memory = await sessions.listMemory({ kind: "message", limit: 100 });
  const users = memory.filter(({ role }) => role === "user").map(({ content }) => content);
  expect(users.toSorted()).toEqual([0, 1].map((n) => `Prompt ${n}: where does ship ${n} lie?`));
  expect(JSON.stringify(await sessions.listKnowledge({}))).not.toContain("berth 9");
  // The SDK gets all entries back.
  expect(await store.load(key)).toHaveLength(10);
});

test("a store answers as the SDK's own store does, whatever is done with it", async () => {
  const { store } = await open();
  const keys = [
    { projectKey: "a", sessionId: "s" },
    { projectKey: "a", sessionId: "s", subpath: "subagents/agent-1" },
    { projectKey: "a", sessionId: "t" },
    { projectKey: "b", sessionId: "s" },
  ] as const;
  const step = fc.record({
    does: fc.constantFrom("append", "append", "append", "delete", "load"),
    key: fc.constantFrom(...keys),
    json: fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1, maxLength: 3 }),
  });
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
      runs += 1;
      const theirs = new InMemorySessionStore();
      const inRun = <Key extends { projectKey: string }>(key: Key) => ({
        ...key,
        projectKey: `${key.projectKey}-${runs}`,
      });
      for (const { does, key: of, json } of steps) {
        const key = inRun(of);
        const entries = json.map((value) => ({ type: "note", value }) as SessionStoreEntry);
        for (const each of [theirs, store] as SessionStore[]) {
          if (does === "append") await each.append(key, structuredClone(entries));
          if (does === "delete") await each.delete?.(key);
        }
        expect(await store.load(key)).toEqual(JSON.parse(JSON.stringify(await theirs.load(key))));
      }
      for (const projectKey of [`a-${runs}`, `b-${runs}`]) {
        const ids = async (each: SessionStore) =>
          (await each.listSessions?.(projectKey))?.map(({ sessionId }) => sessionId).sort();
        expect(await ids(store)).toEqual(await ids(theirs));
        const of = { projectKey, sessionId: "s" };
        expect(await store.listSubkeys(of)).toEqual(await theirs.listSubkeys(of));
      }
    }),
    { numRuns: 15 },
  );
});

test("store and tools fit the options of a query", async () => {
  const { stores, store } = await open();
  const options: Options = {
    sessionStore: store,
    mcpServers: { rkat: rkatMcp({ stores }) },
    allowedTools: ["mcp__rkat__memory_search"],
  };
  expect(options.mcpServers?.rkat).toMatchObject({ type: "sdk", name: "rkat" });
});
