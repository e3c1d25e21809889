import { hash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { importTranscripts } from "../src/app/import-transcripts.ts";
import { recogniseFile } from "../src/import/find-transcripts.ts";
import { stamped } from "../src/import/session-log.ts";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { openhandsFormat } from "../src/transcripts/agents/openhands-format.ts";
import { fileOfBytes } from "../src/transcripts/found-file.ts";
import { IMPORT_FORMATS } from "../src/transcripts/import-formats.ts";
import type { AgentName } from "../src/transcripts/imported.ts";
import { brief, readImport } from "./support/read-import.ts";
import { saidIn } from "./support/said-in.ts";
import { TRANSCRIPT_SAMPLES, transcriptBytes } from "./support/transcript-samples.ts";
import { sampled } from "./support/trials.ts";
import { zipOf } from "./support/zip-of.ts";

/** Imports each of the files, alone, into the same store. Returns the reasons for what was left out, and what is there. */
async function importedFiles(
  files: Readonly<Record<string, string | Uint8Array>>,
  agent?: AgentName,
) {
  const folder = mkdtempSync(join(tmpdir(), "rkat-formats-"));
  const stores = sqliteStores({ path: ":memory:" });
  try {
    const reasons: string[] = [];
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name);
      writeFileSync(path, text);
      const report = await importTranscripts({ stores, path, ...(agent ? { agent } : {}) });
      reasons.push(...report.skipped.map(({ reason }) => reason));
    }
    const entries = await stores.memory.list({ limit: 1000 });
    return { reasons, said: entries.map(({ content }) => content).sort() };
  } finally {
    await stores.close();
    rmSync(folder, { recursive: true });
  }
}

const jsonLines = (...values: object[]) =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");
const THREAD = "0f3c2b1a-1111-4222-8333-444455556666";
const ROLLOUT = `rollout-2026-05-01T10-00-00-${THREAD}.jsonl`;
const rolloutLine = (type: string, payload: object) => ({
  ...{ timestamp: "2026-05-01T10:00:00.000Z", type },
  payload,
});
const rollout = [
  rolloutLine("session_meta", { id: THREAD, cwd: "/home/ada/app" }),
  rolloutLine("response_item", {
    ...{ type: "message", role: "user" },
    content: [{ type: "input_text", text: "Why is it red?" }],
  }),
  rolloutLine("event_msg", { type: "user_message", message: "Why is it red?" }),
  rolloutLine("response_item", {
    ...{ type: "message", role: "assistant" },
    content: [{ type: "output_text", text: "Paint." }],
  }),
];

test("a file whose first line is torn is read without that line, and the line is told", async () => {
  const torn = jsonLines(...rollout).slice(30);
  expect(await importedFiles({ [ROLLOUT]: torn })).toEqual({
    reasons: ["it is not JSON"],
    said: ["Paint.", "Why is it red?"],
  });
  const entry = { type: "message", id: "aaaaaaaa", parentId: null };
  const pi = jsonLines({ ...entry, message: { role: "user", content: "Make it blue" } });
  const name = `2026-05-01T10-00-00-000Z_${THREAD}.jsonl`;
  const goose = jsonLines({
    ...{ role: "user", created: 1_770_000_000 },
    content: [{ type: "text", text: "Make it blue" }],
  });
  for (const [file, message] of [
    [name, pi],
    ["20260501_1.jsonl", goose],
  ] as const) {
    expect(await importedFiles({ [file]: `d":"/home/ada"}\n${message}` })).toEqual({
      reasons: ["it is not JSON"],
      said: ["Make it blue"],
    });
  }
});

test("chats and streams without the start of their first line, or with blank lines before it, are read", async () => {
  const chat = { role: "user", content: "Make it blue" };
  const stream = { type: "assistant", session_id: THREAD, uuid: "u1", message: chat };
  const lines = {
    "chat.jsonl": jsonLines(chat),
    "stream.jsonl": jsonLines({ ...stream, message: { id: "m", ...chat, role: "assistant" } }),
    "rollout.jsonl": jsonLines(...rollout).replaceAll("\n", "\n\n"),
  };
  for (const [file, text] of Object.entries(lines)) {
    const { said } = await importedFiles({ [file]: text });
    expect(said.length, file).toBeGreaterThan(0);
    expect((await importedFiles({ [file]: `\n\n${text}` })).said, file).toEqual(said);
    if (file.startsWith("rollout")) continue;
    const torn = await importedFiles({ [file]: `d":"/home/ada"}\n${text}` });
    expect(torn.said, file).toEqual(said);
    expect(torn.reasons).toContain("it is not JSON");
  }
});

