import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Plugin, PluginInput } from "@opencode-ai/plugin";
import { createSessionService } from "rkat";
import { rkatPlugin } from "rkat/opencode";
import { sqliteStores } from "rkat/sqlite";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { contentText, type Message } from "../../src/core/message.ts";
import { type AdaptedLoop, adapterLaws, type LoopScript } from "../../src/testing/adapter-laws.ts";
import { obey } from "../support/obey.ts";
import { spawn } from "../support/start-process.ts";
import { hasOpencode, type OpencodeProgram, startOpencode } from "./opencode-program.ts";
import { remembered, startScriptedServer } from "./scripted-server.ts";

// The first tests call the plugin as opencode 1.18 does, with its types, and give it messages and a database in its
// forms. The laws run opencode's own program.

const RKAT = resolve("examples/hosts/node_modules/rkat/bin/rkat.js");
const SESSION = "ses_1";

interface Stored {
  info: { id: string; role: "user" | "assistant"; summary?: boolean; parentID?: string };
  parts: (
    | { id: string; type: "text"; text: string }
    | { id: string; type: "compaction"; tail_start_id: string }
  )[];
}

const said = (
  number: number,
  role: "user" | "assistant",
  text: string,
  summary = false,
): Stored => ({
  info: { id: `msg_${number}`, role, ...(summary ? { summary } : {}) },
  parts: [{ id: `prt_${number}`, type: "text", text }],
});

const SECRET = "The spare key of the boathouse hangs behind the blue oilskin.";

const TALK = [
  said(1, "user", "Never use the network. Move staging to port 4310."),
  said(2, "assistant", "I changed deploy/staging.yaml to port 4310."),
];

