import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { importTranscripts } from "../src/app/import-transcripts.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { saidIn } from "./support/said-in.ts";
import { sampled } from "./support/trials.ts";

/** One write of a program into its database, or of its file. */
type Write = (db: DatabaseSync, path: string) => void;

/** They are being written now. */
const TIME = Date.now() - 60_000;
const CHAT = "0d5c2f6e-3b1a-4a54-9d5f-6f1f2a7b8c9d";
const text = (value: string) => ({ type: "text", text: value });

/** Ids end with the number of the message or part, which gives its time. */
function opencodeWrites(): readonly Write[] {
  const put = (table: string, id: string, values: readonly string[], data: object): Write => {
    const created = TIME + 1000 * Number(id.slice(4));
    const places = [id, ...values, created, created].map(() => "?").join(", ");
    const sql = `INSERT OR REPLACE INTO ${table} VALUES (${places}, ?)`;
    return (db) => db.prepare(sql).run(id, ...values, created, created, JSON.stringify(data));
  };
  const message = (id: string, role: string, completed?: number): Write =>
    put("message", id, ["ses_1"], {
      ...{ role, time: { created: TIME + 1000 * Number(id.slice(4)), completed } },
    });
  const part = (id: string, of: string, data: object): Write =>
    put("part", id, [of, "ses_1"], data);
  const tool = (id: string, state: object) =>
    part(id, "msg_2", { type: "tool", callID: `call-${id}`, tool: "bash", state });
  const input = { command: "npm test" };
  const done = (id: string): Write => message(id, "assistant", TIME + 9000);
  return [
    (db) =>
      db.exec(`CREATE TABLE project (id, worktree);
        CREATE TABLE session (id, project_id, parent_id, directory, title, time_created, time_updated);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id, time_created, time_updated, data);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id, session_id, time_created, time_updated, data);
        INSERT INTO session VALUES ('ses_1', 'p', NULL, '/home/ada/app', 'New session - 2026', ${TIME}, ${TIME});`),
    message("msg_1", "user"),
    part("prt_1", "msg_1", text("Run the tests")),
    part("prt_2", "msg_1", { type: "file", mime: "text/plain", filename: "a.ts" }),
    message("msg_2", "assistant"),
    part("prt_3", "msg_2", { type: "reasoning", text: "", time: { start: TIME } }),
    part("prt_3", "msg_2", { type: "reasoning", text: "npm t", time: { start: TIME } }),
    part("prt_3", "msg_2", { type: "reasoning", text: "npm test", time: { start: 1, end: 2 } }),
    (db) => db.exec("UPDATE session SET title = 'Tests'"),
    part("prt_4", "msg_2", { ...text("I ru"), time: { start: TIME } }),
    part("prt_4", "msg_2", { ...text("I run them."), time: { start: TIME, end: TIME + 1 } }),
    tool("prt_5", { status: "pending", input: {}, raw: "" }),
    tool("prt_5", { status: "running", input }),
    tool("prt_6", { status: "pending", input: {}, raw: "" }),
    tool("prt_5", { status: "completed", input, output: "1 failed" }),
    tool("prt_6", { status: "running", input }),
    tool("prt_6", { status: "completed", input, output: "none failed" }),
    done("msg_2"),
    message("msg_4", "assistant"),
    part("prt_7", "msg_4", { ...text("One"), time: { start: TIME } }),
    part("prt_7", "msg_4", { ...text("One failed."), time: { start: TIME, end: TIME + 1 } }),
    done("msg_4"),
    message("msg_5", "user"),
    part("prt_8", "msg_5", text("Fix it")),
    message("msg_6", "assistant"),
    part("prt_9", "msg_6", text("It is fixed.")),
    done("msg_6"),
  ];
}