test("a task of Roo Code that was imported as one of Cline's is there once, unless more was done with it", async () => {
  const text = JSON.stringify([{ ts: 1_770_000_000_000, type: "say", say: "text", text: "Hi" }]);
  const folder = mkdtempSync(join(tmpdir(), "rkat-formats-"));
  const write = (below: string) => {
    const path = join(folder, below, "tasks", "1770000000000", "ui_messages.json");
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  const paths = [write("copied"), write("rooveterinaryinc.roo-cline")];
  try {
    for (const isUsed of [false, true]) {
      const stores = sqliteStores({ path: ":memory:" });
      const [copy, task] = paths as [string, string];
      await importTranscripts({ stores, path: copy });
      const lastSeq = await stores.events.lastSeq("cline:1770000000000");
      const event = { type: "session_deleted", session_id: "x" } as const;
      const used = [stamped(event, 1)];
      if (isUsed) await stores.events.append("cline:1770000000000", lastSeq, used);
      await importTranscripts({ stores, path: task });
      const ids = (await stores.sessions.list({ limit: 9 })).map(({ id }) => id).sort();
      expect(ids).toEqual([...(isUsed ? ["cline:1770000000000"] : []), "roo:1770000000000"]);
      await stores.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a file in UTF-16, as some shells redirect to, is told to be that", async () => {
  const text = Buffer.from(`\uFEFF${jsonLines(...rollout)}`, "utf16le");
  const { reasons, said } = await importedFiles({ [ROLLOUT]: text });
  expect(said).toEqual([]);
  expect(reasons).toEqual([expect.stringContaining("It is UTF-16. Save it as UTF-8.")]);
});

test("a file of iFlow, whose lines look like Claude Code's and hang otherwise, is not taken for one", async () => {
  const line = (uuid: string, parentUuid: string | null, role: string, content: unknown) => ({
    ...{ uuid, parentUuid, sessionId: `session-${THREAD}`, isSidechain: false, type: role },
    message: { role, content },
  });
  const said = (text: string) => [{ type: "text", text }];
  // Each answer hangs below the prompt.
  const text = jsonLines(
    line("a", null, "user", "Why is it red?"),
    line("b", "a", "assistant", said("I look.")),
    line("c", "a", "assistant", said("It is paint.")),
  );
  const { reasons, said: found } = await importedFiles({ [`session-${THREAD}.jsonl`]: text });
  expect(found).toEqual([]);
  expect(reasons).toEqual([expect.stringContaining("its format is not known.")]);
});

test("a file of another agent than the one that was named is not taken for that one's", async () => {
  expect(await importedFiles({ [ROLLOUT]: jsonLines(...rollout) }, "claude-code")).toEqual({
    reasons: ["it is a transcript of codex, not of claude-code"],
    said: [],
  });
});

const CLAUDE = "1f3c2b1a-1111-4222-8333-444455556666";
const claudeLine = (number: number, type: string, content: unknown, more: object = {}) => ({
  ...{ type, uuid: `0000000${number}-1111-4222-8333-444455556666`, sessionId: CLAUDE },
  ...{ parentUuid: number === 1 ? null : `0000000${number - 1}-1111-4222-8333-444455556666` },
  ...{ timestamp: `2026-05-01T10:00:0${number}.000Z`, cwd: "/home/ada/app", version: "2.0.0" },
  message: { role: type, content, ...more },
});
const claudeLines = [
  claudeLine(1, "user", "Why is it red?"),
  claudeLine(2, "assistant", [{ type: "text", text: "Paint." }], { id: "m1", model: "claude" }),
  claudeLine(3, "user", "Is it done?"),
  claudeLine(4, "assistant", [{ type: "text", text: "It is done." }], {
    ...{ id: "m2", model: "claude" },
  }),
];
const rolloutText = (role: string, text: string) =>
  rolloutLine("response_item", {
    ...{ type: "message", role },
    content: [{ type: role === "user" ? "input_text" : "output_text", text }],
  });
const execLine = (id: string, item: object) => ({ type: "item.completed", item: { id, ...item } });
const runLine = (type: string, id: string, part: object) => ({
  ...{ type, sessionID: "ses_1" },
  part: { id, messageID: "msg_2", ...part },
});

/** The lines of a program's own transcript of a session, and of what it prints of it. */
interface Printed {
  readonly name: string;
  readonly own: readonly object[];
  readonly printed: readonly object[];
  /** Whether what is printed has the prompts. */
  readonly hasPrompts?: true;
}

const CHAT = "3f1c0000-0000-4000-8000-000000000001";
const chatRequest = (id: string, text: string, value: string) => ({
  ...{ requestId: id, timestamp: 1_770_000_000_000, message: { text } },
  ...{ response: [{ value }], result: {} },
});
const chatEvent = (type: string, data: object) => ({
  ...{ type, id: `${type} ${JSON.stringify(data)}`, timestamp: "2026-02-02T02:40:00.000Z" },
  data,
});

const PRINTED: Readonly<Record<string, Printed>> = {
  "Copilot Chat": {
    hasPrompts: true,
    name: `${CHAT}.jsonl`,
    own: [
      {
        kind: 0,
        v: { sessionId: CHAT, requests: [chatRequest("r1", "Why is it red?", "Paint.")] },
      },
      { kind: 2, k: ["requests"], v: [chatRequest("r2", "Is it done?", "It is done.")] },
    ],
    printed: [
      chatEvent("session.start", { sessionId: CHAT, vscodeVersion: "1.121.0" }),
      chatEvent("user.message", { content: "Why is it red?" }),
      chatEvent("assistant.message", { messageId: "m1", content: "Paint." }),
      chatEvent("user.message", { content: "Is it done?" }),
      chatEvent("assistant.message", { messageId: "m2", content: "It is done." }),
    ],
  },
  "codex exec": {
    name: ROLLOUT,
    own: [
      ...rollout,
      rolloutText("user", "Is it done?"),
      rolloutLine("event_msg", { type: "user_message", message: "Is it done?" }),
      rolloutLine("response_item", {
        ...{ type: "function_call", name: "shell", call_id: "c", arguments: '{"command":["ls"]}' },
      }),
      rolloutLine("response_item", { type: "function_call_output", call_id: "c", output: "a.ts" }),
      rolloutText("assistant", "Paint."),
    ],
    printed: [
      { type: "thread.started", thread_id: THREAD },
      execLine("item_0", { type: "agent_message", text: "Paint." }),
      { type: "thread.started", thread_id: THREAD },
      execLine("item_0", { type: "command_execution", command: "ls", aggregated_output: "a.ts" }),
      execLine("item_1", { type: "agent_message", text: "Paint." }),
    ],
  },
  "claude -p": {
    name: `${CLAUDE}.jsonl`,
    own: claudeLines,
    printed: [
      { type: "system", subtype: "init", session_id: CLAUDE, cwd: "/home/ada/app" },
      ...claudeLines
        .filter(({ type }) => type === "assistant")
        .map(({ type, uuid, message }) => ({ type, uuid, message, session_id: CLAUDE })),
      { type: "result", subtype: "success", session_id: CLAUDE, result: "It is done." },
    ],
  },
  "opencode run": {
    name: "export.json",
    own: [
      {
        info: { id: "ses_1", title: "Red", directory: "/home/ada/app", time: { created: 1 } },
        messages: [
          {
            info: { id: "msg_1", role: "user", time: { created: 2 } },
            parts: [{ id: "prt_1", type: "text", text: "Why is it red?" }],
          },
          {
            info: { id: "msg_2", role: "assistant", time: { created: 3 } },
            parts: [{ id: "prt_2", type: "text", text: "Paint." }],
          },
        ],
      },
    ],
    printed: [
      runLine("step_start", "prt_0", { type: "step-start" }),
      runLine("text", "prt_2", { type: "text", text: "Pa" }),
      runLine("text", "prt_2", { type: "text", text: "Paint." }),
    ],
  },
};

/** The sessions and the memory after imports into one store, each of files as they are then. */
async function stateAfter(imports: readonly Readonly<Record<string, readonly object[]>>[]) {
  const folder = mkdtempSync(join(tmpdir(), "rkat-formats-"));
  const stores = sqliteStores({ path: ":memory:" });
  const sessions = createSessionService({ model: "none", stores });
  try {
    const reasons: string[] = [];
    for (const [number, files] of imports.entries()) {
      for (const [name, lines] of Object.entries(files)) {
        const path = join(folder, name);
        writeFileSync(path, jsonLines(...lines));
        utimesSync(path, 1_770_000_000, 1_770_000_000 + number);
      }
      const path = join(folder, ...(Object.keys(files).length === 1 ? Object.keys(files) : []));
      const report = await importTranscripts({ stores, path });
      reasons.push(...report.skipped.map(({ reason }) => reason));
    }
    const listed = await sessions.list({});
    const histories = listed.map(async ({ sessionId, source }) => {
      const { history } = await sessions.read({ sessionId });
      return { sessionId, source, said: history.map(({ message, origin }) => [message, origin]) };
    });
    const memory = await sessions.listMemory({ limit: 100 });
    const inMemory = memory.map(({ sessionId, content }) => `${sessionId} ${content}`).sort();
    return { reasons, state: { sessions: await Promise.all(histories), inMemory } };
  } finally {
    await sessions.close();
    await stores.close();
    rmSync(folder, { recursive: true });
  }
}

const upTo = <Item>(items: readonly Item[]) => items.map((_, index) => items.slice(0, index + 1));

test.each(Object.entries(PRINTED))(
  "what `%s` printed and the program's own transcript are as the transcript alone, in any order and cut anywhere",
  async (_, { name, own, printed }) => {
    const cuts = upTo(own).flatMap((some) => upTo(printed).map((lines) => [some, lines] as const));
    for (const [some, lines] of sampled(cuts, { of: 4, at: 3 }, "cases")) {
      const alone = await stateAfter([{ [name]: some }]);
      // Before its first message, a transcript is no session yet.
      if (alone.state.sessions.length === 0) continue;
      const [its, stream] = [{ [name]: some }, { "printed.jsonl": lines }];
      for (const imports of [[stream, its], [its, stream], [{ ...its, ...stream }]]) {
        const { state } = await stateAfter(imports);
        expect(state).toEqual(alone.state);
      }
    }
  },
);

test.each(Object.entries(PRINTED))(
  "what `%s` printed and the program's own transcript, both taken by turns as they grow, are as the transcript alone",
  async (_, { name, own, printed }) => {
    // The facts about a session are those of its first import, which may come before its model is known.
    const after = async (imports: Parameters<typeof stateAfter>[0]) => {
      const { sessions, inMemory } = (await stateAfter(imports)).state;
      return [sessions.map(({ sessionId, said }) => ({ sessionId, said })), inMemory];
    };
    const alone = await after([{ [name]: own }]);
    const cuts = upTo(own).flatMap((some) => upTo(printed).map((lines) => [some, lines] as const));
    for (const [some, lines] of sampled(cuts, { of: 4, at: 1 }, "cases")) {
      const [half, whole] = [{ [name]: some }, { [name]: own }];
      const [begun, ended] = [{ "printed.jsonl": lines }, { "printed.jsonl": printed }];
      for (const imports of [
        [begun, half, ended, whole],
        [half, begun, whole, ended],
        [begun, { ...half, ...ended }, whole],
      ]) {
        expect(await after(imports)).toEqual(alone);
      }
    }
  },
);

test("what was printed is a session of its own where no transcript is, and is told", async () => {
  for (const { name, own, printed, hasPrompts } of Object.values(PRINTED)) {
    const before = await stateAfter([{ "printed.jsonl": printed }]);
    expect(before.reasons).toEqual(
      hasPrompts ? [] : ["the prompt is not in this stream, so only the answers are imported"],
    );
    expect(before.state.sessions).toHaveLength(1);
    expect(before.state.inMemory.join()).toContain(":printed Paint.");
    const after = await stateAfter([{ [name]: own }, { "printed.jsonl": printed }]);
    expect(after.reasons).toEqual(["its session is there already, from its own transcript"]);
  }
});

test("what was printed stays where more was done with it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rkat-formats-"));
  const stores = sqliteStores({ path: ":memory:" });
  const sessions = createSessionService({ model: "none", stores });
  try {
    const { name, own, printed } = PRINTED["codex exec"] as Printed;
    const paths = ["printed.jsonl", name].map((each) => join(folder, each));
    for (const [index, lines] of [printed, own].entries()) {
      writeFileSync(paths[index] ?? "", jsonLines(...lines));
      await importTranscripts({ stores, path: paths[index] ?? "" });
      const sessionId = `codex:${THREAD}:printed`;
      if (index === 0) await sessions.updateTask({ sessionId, notes: { colour: "blue" } });
    }
    const ids = (await sessions.list({})).map(({ sessionId }) => sessionId);
    expect(ids.sort()).toEqual([`codex:${THREAD}`, `codex:${THREAD}:printed`]);
  } finally {
    await sessions.close();
    await stores.close();
    rmSync(folder, { recursive: true });
  }
});