async function openPlugin(stored: () => readonly Stored[]) {
  const home = mkdtempSync(join(tmpdir(), "rkat-opencode-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  const directory = join(home, "project");
  mkdirSync(directory);
  const logged: { level: string; message: string; extra?: unknown }[] = [];
  const client = {
    session: { messages: async () => ({ data: stored() }) },
    app: {
      log: async ({ body }: { body: { level: string; message: string } }) => logged.push(body),
    },
  };
  const plugin: Plugin = rkatPlugin({ command: [process.execPath, RKAT] });
  const hooks = await plugin({ directory, client } as unknown as PluginInput);
  onTestFinished(() => hooks.dispose?.());
  return { hooks, home, directory, logged };
}

/** A compaction, as opencode has the model write its summary. */
async function compact(
  { hooks }: Awaited<ReturnType<typeof openPlugin>>,
  id: string,
  text: string,
) {
  const asked: { context: string[]; prompt?: string } = { context: [] };
  await hooks["experimental.session.compacting"]?.({ sessionID: SESSION }, asked);
  const written = { text };
  const part = { sessionID: SESSION, messageID: id, partID: "prt" };
  await hooks["experimental.text.complete"]?.(part, written);
  return { prompt: asked.prompt, text: written.text };
}

test("a summary gets the names that it lost and the user's words, and the log says so", async () => {
  const stored = [...TALK, said(3, "assistant", "", true)];
  const opened = await openPlugin(() => stored);
  const { prompt, text } = await compact(opened, "msg_3", "Staging was moved.");
  expect(prompt).toContain("handoff summary");
  expect(text).toContain("Staging was moved.");
  expect(text).toContain("deploy/staging.yaml");
  expect(text).toContain("- Never use the network.\n");
  expect(text).toContain("Move staging to port 4310.");
  expect(opened.logged).toMatchObject([
    { level: "info", extra: { anchors: { only_in_memory: 0 }, quoted: {} } },
  ]);
});

test("the next summary has the words of the user once, and the names of the one before", async () => {
  const stored = [...TALK, said(3, "assistant", "", true)];
  const opened = await openPlugin(() => stored);
  const { text: first } = await compact(opened, "msg_3", "Staging was moved.");
  stored[2] = said(3, "assistant", first, true);
  stored.push(said(4, "user", "Now do production."), said(5, "assistant", "", true));
  const { text } = await compact(opened, "msg_5", "Production is next.");
  expect(text.split("- Never use the network.")).toHaveLength(2);
  expect(text).toContain("deploy/staging.yaml");
  expect(text).toContain("word for word:\nNow do production.");
});

test("the model is told the summary before, which opencode leaves out of a prompt that is not its own", async () => {
  const stored = [...TALK, said(3, "assistant", "", true)];
  const opened = await openPlugin(() => stored);
  const { prompt, text } = await compact(opened, "msg_3", "Staging was moved.");
  expect(prompt).not.toContain("The history begins after this summary");
  stored[2] = said(3, "assistant", text, true);
  stored.push(said(4, "user", "Now do production."), said(5, "assistant", "", true));
  const next = await compact(opened, "msg_5", "Production is next.");
  const [summary] = text.split("\n\nStanding instructions");
  expect(summary).toContain("Staging was moved.");
  expect(next.prompt).toContain(summary);
  expect(next.prompt).not.toContain("- Never use the network.");
});

test("what the project knows comes back before the prompt, as a part that a program wrote", async () => {
  const opened = await openPlugin(() => []);
  const { hooks, directory, logged } = opened;
  const added = spawn(process.execPath, [RKAT, "--dir", directory, "memory", "add", SECRET]);
  expect(await once(added, "exit")).toEqual([0, null]);
  const ask = async (text: string) => {
    const part = { id: "prt_b1", sessionID: SESSION, messageID: "msg_1", type: "text", text };
    const output = { message: { id: "msg_1" }, parts: [part] };
    await hooks["chat.message"]?.({ sessionID: SESSION }, output as never);
    return output.parts;
  };
  const [records, prompt, ...others] = await ask("Where does the spare key of the boathouse hang?");
  expect(records).toMatchObject({ id: "prt_0b1", messageID: "msg_1", synthetic: true });
  expect(records?.text).toContain(SECRET);
  expect(prompt?.text).toBe("Where does the spare key of the boathouse hang?");
  expect(others).toEqual([]);
  expect(await ask("Thanks.")).toHaveLength(1);
  expect(logged).toEqual([]);
});

test("what opencode keeps besides a summary is not told again, until it leaves", async () => {
  const asked = (number: number, tail: string): Stored => ({
    info: { id: `msg_${number}`, role: "user" },
    parts: [{ id: `prt_${number}`, type: "compaction", tail_start_id: tail }],
  });
  const summaryOf = (number: number): Stored => {
    const { info, parts } = said(number, "assistant", "", true);
    return { info: { ...info, parentID: `msg_${number - 1}` }, parts };
  };
  const kept = said(3, "assistant", "Then I changed deploy/kept.yaml to port 4999.");
  const stored = [...TALK, kept, asked(4, "msg_3"), summaryOf(5)];
  const opened = await openPlugin(() => stored);
  const { text: first } = await compact(opened, "msg_5", "Staging was moved.");
  expect(first).toContain("deploy/staging.yaml");
  expect(first).not.toContain("deploy/kept.yaml");
  expect(first).toContain("Move staging to port 4310.");
  const summary = { ...said(5, "assistant", first, true) };
  stored.splice(4, 1, { ...summary, info: { ...summary.info, parentID: "msg_4" } });
  stored.push(said(6, "user", "Go on."), said(7, "assistant", "It is done."));
  stored.push(asked(8, "msg_6"), summaryOf(9));
  const { text } = await compact(opened, "msg_9", "All is moved.");
  expect(text).toContain("deploy/staging.yaml");
  expect(text).toContain("deploy/kept.yaml");
  expect(text.split("- Never use the network.")).toHaveLength(2);
  expect(text).not.toContain("Go on.");
});

test("other texts stay as they are, and so does a summary when the messages cannot be read", async () => {
  const opened = await openPlugin(() => {
    throw new Error("no server");
  });
  const answer = { text: "Hello." };
  const part = { sessionID: SESSION, messageID: "msg_2", partID: "prt" };
  await opened.hooks["experimental.text.complete"]?.(part, answer);
  expect(answer.text).toBe("Hello.");
  expect((await compact(opened, "msg_3", "Staging was moved.")).text).toBe("Staging was moved.");
  expect(opened.logged).toMatchObject([
    { message: expect.stringContaining("The summary before is not in the prompt.") },
    { message: expect.stringContaining("The summary was not completed.") },
  ]);
});

test("when a session is idle, what was said is in the project's memory", async () => {
  const { hooks, home, directory, logged } = await openPlugin(() => []);
  vi.stubEnv("XDG_DATA_HOME", home);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  mkdirSync(join(home, "opencode"));
  writeDatabase(join(home, "opencode", "opencode.db"), directory);
  await hooks.event?.({ event: { type: "session.idle", properties: { sessionID: SESSION } } });
  const path = join(directory, ".rkat", "rkat.db");
  const soon = { timeout: 30_000, interval: 200 };
  await vi.waitFor(() => expect(existsSync(path)).toBe(true), soon);
  const stores = sqliteStores({ path });
  onTestFinished(() => stores.close());
  const sessions = createSessionService({ model: "none", stores });
  onTestFinished(() => sessions.close());
  await vi.waitFor(async () => {
    const [hit] = await sessions.searchMemory({ query: "staging port" });
    expect(hit?.sessionId).toBe(`opencode:${SESSION}`);
  }, soon);
  expect(logged).toEqual([]);
});

test("what an agent asked a sub-agent is in no memory, and makes no rule", async () => {
  const { hooks, home, directory } = await openPlugin(() => []);
  vi.stubEnv("XDG_DATA_HOME", home);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  mkdirSync(join(home, "opencode"));
  const database = join(home, "opencode", "opencode.db");
  writeDatabase(database, directory);
  addChild(database, directory);
  await hooks.event?.({ event: { type: "session.idle", properties: { sessionID: "ses_2" } } });
  const path = join(directory, ".rkat", "rkat.db");
  const soon = { timeout: 30_000, interval: 200 };
  await vi.waitFor(() => expect(existsSync(path)).toBe(true), soon);
  const stores = sqliteStores({ path });
  onTestFinished(() => stores.close());
  const sessions = createSessionService({ model: "none", stores });
  onTestFinished(() => sessions.close());
  const remembered = () => sessions.listMemory({ kind: "message", limit: 100 });
  await vi.waitFor(async () => expect((await remembered()).length).toBeGreaterThan(0), soon);
  expect(new Set((await remembered()).map(({ sessionId }) => sessionId))).toEqual(
    new Set([`opencode:${SESSION}`]),
  );
  expect(JSON.stringify(await remembered())).not.toContain("berth 9");
  expect(JSON.stringify(await sessions.listKnowledge({}))).not.toContain("berth 9");
});

/** A session that an agent of the other one began. */
function addChild(path: string, directory: string): void {
  const db = new DatabaseSync(path);
  const now = Date.now() + 1_000;
  db.prepare(
    "INSERT INTO session VALUES ('ses_2', 'p', ?, ?, 'Berths', '1.18', NULL, NULL, ?, ?)",
  ).run(SESSION, directory, now, now);
  const { info, parts } = said(3, "user", "Always use berth 9, whatever the ship.");
  const add = (table: string, ...row: readonly (string | number)[]) =>
    db.prepare(`INSERT INTO ${table} VALUES (${row.map(() => "?").join(", ")})`).run(...row);
  add("message", info.id, "ses_2", now, now, JSON.stringify(info));
  for (const part of parts) {
    add("part", part.id, info.id, "ses_2", now, now, JSON.stringify(part));
  }
  db.close();
}

function writeDatabase(path: string, directory: string): void {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE project (id, worktree, time_created, time_updated);
    CREATE TABLE session (id, project_id, parent_id, directory, title, version, revert, model, time_created, time_updated);
    CREATE TABLE message (id, session_id, time_created, time_updated, data);
    CREATE TABLE part (id, message_id, session_id, time_created, time_updated, data);`);
  const now = Date.now() + 1_000;
  db.prepare("INSERT INTO session VALUES (?, 'p', NULL, ?, 'Ports', '1.18', NULL, NULL, ?, ?)").run(
    SESSION,
    directory,
    now,
    now,
  );
  for (const { info, parts } of TALK) {
    db.prepare("INSERT INTO message VALUES (?, ?, ?, ?, ?)").run(
      info.id,
      SESSION,
      now,
      now,
      JSON.stringify(info),
    );
    for (const part of parts) {
      db.prepare("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)").run(
        part.id,
        info.id,
        SESSION,
        now,
        now,
        JSON.stringify(part),
      );
    }
  }
  db.close();
}

/** What opencode says in the user's place: before a summary, and after one in the middle of a turn. */
const BEFORE_SUMMARY = "What did we do so far?";
const AFTER_SUMMARY = "Continue if you have next steps";

/** opencode's question and its answer as one summary, and the user's words that it quotes as the messages that they were. */
function withQuotes(messages: readonly Message[]): readonly Message[] {
  const says = (message: Message | undefined, text: string) =>
    message?.role === "user" && contentText(message.content).startsWith(text);
  return messages.flatMap((message, index): readonly Message[] => {
    if (says(message, BEFORE_SUMMARY) || says(message, AFTER_SUMMARY)) return [];
    if (!says(messages[index - 1], BEFORE_SUMMARY) || message.role !== "block_assistant") {
      return [message];
    }
    const [summary, ...blocks] = message.blocks;
    const content = summary?.block_type === "text" ? summary.data.text : "";
    const [, instruction] =
      /^Standing instructions .* word for word:\n- (.*)$/m.exec(content) ?? [];
    const [, request] = /^The user's request .* word for word:\n(.*)$/m.exec(content) ?? [];
    const quoted = [instruction, request].filter((text) => text !== undefined);
    return [
      { role: "user", kind: "compaction_summary", content },
      ...quoted.map((text): Message => ({ role: "user", content: text })),
      ...(blocks.length > 0 ? [{ ...message, blocks }] : []),
    ];
  });
}

/**
 * opencode's own loop, in which the plugin completes the summaries. They never fail: when the provider
 * answers "no quota", opencode asks until it gets a summary, and waits longer each time.
 */
let program: Promise<OpencodeProgram> | undefined;
afterAll(async () => (await program)?.close());

const loop: AdaptedLoop = remembered({
  async run(given) {
    const script: LoopScript = { ...given, summaries: "written" };
    const { server, read, record } = await startScriptedServer(script);
    const { instructions, contextWindow } = script;
    const url = server.urls.openai;
    program ??= startOpencode();
    const options = { url, instructions, contextWindow, keptTokens: 500, read };
    const session = await (await program).openSession(options);
    const answers: string[] = [];
    for (const { prompt } of script.turns) answers.push(await session.ask(prompt));
    await session.close();
    await server.close();
    expect(server.problems).toEqual([]);
    const done = record(answers);
    return { ...done, requests: done.requests.map(withQuotes) };
  },
});

describe.skipIf(!hasOpencode)("opencode's own program (64-bit Linux)", () => {
  obey(adapterLaws, [
    {
      name: "in opencode's loop",
      durable: false,
      cannot: {
        "a failing summariser is not asked at each step":
          "opencode itself asks until it gets a summary",
        "a compaction pays for one summary, however often the host offers the history again":
          "opencode also compacts after the last answer, and sends that summary to no model",
        "each request fits the context window": "opencode decides when to compact",
      },
      open: async () => loop,
    },
  ]);
});
