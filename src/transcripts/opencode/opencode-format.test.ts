import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type TalkStep, talkSteps } from "../../../test/support/agent-talks.ts";
import { fuzz } from "../../../test/support/fuzz.ts";
import { brief, readImport } from "../../../test/support/read-import.ts";
import { fileOfBytes } from "../found-file.ts";
import { opencodeFormat } from "./opencode-format.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "opencode-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const TIME = 1_770_000_000_000;
const user = (more: object = {}) => ({
  role: "user",
  time: { created: TIME },
  agent: "build",
  ...more,
});
const assistant = (more: object = {}) => ({
  ...{
    role: "assistant",
    parentID: "msg_1",
    modelID: "claude",
    providerID: "anthropic",
    mode: "build",
  },
  ...{ time: { created: TIME + 1000 }, cost: 0 },
  ...more,
});
const tool = (name: string, state: object) => ({
  type: "tool",
  callID: `call-${name}`,
  tool: name,
  state,
});

/** Messages with their parts, as both the database and the tree have them. */
const TALK: readonly (readonly [string, object, readonly object[]])[] = [
  [
    "msg_1",
    user(),
    [
      { type: "text", text: "Run the tests" },
      { type: "text", text: "Called the Read tool", synthetic: true },
      { type: "file", mime: "text/plain", filename: "a.ts", url: "file:///a.ts" },
    ],
  ],
  [
    "msg_2",
    assistant(),
    [
      { type: "step-start" },
      { type: "reasoning", text: "npm test" },
      { type: "text", text: "I run them." },
      tool("bash", {
        status: "completed",
        input: { command: "npm test" },
        output: "1 failed",
        metadata: { exit: 1 },
      }),
      tool("read", { status: "error", input: { path: "x" }, error: "no file" }),
      tool("edit", { status: "running", input: {} }),
      { type: "step-finish", reason: "tool-calls" },
      { type: "text", text: "One failed." },
      { type: "aura" },
    ],
  ],
  ["msg_3", user(), [{ type: "compaction", auto: true }]],
  ["msg_4", assistant({ summary: true }), [{ type: "text", text: "Tests were run." }]],
  ["msg_5", user(), [{ type: "text", text: "Fix it" }]],
  ["msg_6", user(), [{ type: "text", text: "Taken back" }]],
];

const READ = [
  "user: Run the tests\n[file: a.ts]",
  "-reasoning: npm test",
  "text: I run them.",
  'call: bash {"command":"npm test"}',
  'call: read {"path":"x"}',
  "call: edit {}",
  "failed: 1 failed",
  "failed: no file",
  "text: One failed.",
  "-summary: Tests were run.",
  "user: Fix it",
];

/** The messages that are read, with the introduction of a summary cut off. */
const brieflyRead = (
  messages: Parameters<typeof brief>[0][] | readonly Parameters<typeof brief>[0][] = [],
) => messages.map((part) => brief(part).replace(/(summary: ).*\n/s, "$1"));