function opencodeNewerWrites(): readonly Write[] {
  const record = (id: string, at: number, type: string, data: object): Write => {
    const json = JSON.stringify({ time: { created: TIME + at }, ...data });
    return (db) =>
      db
        .prepare(
          `INSERT INTO session_message VALUES (?, 'ses_2', ?, ?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET data = excluded.data`,
        )
        .run(id, type, TIME + at, TIME + at, json);
  };
  const tool = (state: object) => ({ type: "tool", id: "call", name: "bash", state });
  const answer = (isDone: boolean, ...content: object[]) =>
    record("msg_2", 2, "assistant", {
      content,
      time: { created: TIME + 2, ...(isDone ? { completed: TIME + 3 } : {}) },
    });
  const input = { command: "ls" };
  return [
    (db) =>
      db.exec(`CREATE TABLE session (id, directory, title, time_created, time_updated);
        CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id, type, time_created, time_updated, data);
        INSERT INTO session VALUES ('ses_2', '/home/ada/app', 'Paint', ${TIME}, ${TIME});`),
    record("msg_1", 1, "user", { text: "Why is it red?" }),
    answer(false),
    answer(false, text("I")),
    answer(false, text("I look.")),
    answer(false, text("I look."), tool({ status: "pending", input: {} })),
    answer(false, text("I look."), tool({ status: "running", input })),
    answer(false, text("I look."), tool({ status: "completed", input, content: [text("a.ts")] })),
    answer(true, text("I look."), tool({ status: "completed", input, content: [text("a.ts")] })),
    record("msg_3", 4, "user", { text: "Make it blue" }),
    record("msg_4", 5, "assistant", {
      ...{ content: [text("It is blue.")], time: { created: TIME + 5, completed: TIME + 6 } },
    }),
  ];
}

function cursorWrites(): readonly Write[] {
  const put = (key: string, value: object): Write => {
    const json = Buffer.from(JSON.stringify(value));
    return (db) => db.prepare("INSERT INTO cursorDiskKV VALUES (?, ?)").run(key, json);
  };
  const bubble = (id: string, rest: object) =>
    put(`bubbleId:${CHAT}:${id}`, { type: 2, createdAt: TIME + 1000, ...rest });
  const chat = (status: string, ids: readonly string[], rest: object = {}) =>
    put(`composerData:${CHAT}`, {
      ...{ createdAt: TIME, status, workspaceIdentifier: { uri: { fsPath: "/home/ada/app" } } },
      fullConversationHeadersOnly: ids.map((bubbleId) => ({ bubbleId })),
      ...rest,
    });
  const tool = (id: string, state: object) =>
    bubble(id, { toolFormerData: { name: "read_file", toolCallId: `call-${id}`, ...state } });
  const rawArgs = '{"path":"a.ts"}';
  const thinking = { text: "Look at the paint." };
  return [
    (db) =>
      db.exec(`CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
        CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);`),
    chat("none", []),
    bubble("b1", { type: 1, text: "Why is it red?" }),
    chat("none", ["b1"]),
    bubble("b2", { text: "", thinking: { text: "Look" } }),
    chat("none", ["b1", "b2"], { name: "Red" }),
    bubble("b2", { text: "", thinking }),
    bubble("b2", { text: "I lo", thinking }),
    bubble("b2", { text: "I look.", thinking }),
    tool("b3", { status: "loading", rawArgs: "" }),
    chat("none", ["b1", "b2", "b3"], { name: "Red" }),
    tool("b3", { status: "loading", rawArgs }),
    tool("b4", { status: "loading", rawArgs: '{"path":' }),
    chat("none", ["b1", "b2", "b3", "b4"], { name: "Red" }),
    tool("b4", { status: "completed", rawArgs, result: "let b" }),
    tool("b3", { status: "completed", rawArgs, result: "let a" }),
    bubble("b5", { text: "It is pa" }),
    chat("none", ["b1", "b2", "b3", "b4", "b5"], { name: "Red" }),
    bubble("b5", { text: "It is paint." }),
    chat("completed", ["b1", "b2", "b3", "b4", "b5"], { name: "Red" }),
    bubble("b6", { type: 1, text: "Make it blue" }),
    bubble("b7", { text: "Now" }),
    chat("none", ["b1", "b2", "b3", "b4", "b5", "b6", "b7"], { name: "Red" }),
    bubble("b7", { text: "Now it is blue." }),
    chat("completed", ["b1", "b2", "b3", "b4", "b5", "b6", "b7"], { name: "Red" }),
  ];
}

