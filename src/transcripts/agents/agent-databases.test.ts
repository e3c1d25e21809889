import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { brief, linesFile, readImport } from "../../../test/support/read-import.ts";
import { cursorFormat } from "../cursor-format.ts";
import { fileOfBytes } from "../found-file.ts";
import { cursorDatabaseFormat } from "./cursor-database-format.ts";
import { gooseFormat } from "./goose-format.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "databases-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The head of a database with a log of changes. */
const HEAD = Buffer.concat([Buffer.from("SQLite format 3\0\x10\0"), Buffer.from([2, 2])]);
const fileAt = (path: string) => fileOfBytes(path, HEAD);
const at = (second: number) => `2026-05-01T10:00:0${second}.000Z`;

const BUBBLES = {
  b1: { type: 1, text: "Why is the build red?", createdAt: at(1) },
  b2: { type: 2, thinking: { text: "Look first." }, text: "I look.", createdAt: at(2) },
  b3: {
    ...{ type: 2, createdAt: at(3) },
    toolFormerData: {
      ...{ name: "read_file_v2", toolCallId: "c1", rawArgs: '{"path":"a.ts"}' },
      ...{ status: "completed", result: '{"contents":"let a"}' },
    },
  },
  b4: {
    ...{ type: 2, createdAt: at(4) },
    toolFormerData: { name: "run", rawArgs: "{}", userDecision: "rejected", status: "cancelled" },
  },
  b5: { type: 2, text: "a.ts is not closed.", createdAt: at(5) },
  gone: { type: 1, text: "Taken back" },
};