function database(): string {
  const path = join(folder, "opencode.db");
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE project (id, worktree, time_created, time_updated);
    CREATE TABLE session (id, project_id, parent_id, directory, title, version, revert, model, time_created, time_updated);
    CREATE TABLE message (id, session_id, time_created, time_updated, data);
    CREATE TABLE part (id, message_id, session_id, time_created, time_updated, data);
    CREATE TABLE session_message (id, session_id, type, time_created, time_updated, data);
    INSERT INTO project VALUES ('p', '/home/ada/shop', 1, 1);`);
  const session = db.prepare("INSERT INTO session VALUES (?, 'p', ?, ?, ?, '1.0', ?, ?, ?, ?)");
  const revert = JSON.stringify({ messageID: "msg_6" });
  const model = JSON.stringify({ id: "claude", providerID: "anthropic" });
  session.run("ses_1", null, "/home/ada/shop", "Tests", revert, model, TIME, TIME + 9000);
  session.run("ses_2", "ses_1", null, "Look around", null, null, TIME, TIME);
  const message = db.prepare("INSERT INTO message VALUES (?, 'ses_1', ?, ?, ?)");
  const part = db.prepare("INSERT INTO part VALUES (?, ?, 'ses_1', ?, ?, ?)");
  for (const [index, [id, info, parts]] of TALK.entries()) {
    message.run(id, TIME + index, TIME, JSON.stringify(info));
    for (const [at, data] of parts.entries())
      part.run(`prt_${id}_${at}`, id, TIME, TIME, JSON.stringify(data));
  }
  const newer = db.prepare("INSERT INTO session_message VALUES (?, 'ses_2', ?, ?, ?, ?)");
  const records: [string, object][] = [
    ["user", { text: "Where is the cart?", files: [], agents: [] }],
    ["synthetic", { text: "Use few words." }],
    ["assistant", { agent: "explore", content: [{ type: "text", text: "In cart.ts." }] }],
    ["shell", { callID: "c", command: "ls", output: "cart.ts" }],
    ["compaction", { reason: "auto", summary: "The cart was found." }],
    ["telepathy", {}],
  ];
  for (const [index, [type, data]] of records.entries()) {
    newer.run(`m_${index}`, type, TIME + index, TIME, JSON.stringify(data));
  }
  db.close();
  return path;
}

const fileAt = (path: string) => ({ ...fileOfBytes(path, Buffer.from("SQLite format 3\0")), path });

test("the database is read: sessions, their parts, reverted messages", async () => {
  const { sessions, unknown, otherBranch, skipped } = await readImport(
    opencodeFormat,
    fileAt(database()),
  );
  expect([unknown, otherBranch, skipped]).toEqual([
    ["part.aura", "session_message.telepathy"],
    1,
    [],
  ]);
  const [{ messages = [], ...session } = {}, child] = sessions;
  expect(session).toEqual({
    ...{ id: "opencode:ses_1", agent: "opencode", nativeId: "ses_1", title: "Tests" },
    ...{ project: "/home/ada/shop", model: "claude" },
    ...{ startedAt: "2026-02-02T02:40:00.000Z", updatedAt: "2026-02-02T02:40:09.000Z" },
  });
  expect(brieflyRead(messages)).toEqual(READ);
  expect(new Set(messages.map(({ sourceId }) => sourceId)).size).toBe(messages.length);
  expect(child).toMatchObject({
    parent: { id: "opencode:ses_1", relation: "subagent" },
    project: "/home/ada/shop",
  });
  expect(brieflyRead(child?.messages)).toEqual([
    "model: Where is the cart?",
    "text: In cart.ts.",
    "-summary: The cart was found.",
  ]);
});

test("the older tree of JSON files has the same messages, and no link is followed", async () => {
  const write = (path: string, value: object) => {
    const file = join(folder, "storage", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(value));
    return file;
  };
  const about = {
    id: "ses_1",
    directory: "/home/ada/shop",
    title: "Tests",
    time: { created: TIME, updated: TIME },
  };
  const path = write("session/p/ses_1.json", { ...about, revert: { messageID: "msg_6" } });
  for (const [index, [id, info, parts]] of TALK.entries()) {
    const time = { created: TIME + index };
    write(`message/ses_1/${id}.json`, { ...info, id, sessionID: "ses_1", time });
    for (const [at, part] of parts.entries())
      write(`part/${id}/prt_${id}_${at}.json`, { ...part, id: `prt_${id}_${at}` });
  }
  const secret = write("../secret.json", { type: "text", text: "a secret" });
  symlinkSync(secret, join(folder, "storage/part/msg_5/prt_z.json"));
  const file = fileOfBytes(
    path,
    Buffer.from(JSON.stringify({ ...about, revert: { messageID: "msg_6" } })),
  );
  const { sessions, skipped } = await readImport(opencodeFormat, file);
  expect(skipped).toEqual([]);
  expect(brieflyRead(sessions[0]?.messages)).toEqual(READ);
  expect(sessions[0]?.model).toBe("claude");
  const same = await readImport(opencodeFormat, fileAt(database()));
  const ids = [sessions, same.sessions].map(([first]) => first?.messages.map((m) => m.sourceId));
  expect(ids[0]).toEqual(ids[1]);
});

test("a folder of the tree that is a link leads to no messages", async () => {
  const write = (path: string, value: object) => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(value));
    return file;
  };
  const about = { id: "ses_1", directory: "/home/ada/shop", time: { created: TIME } };
  const path = write("storage/session/p/ses_1.json", about);
  write("elsewhere/message/ses_1/msg_1.json", { role: "user", time: { created: TIME } });
  write("elsewhere/part/msg_1/prt_1.json", { type: "text", text: "a secret" });
  symlinkSync(join(folder, "elsewhere/message"), join(folder, "storage/message"));
  symlinkSync(join(folder, "elsewhere/part"), join(folder, "storage/part"));
  const { sessions } = await readImport(
    opencodeFormat,
    fileOfBytes(path, Buffer.from(JSON.stringify(about))),
  );
  expect(sessions.flatMap(({ messages }) => messages)).toEqual([]);
});

test("a database that is damaged, or of another program, is told", async () => {
  const path = join(folder, "opencode.db");
  writeFileSync(path, "SQLite format 3\0 and no more".repeat(500));
  const damaged = await readImport(opencodeFormat, fileAt(path));
  expect(damaged.skipped[0]).toMatch(/^-: the database is damaged or of another kind/);
  rmSync(path);
  new DatabaseSync(path).exec("CREATE TABLE session (name); INSERT INTO session VALUES ('x')");
  expect((await readImport(opencodeFormat, fileAt(path))).sessions).toEqual([]);
});

test("a database that cannot be opened is an error", async () => {
  const path = database();
  rmSync(path);
  await expect(readImport(opencodeFormat, fileAt(path))).rejects.toThrow("unable to open");
});

/** A random conversation as a database, with what a person typed and what was put beside it. */
function talkDatabase(steps: readonly TalkStep[]) {
  const path = join(folder, `opencode-${steps.length}.db`);
  rmSync(path, { force: true });
  const db = new DatabaseSync(path);
  db.exec(`CREATE TABLE session (id, directory, title, revert, time_created, time_updated);
    CREATE TABLE message (id, session_id, time_created, data);
    CREATE TABLE part (id, message_id, data);`);
  let typed: string[] = [];
  const injected: string[] = [];
  const prompts: string[] = [];
  let revert: string | null = null;
  let count = 0;
  const say = (info: object, parts: readonly object[]) => {
    count += 1;
    const id = `msg_${String(count).padStart(3, "0")}`;
    db.prepare("INSERT INTO message VALUES (?, 's', ?, ?)").run(id, count, JSON.stringify(info));
    for (const [at, part] of parts.entries()) {
      const data = JSON.stringify(part);
      db.prepare("INSERT INTO part VALUES (?, ?, ?)").run(`prt_${id}_${at}`, id, data);
    }
    return id;
  };
  const text = (said: string, more: object = {}) => ({ type: "text", text: said, ...more });
  const put = () => {
    injected.push(`INJECTED ${injected.length}.`);
    return injected.at(-1) ?? "";
  };
  for (const step of steps) {
    switch (step.does) {
      case "ask": {
        const said = `Prompt ${typed.length + prompts.length}.`;
        typed.push(said);
        prompts.push(say({ role: "user" }, [text(said), text(put(), { synthetic: true })]));
        break;
      }
      case "inject":
        say({ role: "user" }, [text(put(), { synthetic: true })]);
        break;
      case "compact":
        say({ role: "user" }, [{ type: "compaction", auto: true }]);
        say({ role: "assistant", summary: true }, [text(put())]);
        break;
      case "answer": {
        const calls = Array.from({ length: step.calls }, (_, at) => ({
          ...{ type: "tool", callID: `c${count}-${at}`, tool: "bash" },
          state: { status: "completed", input: {}, output: `out ${count}-${at}` },
        }));
        const thinking = step.thinks ? [{ type: "reasoning", text: "Hmm." }] : [];
        const own = [{ type: "step-start" }, ...thinking, text(`Answer ${count}`), ...calls];
        say({ role: "assistant" }, [...own, { type: "step-finish" }]);
        break;
      }
      case "note":
        break;
      case "back":
        // A later prompt would delete what was reverted, so this is the end.
        revert = prompts.at(-step.turns) ?? prompts[0] ?? null;
        typed = typed.slice(0, revert === null ? undefined : prompts.indexOf(revert));
    }
    if (revert !== null) break;
  }
  const hidden = revert === null ? null : JSON.stringify({ messageID: revert });
  db.prepare("INSERT INTO session VALUES ('s', '/a', 'A talk', ?, 1, 1)").run(hidden);
  db.close();
  return { path, typed, injected };
}

fuzz(
  "what a person typed and did not take back is there once, what was put beside it is not, and a database that has grown adds to it",
  fc.tuple(talkSteps({ branches: true }), fc.nat()),
  { short: 40, long: 2000 },
  async ([steps, at]) => {
    const before = talkDatabase(steps.slice(0, 1 + (at % steps.length)));
    const earlier = await readImport(opencodeFormat, fileAt(before.path));
    const { path, typed, injected } = talkDatabase(steps);
    const read = await readImport(opencodeFormat, fileAt(path));
    expect(await readImport(opencodeFormat, fileAt(path))).toEqual(read);
    expect([read.skipped, read.unknown]).toEqual([[], []]);
    const messages = read.sessions.flatMap((session) => session.messages);
    const said = messages.filter(({ memory }) => memory !== false).map(brief);
    expect(said.filter((line) => line.startsWith("user: "))).toEqual(
      typed.map((prompt) => `user: ${prompt}`),
    );
    for (const put of injected) expect(said.join("\n")).not.toContain(put);
    const ids = messages.map(({ sourceId }) => sourceId);
    expect(new Set(ids).size).toBe(ids.length);
    const known = earlier.sessions.flatMap((session) => session.messages);
    if (before.typed.length <= typed.length) {
      expect(ids.slice(0, known.length)).toEqual(known.map(({ sourceId }) => sourceId));
    }
  },
);