function gooseWrites(): readonly Write[] {
  const said: (readonly [string, readonly object[]])[] = [
    ["user", [text("Run the tests.")]],
    [
      "assistant",
      [
        text("I run them."),
        {
          ...{ type: "toolRequest", id: "c1" },
          toolCall: { status: "success", value: { name: "shell", arguments: { command: "ls" } } },
        },
      ],
    ],
    [
      "user",
      [{ type: "toolResponse", id: "c1", toolResult: { status: "success", value: [text("a")] } }],
    ],
    ["assistant", [text("Done.")]],
    ["user", [text("Run the tests.")]],
    ["assistant", [text("Done.")]],
  ];
  const add =
    (number: number, metadata: object = { userVisible: true, agentVisible: true }): Write =>
    (db) => {
      const [role = "", content = []] = said[number] ?? [];
      db.prepare("INSERT INTO messages VALUES (NULL, 'g', ?, ?, ?, ?)").run(
        ...([role, JSON.stringify(content), TIME / 1000 + number] as const),
        JSON.stringify(metadata),
      );
    };
  const compact: Write = (db, path) => {
    db.exec("BEGIN; DELETE FROM messages");
    for (const number of [0, 1, 2, 3])
      add(number, { userVisible: true, agentVisible: false })(db, path);
    db.prepare("INSERT INTO messages VALUES (NULL, 'g', 'user', ?, ?, ?)").run(
      ...([JSON.stringify([text("Tests were run.")]), TIME / 1000 + 4] as const),
      JSON.stringify({ userVisible: false, agentVisible: true }),
    );
    db.exec("COMMIT");
  };
  return [
    (db) =>
      db.exec(`CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, working_dir TEXT,
          session_type TEXT, created_at TIMESTAMP, updated_at TIMESTAMP);
        CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT,
          content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
        INSERT INTO sessions VALUES ('g', 'CLI Session', '/home/ada/app', 'user', '2026-05-01 10:00:00', NULL);`),
    ...[0, 1, 2, 3].map((number) => add(number)),
    (db) => db.exec("UPDATE sessions SET name = 'Tests', updated_at = '2026-05-01 10:00:05'"),
    compact,
    add(4),
    add(5),
  ];
}

const json = (value: unknown) => JSON.stringify(value);
const lines = (values: readonly unknown[]) => values.map((value) => `${json(value)}\n`).join("");
const upTo = <Item>(items: readonly Item[]) => items.map((_, index) => items.slice(0, index + 1));

function clineTexts(): readonly string[] {
  const said = (at: number, say: string, value: string, rest: object = {}) => ({
    ...{ ts: TIME + at, type: "say", say, text: value },
    ...rest,
  });
  const before = [
    said(1, "text", "Why is it red?"),
    said(2, "text", "I run the tests."),
    { ts: TIME + 3, type: "ask", ask: "command", text: "npm test" },
    said(4, "command_output", "1 failed"),
    said(5, "command_output", "paint.ts"),
  ];
  const half = said(6, "text", "It is", { partial: true });
  const end = [said(6, "text", "It is paint."), said(7, "completion_result", "Done.")];
  return [...upTo(before), [...before, half], ...upTo(end).map((some) => [...before, ...some])].map(
    json,
  );
}

/** What a chat of Copilot has while it is answered. */
function copilotChats(): readonly object[] {
  const request = (id: string, ...response: object[]) => ({
    ...{ requestId: id, timestamp: TIME, message: { text: `Why ${id}?` } },
    response: [...response],
  });
  const tool = { kind: "toolInvocationSerialized", toolCallId: "c", toolId: "read" };
  const first = request("r1", { value: "I look." }, tool, { value: "It is paint." });
  const result = { metadata: { toolCallResults: { c: { content: [{ value: "red" }] } } } };
  const done = { ...first, result };
  return [
    [request("r1")],
    [request("r1", { value: "I lo" })],
    [request("r1", { value: "I look." }, tool)],
    [first],
    [done],
    [done, request("r2", { value: "So it" })],
    [
      done,
      { ...request("r2", { value: "So it is." }), modelState: { value: 1, completedAt: TIME } },
    ],
  ].map((requests) => ({ sessionId: "s", responderUsername: "GitHub Copilot", requests }));
}

function copilotLogs(): readonly string[] {
  const [first, ...chats] = copilotChats();
  const changes = chats.map((chat) => ({ kind: 1, k: ["requests"], v: Object(chat).requests }));
  return upTo([{ kind: 0, v: first }, ...changes]).map(lines);
}