/** The id of a blob in a store of cursor-agent. */
const blobId = (data: Uint8Array | string) => hash("sha256", data);

test("a store of cursor-agent has its chat, in the order of its root, once beside the chat's transcript", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rkat-formats-"));
  const chat = "0d5c2f6e-3b1a-4a54-9d5f-6f1f2a7b8c9d";
  const path = join(folder, "store.db");
  const transcript = join(folder, `${chat}.jsonl`);
  const asked = (text: string) => [{ type: "text", text: `<user_query>\n${text}\n</user_query>` }];
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "<user_info>linux</user_info>" },
    { role: "user", content: asked("Why is it red?") },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Look at it." },
        { type: "text", text: "I look." },
        { type: "tool-call", toolCallId: "c", toolName: "Read", args: { path: "paint.ts" } },
      ],
    },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "c", toolName: "Read", result: "red" }],
    },
    { role: "assistant", content: [{ type: "text", text: "It is paint." }] },
    { role: "user", content: asked("Go on") },
    { role: "user", content: asked("Go on") },
  ].map((message) => JSON.stringify(message));
  const ids = messages.map((message) => Buffer.from(`0a20${blobId(message)}`, "hex"));
  // The root has other fields, too: a number, a text and eight bytes.
  const rest = Buffer.from(`1001${"4a03"}616263${"39"}${"00".repeat(8)}`, "hex");
  const root = Buffer.concat([...ids, rest]);
  const about = { agentId: chat, name: "Red paint", latestRootBlobId: blobId(root) };
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)");
  db.exec("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)");
  const put = db.prepare("INSERT OR IGNORE INTO blobs VALUES (?, ?)");
  for (const message of messages.toReversed()) put.run(blobId(message), Buffer.from(message));
  put.run(blobId(root), root);
  const value = Buffer.from(JSON.stringify({ ...about, createdAt: 1_770_000_000_000 }));
  db.prepare("INSERT INTO meta VALUES ('0', ?)").run(value.toString("hex"));
  db.close();
  // It has texts only.
  const lines = messages.flatMap((message) => {
    const { role, content } = JSON.parse(message);
    const texts = [content]
      .flat()
      .filter((block) => typeof block === "string" || block.type === "text");
    if (role !== "user" && role !== "assistant") return [];
    return [
      JSON.stringify({ role, message: { content: typeof content === "string" ? content : texts } }),
    ];
  });
  writeFileSync(transcript, lines.map((line) => `${line}\n`).join(""));
  const taken = async (...paths: string[]) => {
    const stores = sqliteStores({ path: ":memory:" });
    try {
      const added: number[] = [];
      for (const each of paths) added.push((await importTranscripts({ stores, path: each })).added);
      return { added, said: await saidIn(stores) };
    } finally {
      await stores.close();
    }
  };
  try {
    const { added, said } = await taken(path, path, transcript);
    expect(added.slice(1)).toEqual([0, 0]);
    expect(said[0]).toBe(`cursor:${chat} Red paint`);
    const texts = said.slice(1).map((line) => /"(?:text|content|name)":"([^"]+)/.exec(line)?.[1]);
    expect(texts).toEqual([
      ...["Why is it red?", "Look at it.", "I look.", "Read", "red", "It is paint."],
      ...["Go on", "Go on"],
    ]);
    // The call and its result are only in the store.
    const other = await taken(transcript, path);
    expect(new Set(other.said.slice(1))).toEqual(new Set(said.slice(1)));
    expect(other.said).toHaveLength(said.length);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("each instance of an evaluation of OpenHands is a session, with the times of its events", async () => {
  const at = (second: number) => `2026-05-01T10:00:0${second}.123456`;
  const [asked, ran, listed, done] = [
    { id: 0, timestamp: at(1), source: "user", action: "message", args: { content: "Fix it." } },
    { id: 1, timestamp: at(2), source: "agent", action: "run", args: { command: "ls" } },
    { id: 2, timestamp: at(3), source: "agent", cause: 1, observation: "run", content: "a.ts" },
    { id: 3, timestamp: at(4), source: "agent", action: "finish", args: { final_thought: "Ok." } },
  ];
  const text = jsonLines(
    { instance_id: "app-1", instruction: "Fix it.", history: [asked, ran, listed, done] },
    { instance_id: "app-2", history: [[asked, {}], [ran, listed], [done]] },
  );
  const file = fileOfBytes("output.jsonl", Buffer.from(text));
  expect(await recogniseFile(file, IMPORT_FORMATS)).toBe(openhandsFormat);
  const { sessions, skipped, unknown } = await readImport(openhandsFormat, file);
  expect([skipped, unknown]).toEqual([[], []]);
  const ids = sessions.map(({ id }) => id);
  expect(ids).toEqual([
    expect.stringContaining("openhands:app-1"),
    expect.stringContaining("openhands:app-2"),
  ]);
  const later = fileOfBytes(
    "output.jsonl",
    Buffer.from(text.replaceAll("2026-05-01", "2026-05-02")),
  );
  const others = (await readImport(openhandsFormat, later)).sessions;
  expect(ids).not.toContain(others[0]?.id);
  for (const { messages } of sessions) {
    expect(messages.map((each) => `${each.origin.time?.slice(17, 19)} ${brief(each)}`)).toEqual([
      "01 user: Fix it.",
      '02 call: run {"command":"ls"}',
      "03 result: a.ts",
      "04 text: Ok.",
    ]);
  }
});