/** The state of a Cursor, still open, with a log of changes beside it. */
function cursorState(): { readonly path: string; readonly db: DatabaseSync } {
  const path = join(folder, "state.vscdb");
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
    CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
    INSERT INTO ItemTable VALUES ('cursorAuth/accessToken', 'a secret');`);
  const put = (table: string, key: string, value: unknown) =>
    db
      .prepare(`INSERT INTO ${table} VALUES (?, ?)`)
      .run(key, value === null ? null : Buffer.from(JSON.stringify(value)));
  put("cursorDiskKV", "composerData:chat", {
    ...{ name: "Red build", createdAt: Date.parse(at(0)), lastUpdatedAt: Date.parse(at(5)) },
    ...{ modelConfig: { modelName: "claude" }, subComposerIds: ["child"] },
    workspaceIdentifier: { uri: { fsPath: "/home/ada/app" } },
    fullConversationHeadersOnly: ["b1", "b2", "b3", "b4", "b5", "null", "lost"].map((bubbleId) => ({
      bubbleId,
    })),
  });
  put("cursorDiskKV", "bubbleId:chat:null", null);
  for (const [id, bubble] of Object.entries(BUBBLES))
    put("cursorDiskKV", `bubbleId:chat:${id}`, bubble);
  put("cursorDiskKV", "composerData:child", {
    conversation: [{ bubbleId: "k1", type: 1, text: "Search all." }],
  });
  put("cursorDiskKV", "composerData:empty", { fullConversationHeadersOnly: [] });
  put("ItemTable", "workbench.panel.aichat.view.aichat.chatdata", {
    tabs: [
      {
        ...{ tabId: "old", chatTitle: "Retries" },
        bubbles: [
          { type: "user", text: "How do I retry?" },
          { type: "ai", rawText: "Wait longer each time." },
        ],
      },
    ],
  });
  return { path, db };
}

test("Cursor: chats are read in their order, with times, calls and what was denied", async () => {
  const { path, db } = cursorState();
  db.close();
  const { sessions, skipped, unknown, otherBranch } = await readImport(
    cursorDatabaseFormat,
    fileAt(path),
  );
  expect([skipped, unknown, otherBranch]).toEqual([
    ["-: 2 messages of a chat have no text"],
    [],
    1,
  ]);
  const [{ messages = [], ...session } = {}, child, old] = sessions;
  expect(sessions).toHaveLength(3);
  expect(session).toEqual({
    ...{ id: "cursor:chat", agent: "cursor", nativeId: "chat", title: "Red build" },
    ...{ project: "/home/ada/app", model: "claude", startedAt: at(0), updatedAt: at(5) },
  });
  expect(messages.map(brief)).toEqual([
    "user: Why is the build red?",
    "-reasoning: Look first.",
    "text: I look.",
    'call: read_file_v2 {"path":"a.ts"}',
    'result: {"contents":"let a"}',
    "call: run {}",
    "failed: The user rejected permission to use this tool.",
    "text: a.ts is not closed.",
  ]);
  expect(messages.map(({ origin }) => origin.time)).toEqual([1, 2, 2, 3, 3, 4, 4, 5].map(at));
  expect(child?.parent).toEqual({ id: "cursor:chat", relation: "subagent" });
  expect(child?.messages.map(brief)).toEqual(["model: Search all."]);
  expect([old?.title, old?.messages.map(brief)]).toEqual([
    "Retries",
    ["user: How do I retry?", "text: Wait longer each time."],
  ]);
});

test("Cursor: a chat that is also a transcript of an agent has the same messages", async () => {
  const { path, db } = cursorState();
  db.close();
  const said = (role: string, ...content: object[]) => ({ role, message: { content } });
  const text = (value: string) => ({ type: "text", text: value });
  const transcript = linesFile("agent-transcripts/chat.jsonl", [
    said("user", text("<user_query>\nWhy is the build red?\n</user_query>")),
    said("assistant", text("I look."), { type: "tool_use", name: "read_file_v2", input: {} }),
    said("assistant", text("a.ts is not closed.")),
    said("user", text("<user_query>Why is the build red?</user_query>")),
  ]);
  const [stored] = (await readImport(cursorDatabaseFormat, fileAt(path))).sessions;
  const [written] = (await readImport(cursorFormat, transcript)).sessions;
  const known = new Set(stored?.messages.map(({ alias }) => alias));
  const added = written?.messages.filter(({ alias }) => !known.has(alias)) ?? [];
  expect(written?.id).toBe(stored?.id);
  // It was asked again, which the database does not have yet.
  expect(added.map(brief)).toEqual(["user: Why is the build red?"]);
});

test("reading a database leaves no file beside it, and reads what is only in its log of changes", async () => {
  const { path, db } = cursorState();
  const titles = async () =>
    (await readImport(cursorDatabaseFormat, fileAt(path))).sessions.map(({ title }) => title);
  const read = ["Red build", "Search all.", "Retries"];
  const open = readdirSync(folder);
  expect([await titles(), readdirSync(folder)]).toEqual([read, open]);
  // A copy of both, without the file that a program keeps beside them while it has them open.
  const copy = mkdtempSync(join(folder, "copy-"));
  for (const name of ["state.vscdb", "state.vscdb-wal"])
    copyFileSync(join(folder, name), join(copy, name));
  const copied = await readImport(cursorDatabaseFormat, fileAt(join(copy, "state.vscdb")));
  expect(copied.sessions.map(({ title }) => title)).toEqual(read);
  expect(readdirSync(copy)).toEqual(["state.vscdb", "state.vscdb-wal"]);
  rmSync(copy, { recursive: true });
  db.close();
  expect(readdirSync(folder)).toEqual(["state.vscdb"]);
  expect([await titles(), readdirSync(folder)]).toEqual([read, ["state.vscdb"]]);
});

const GOOSE = [
  ["user", [{ type: "text", text: "Run the tests." }]],
  [
    "assistant",
    [
      { type: "thinking", thinking: "Which?", signature: "" },
      { type: "text", text: "I run them." },
      {
        ...{ type: "toolRequest", id: "c1" },
        toolCall: { status: "success", value: { name: "shell", arguments: { command: "npm t" } } },
      },
    ],
  ],
  [
    "user",
    [
      {
        ...{ type: "toolResponse", id: "c1" },
        toolResult: {
          status: "success",
          value: { content: [{ type: "text", text: "1 failed" }], isError: true },
        },
      },
    ],
  ],
  ["assistant", [{ type: "text", text: "One failed." }]],
  ["user", [{ type: "text", text: "Tests were run." }], { userVisible: false, agentVisible: true }],
  ["user", [{ type: "text", text: "Run the tests." }]],
] as const;

const GOOSE_READ = [
  "user: Run the tests.",
  "-reasoning: Which?",
  "text: I run them.",
  'call: shell {"command":"npm t"}',
  "failed: 1 failed",
  "text: One failed.",
  "-system: Tests were run.",
  "user: Run the tests.",
];

test("Goose: its database, its earlier files and its export have the same messages", async () => {
  const path = join(folder, "sessions.db");
  const db = new DatabaseSync(path);
  db.exec(`CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, working_dir TEXT,
      session_type TEXT, created_at TIMESTAMP, updated_at TIMESTAMP);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT,
      content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
    INSERT INTO sessions VALUES ('20260501_1', 'Tests', '/home/ada/app', 'user', '2026-05-01 10:00:00', '2026-05-01 10:00:05');`);
  const add = db.prepare("INSERT INTO messages VALUES (NULL, '20260501_1', ?, ?, ?, ?)");
  const created = Date.parse(at(0)) / 1000;
  for (const [index, [role, content, metadata]] of GOOSE.entries())
    add.run(role, JSON.stringify(content), created + index, JSON.stringify(metadata ?? null));
  db.close();
  const { sessions, skipped, unknown } = await readImport(
    gooseFormat,
    fileOfBytes(path, new Uint8Array()),
  );
  expect([skipped, unknown]).toEqual([[], []]);
  const [{ messages = [], ...session } = {}] = sessions;
  expect(session).toEqual({
    ...{ id: "goose:20260501_1", agent: "goose", nativeId: "20260501_1", title: "Tests" },
    ...{ project: "/home/ada/app", startedAt: at(0), updatedAt: at(5) },
  });
  expect(messages.map(brief)).toEqual(GOOSE_READ);
  expect(messages.map(({ origin }) => origin.time)).toEqual([0, 1, 1, 1, 2, 3, 4, 5].map(at));

  const said = GOOSE.map(([role, content, metadata], index) => ({
    ...{ id: null, role, created: created + index, content },
    ...(metadata ? { metadata } : {}),
  }));
  const lines = linesFile("20260501_1.jsonl", [
    { working_dir: "/home/ada/app", description: "Tests", message_count: 6 },
    ...said,
  ]);
  const about = { id: "20260501_1", working_dir: "/home/ada/app", name: "Tests" };
  const exported = linesFile("export.json", [{ ...about, conversation: said }]);
  for (const file of [lines, exported]) {
    const [same] = (await readImport(gooseFormat, file)).sessions;
    expect([same?.id, same?.title]).toEqual(["goose:20260501_1", "Tests"]);
    expect(same?.messages.map(brief)).toEqual(GOOSE_READ);
    expect(same?.messages.map(({ sourceId }) => sourceId)).toEqual(
      messages.map(({ sourceId }) => sourceId),
    );
  }
});