/** The log as VS Code writes it: what changed, in the order of a request's fields, so that the end of a text is behind its result. */
function copilotChangeLogs(): readonly string[] {
  const at = (k: readonly unknown[], v: unknown) => ({ kind: 1, k: ["requests", ...k], v });
  const said = (index: number, i: number, ...texts: readonly string[]) => ({
    ...{ kind: 2, k: ["requests", index, "response"], i },
    v: texts.map((value) => ({ value })),
  });
  const asked = (id: string) => ({
    ...{ kind: 2, k: ["requests"] },
    v: [{ requestId: id, timestamp: TIME, message: { text: `Why ${id}?` }, response: [] }],
  });
  const ended = (index: number) => [
    at([index, "result"], { timings: {} }),
    at([index, "followups"], []),
    at([index, "modelState"], { value: 1, completedAt: TIME + 5000 }),
    at([index, "elapsedMs"], 5000),
  ];
  const changes = [
    asked("r1"),
    said(0, 0, "I lo"),
    ...ended(0),
    said(0, 0, "I look.", " It is paint."),
    asked("r2"),
    ...ended(1),
    said(1, 0, "So it is."),
  ];
  const first = { kind: 0, v: { sessionId: "s", requests: [] } };
  return upTo([first, ...changes]).map(lines);
}

function opencodeExports(): readonly string[] {
  const message = (id: string, role: string, time: object, value: string) => ({
    ...{ info: { id, role, time: { created: TIME, ...time } } },
    parts: [{ id: `prt_${id}`, type: "text", text: value }],
  });
  const first = message("msg_1", "user", {}, "Why is it red?");
  const texts = [
    [first, message("msg_2", "assistant", {}, "It is")],
    [first, message("msg_2", "assistant", { completed: TIME }, "It is paint.")],
  ];
  const info = { id: "ses_1", title: "Red", directory: "/home/ada", time: { created: TIME } };
  return texts.map((messages) => json({ info, messages }));
}

/** The tree of JSON files of earlier versions. The file of the session is written when it begins, and for its title. */
function opencodeTreeWrites(): readonly Write[] {
  const put =
    (name: string, value: object): Write =>
    (_, path) => {
      const file = join(dirname(path), "../..", name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(value));
    };
  const session = (title: string, updated = TIME) =>
    put("session/p/ses_1.json", {
      ...{ id: "ses_1", title, directory: "/home/ada/app" },
      time: { created: TIME, updated },
    });
  const message = (id: string, role: string, completed?: number) =>
    put(`message/ses_1/${id}.json`, {
      ...{ id, role, sessionID: "ses_1" },
      time: { created: TIME + 1000 * Number(id.slice(4)), ...(completed ? { completed } : {}) },
    });
  const part = (id: string, of: string, value: object) =>
    put(`part/${of}/${id}.json`, { id, messageID: of, sessionID: "ses_1", ...value });
  const tool = (id: string, state: object) =>
    part(id, "msg_2", { type: "tool", callID: `call-${id}`, tool: "bash", state });
  const input = { command: "npm test" };
  return [
    session("New session - 2026"),
    message("msg_1", "user"),
    part("prt_1", "msg_1", text("Run the tests")),
    message("msg_2", "assistant"),
    part("prt_2", "msg_2", text("I ru")),
    part("prt_2", "msg_2", text("I run them.")),
    tool("prt_3", { status: "pending", input: {} }),
    tool("prt_3", { status: "running", input }),
    tool("prt_3", { status: "completed", input, output: "1 failed" }),
    message("msg_2", "assistant", TIME + 3000),
    session("Tests", TIME + 3000),
    message("msg_3", "assistant"),
    part("prt_4", "msg_3", text("One")),
    part("prt_4", "msg_3", text("One failed.")),
    message("msg_3", "assistant", TIME + 4000),
    message("msg_4", "user"),
    part("prt_5", "msg_4", text("Fix it")),
    message("msg_5", "assistant"),
    part("prt_6", "msg_5", text("It is fixed.")),
    message("msg_5", "assistant", TIME + 5000),
  ];
}