test("a folder with transcripts of every format is imported once, also packed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rkat-formats-"));
  const stores = sqliteStores({ path: ":memory:" });
  const write = (path: string, bytes: Uint8Array) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  };
  try {
    for (const sample of TRANSCRIPT_SAMPLES) {
      const bytes = transcriptBytes(sample, sample.values);
      const { agent } = sample.format;
      write(join(agent, sample.path), bytes);
      if (agent === "codex") write(join(agent, `${sample.path}.zst`), zstdCompressSync(bytes));
      if (agent === "chatgpt") write("export.zip", zipOf({ [sample.path]: bytes.toString() }));
    }
    const first = await importTranscripts({ stores, path: folder });
    const again = await importTranscripts({ stores, path: folder });
    expect([first.skipped, first.unknownTypes]).toEqual([[], {}]);
    expect([again.added, again.messages]).toEqual([0, first.messages]);

    const entries = await stores.memory.list({ limit: 1000 });
    const times = (text: string) => entries.filter(({ content }) => content === text).length;
    for (const prompt of new Set(TRANSCRIPT_SAMPLES.flatMap(({ typed }) => typed))) {
      const said = TRANSCRIPT_SAMPLES.filter(({ typed }) => typed.includes(prompt)).length;
      expect([prompt, times(prompt)]).toEqual([prompt, said]);
    }
    const all = entries.map(({ content }) => content).join("\n");
    for (const { injected } of TRANSCRIPT_SAMPLES)
      if (injected) expect(all).not.toContain(injected);
  } finally {
    await stores.close();
    rmSync(folder, { recursive: true });
  }
});