/** A trajectory after each step. */
function sweAgentFiles(isNative: boolean): readonly string[] {
  const calls = (id: string) => [
    { id, type: "function", function: { name: "bash", arguments: '{"command":"ls"}' } },
  ];
  const observed = (id: string, content: string) =>
    isNative ? { role: "tool", content, tool_call_ids: [id] } : { role: "user", content };
  const answered = (id: string, content: string) => ({
    ...{ role: "assistant", content, action: "ls" },
    ...(isNative ? { tool_calls: calls(id) } : {}),
  });
  const history = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "a demonstration", is_demo: true },
    { role: "user", content: "<pr_description>Why is it red?</pr_description>" },
    answered("c1", "I look."),
    observed("c1", "paint.ts"),
    answered("c2", "It is paint."),
    observed("c2", "done"),
  ];
  const steps = history
    .filter(({ role }) => role === "assistant")
    .map(({ content }) => ({ response: content, action: "ls" }));
  // A step is there before the history has it.
  return upTo(history)
    .slice(1)
    .map((some) => json({ environment: "main", trajectory: steps, history: some, info: {} }));
}

function atifFiles(): readonly string[] {
  const at = (second: number) => new Date(TIME + 1000 * second).toISOString();
  const calls = [{ tool_call_id: "c", function_name: "f", arguments: {} }];
  const agent = { step_id: 3, timestamp: at(3), source: "agent", message: "I look." };
  const called = { ...agent, tool_calls: calls };
  const observed = {
    ...called,
    observation: { results: [{ source_call_id: "c", content: "red" }] },
  };
  const steps = [
    { step_id: 1, timestamp: at(1), source: "system", message: "Be brief." },
    { step_id: 2, timestamp: at(2), source: "user", message: "Why is it red?" },
  ];
  const last = { step_id: 4, timestamp: at(4), source: "agent", message: "It is paint." };
  return [...upTo(steps), [...steps, called], [...steps, observed], [...steps, observed, last]].map(
    (some) =>
      json({ schema_version: "ATIF-v1.5", session_id: "s", agent: { name: "x" }, steps: some }),
  );
}

function openhandsEvents(): readonly object[] {
  const event = (id: number, source: string, rest: object) => ({
    ...{ id, timestamp: new Date(TIME + 1000 * id).toISOString().slice(0, -1), source },
    ...rest,
  });
  return [
    event(0, "agent", { action: "system", args: { content: "Be brief." } }),
    event(1, "user", { action: "message", args: { content: "Why is it red?" } }),
    event(2, "agent", { action: "run", args: { command: "ls", thought: "I look." } }),
    event(3, "agent", { cause: 2, observation: "run", content: "paint.ts", extras: {} }),
    event(4, "user", { action: "message", args: { content: "And the door?" } }),
    event(5, "agent", { action: "finish", args: { final_thought: "It is paint." } }),
  ];
}

function openhandsLists(): readonly string[] {
  return upTo(openhandsEvents()).map(json);
}

/** The first version's folder: a file for each event. */
function openhandsWrites(): readonly Write[] {
  return openhandsEvents().map((event, number) => (_, path) => {
    writeFileSync(join(dirname(path), `${number}.json`), json(event));
  });
}

/** What Continue's file has after each message, and in the middle of an answer. */
function continueTexts(): readonly string[] {
  const item = (role: string, content: string) => ({ message: { role, content } });
  const talk = [
    [item("user", "Why is it red?")],
    [item("user", "Why is it red?"), item("assistant", "It is")],
    [
      item("user", "Why is it red?"),
      item("assistant", "It is paint."),
      item("user", "Make it blue."),
    ],
  ];
  const about = { sessionId: "s", title: "Red", workspaceDirectory: "/home/ada/app" };
  return talk.map((history) => json({ ...about, history }));
}

/** The same in Zed's database, whose row of a thread is replaced. */
function zedWrites(): readonly Write[] {
  const user = (id: string, Text: string) => ({ User: { id, content: [{ Text }] } });
  const agent = (Text: string) => ({ Agent: { content: [{ Text }], tool_results: {} } });
  const first = user("u1", "Why is it red?");
  const talk = [
    [first],
    [first, agent("It is")],
    [first, agent("It is paint."), user("u2", "Make it blue.")],
  ];
  const columns = "id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB";
  return talk.map((messages, index) => (db) => {
    if (index === 0) db.exec(`CREATE TABLE threads (${columns})`);
    const data = zstdCompressSync(Buffer.from(json({ version: "0.3.0", messages })));
    db.prepare("REPLACE INTO threads VALUES ('t', 'Red', ?, 'zstd', ?)").run(
      new Date(TIME).toISOString(),
      data,
    );
  });
}

/** Writes a file anew. */
const written =
  (value: string): Write =>
  (_, path) =>
    writeFileSync(path, value);

/** What was imported after each of these numbers of writes. */
async function importedAfter(name: string, writes: readonly Write[], ends: readonly number[]) {
  const folder = mkdtempSync(join(tmpdir(), "rkat-pieces-"));
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  // Some are several files.
  const imported = /[/]/.test(name) ? folder : path;
  const stores = sqliteStores({ path: ":memory:" });
  const db = new DatabaseSync(/db$/.test(name) ? path : ":memory:");
  try {
    db.exec("PRAGMA journal_mode = WAL");
    for (const [at, write] of writes.entries()) {
      write(db, path);
      if (ends.includes(at + 1)) await importTranscripts({ stores, path: imported });
    }
    return await saidIn(stores);
  } finally {
    db.close();
    await stores.close();
    rmSync(folder, { recursive: true });
  }
}

const WRITTEN = [
  ["opencode", "opencode.db", opencodeWrites(), "It is fixed."],
  ["kilo", "kilo.db", opencodeWrites(), "It is fixed."],
  ["continue", "s.json", continueTexts().map(written), "Make it blue."],
  ["zed", "threads.db", zedWrites(), "Make it blue."],
  ["opencode, the newer table", "opencode.db", opencodeNewerWrites(), "It is blue."],
  ["cursor", "state.vscdb", cursorWrites(), "Now it is blue."],
  ["goose", "sessions.db", gooseWrites(), "Done."],
  ["cline", "ui_messages.json", clineTexts().map(written), "Done."],
  ["copilot-chat", "s.json", copilotChats().map(json).map(written), "So it is."],
  ["copilot-chat, its log", "s.jsonl", copilotLogs().map(written), "So it is."],
  ["copilot-chat, its changes", "s.jsonl", copilotChangeLogs().map(written), "So it is."],
  ["opencode export", "export.json", opencodeExports().map(written), "It is paint."],
  ["opencode, the tree", "storage/session/p/ses_1.json", opencodeTreeWrites(), "It is fixed."],
  ["swe-agent", "a.traj", sweAgentFiles(false).map(written), "done"],
  ["swe-agent, native calls", "a.traj", sweAgentFiles(true).map(written), "done"],
  ["atif", "atif.json", atifFiles().map(written), "It is paint."],
  ["openhands, a list", "trajectory.json", openhandsLists().map(written), "It is paint."],
  ["openhands", "sessions/s/events/0.json", openhandsWrites(), "It is paint."],
] as const;

test.each(WRITTEN)(
  "%s: what changes in place, taken in pieces, is the same as at once",
  async (_, name, writes, last) => {
    const all = writes.map((_write, index) => index + 1);
    const atOnce = await importedAfter(name, writes, [writes.length]);
    expect(atOnce.at(-1)).toContain(last);
    expect(await importedAfter(name, writes, all)).toEqual(atOnce);
    for (const cut of sampled(all, { of: 4, at: 2 })) {
      const inPieces = await importedAfter(name, writes, [cut, writes.length]);
      expect(inPieces, `cut after write ${cut}`).toEqual(atOnce);
    }
  },
);

test.each([
  ["opencode", "opencode.db", opencodeWrites().slice(0, 20), "One"],
  ["cursor", "state.vscdb", cursorWrites().slice(0, 18), "It is pa"],
])(
  "%s: an answer that its program never ended is there later, as it is",
  async (_, name, writes, half) => {
    const folder = mkdtempSync(join(tmpdir(), "rkat-pieces-"));
    const path = join(folder, name);
    const stores = sqliteStores({ path: ":memory:" });
    const take = async () => {
      const { stillWritten } = await importTranscripts({ stores, path });
      const isThere = (await saidIn(stores)).join().includes(`"text":"${half}"`);
      return [stillWritten, isThere];
    };
    const db = new DatabaseSync(path);
    try {
      for (const write of writes) write(db, path);
      expect([await take(), await take()]).toEqual([
        [[path], false],
        [[path], false],
      ]);
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 7_200_000 });
      expect([await take(), await take()]).toEqual([
        [[], true],
        [[], true],
      ]);
    } finally {
      vi.useRealTimers();
      db.close();
      await stores.close();
      rmSync(folder, { recursive: true });
    }
  },
);
