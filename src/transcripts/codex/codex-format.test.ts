import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { brief, linesFile, readImport } from "../../../test/support/read-import.ts";
import { fileOfBytes } from "../found-file.ts";
import { codexFormat } from "./codex-format.ts";

const ID = "019a0c1e-1111-7222-8333-aaaaaaaaaaaa";
const FORK = "019a0c1e-1111-7222-8333-bbbbbbbbbbbb";
const PATH = `sessions/2026/05/01/rollout-2026-05-01T10-00-00-${ID}.jsonl`;
const FORK_PATH = `sessions/2026/05/02/rollout-2026-05-02T10-00-00-${FORK}.jsonl`;

let clock = Date.parse("2026-05-01T10:00:00Z");
const line = (type: string, payload: object) => {
  clock += 1000;
  return { timestamp: new Date(clock).toISOString(), type, payload };
};
const item = (payload: object) => line("response_item", payload);
const event = (type: string, payload: object = {}) => line("event_msg", { type, ...payload });
const meta = (id: string, more: object = {}) =>
  line("session_meta", {
    ...{
      id,
      timestamp: "2026-05-01T10:00:00.000Z",
      cwd: "/home/ada/shop",
      originator: "codex-tui",
    },
    ...{ cli_version: "0.60.0", source: "cli", git: { branch: "main", commit_hash: "abc" } },
    ...more,
  });
const message = (role: string, text: string) =>
  item({
    ...{ type: "message", role },
    content: [{ type: role === "assistant" ? "output_text" : "input_text", text }],
  });
const typed = (text: string) => [
  message("user", text),
  event("user_message", { message: text, kind: "plain" }),
];
const turn = (id: string) => [
  event("task_started", { turn_id: id }),
  line("turn_context", { turn_id: id, cwd: "/home/ada/shop", model: "gpt-5.2-codex" }),
];

const TALK = [
  meta(ID, { base_instructions: { text: "You are Codex." } }),
  message("developer", "Be careful."),
  message(
    "user",
    "# AGENTS.md instructions for /home/ada/shop\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
  ),
  message("user", "<environment_context>\n<cwd>/home/ada/shop</cwd>\n</environment_context>"),
  ...turn("t1"),
  ...typed("Why does the cart test fail?"),
  item({
    type: "reasoning",
    summary: [{ type: "summary_text", text: "Look at it." }],
    encrypted_content: "gAAAAA",
  }),
  item({ type: "reasoning", summary: [], encrypted_content: "gAAAAA" }),
  item({
    type: "function_call",
    name: "shell",
    arguments: '{"command":["npm","test"]}',
    call_id: "c1",
  }),
  item({
    type: "custom_tool_call",
    name: "apply_patch",
    input: "*** Begin Patch",
    call_id: "c2",
    status: "completed",
  }),
  item({
    type: "function_call_output",
    call_id: "c1",
    output: '{"output":"1 failed","metadata":{"exit_code":1,"duration_seconds":2}}',
  }),
  item({ type: "custom_tool_call_output", call_id: "c2", output: "Done" }),
  event("token_count", { info: null }),
  event("agent_message", { message: "The total is rounded twice." }),
  message("assistant", "The total is rounded twice."),
  event("task_complete", { turn_id: "t1" }),
];

const read = (values: readonly unknown[], path = PATH) =>
  readImport(codexFormat, linesFile(path, values));

test("typed text is separated from injected text, and calls have their results", async () => {
  const { sessions, unknown, skipped } = await read(TALK);
  expect([unknown, skipped]).toEqual([[], []]);
  const [{ messages = [], ...session } = {}] = sessions;
  expect(session).toMatchObject({
    id: `codex:${ID}`,
    agent: "codex",
    nativeId: ID,
    title: "Why does the cart test fail?",
    project: "/home/ada/shop",
    branch: "main",
    model: "gpt-5.2-codex",
    startedAt: "2026-05-01T10:00:00.000Z",
  });
  expect(messages.map(brief)).toEqual([
    "-system: Be careful.",
    "user: Why does the cart test fail?",
    "-reasoning: Look at it.",
    'call: shell {"command":["npm","test"]}',
    'call: apply_patch {"input":"*** Begin Patch"}',
    "failed: 1 failed",
    "result: Done",
    "text: The total is rounded twice.",
  ]);
});

test("a packed file of several frames reads like a plain one", async () => {
  const lines = TALK.map((value) => `${JSON.stringify(value)}\n`);
  const frames = [lines.slice(0, 7), lines.slice(7)].map((some) =>
    zstdCompressSync(Buffer.from(some.join(""))),
  );
  const packed = fileOfBytes(`${PATH}.zst`, Buffer.concat(frames));
  const plain = await read(TALK);
  expect((await readImport(codexFormat, packed)).sessions).toEqual(plain.sessions);
});

test("a compaction is a boundary, and the messages before it stay", async () => {
  const { sessions } = await read([
    ...TALK,
    line("compacted", {
      message: "The cart rounds twice.",
      replacement_history: [
        { type: "message", role: "user", content: [{ type: "input_text", text: "Why?" }] },
      ],
    }),
    event("context_compacted"),
    ...turn("t2"),
    ...typed("Fix it."),
  ]);
  const last = sessions[0]?.messages.slice(-2) ?? [];
  expect(last.map(({ boundary }) => boundary)).toEqual(["compaction", undefined]);
  expect(last[0] && brief(last[0])).toMatch(/^-summary: .*The cart rounds twice\.$/s);
  expect(last[1] && brief(last[1])).toBe("user: Fix it.");
});

test("turns that were rolled back are counted and left out", async () => {
  const { sessions, otherBranch } = await read([
    ...TALK,
    ...turn("t2"),
    ...typed("Delete the test."),
    message("assistant", "Deleted."),
    event("thread_rolled_back", { num_turns: 1 }),
    ...turn("t3"),
    ...typed("Round once."),
  ]);
  expect(sessions[0]?.messages.map(brief).slice(-2)).toEqual([
    "text: The total is rounded twice.",
    "user: Round once.",
  ]);
  expect(otherBranch).toBe(2);
});

test("a fork repeats its parent's messages under the same ids, and adds its own", async () => {
  const [parentHead, ...rest] = TALK;
  const own = [...turn("t9"), ...typed("Try another way."), message("assistant", "Yes.")];
  const marked = [meta(FORK, { forked_from_id: ID }), parentHead, ...rest, ...own];
  const unmarked = [meta(FORK, { forked_from_id: ID }), ...rest, ...own];
  const parent = linesFile(PATH, TALK);
  const ids = (await readImport(codexFormat, parent)).sessions[0]?.messages.map(
    ({ sourceId }) => sourceId,
  );
  for (const values of [marked, unmarked]) {
    const file = linesFile(FORK_PATH, values, () => [parent, file]);
    const [fork] = (await readImport(codexFormat, file)).sessions;
    expect(fork?.parent).toEqual({ id: `codex:${ID}`, relation: "fork" });
    const forkIds = fork?.messages.map(({ sourceId }) => sourceId) ?? [];
    expect(forkIds.slice(0, -2)).toEqual(ids);
    expect(ids).not.toContain(forkIds.at(-2));
    expect(new Set(forkIds).size).toBe(forkIds.length);
  }
});

test("a subagent names the session that started it", async () => {
  const source = { subagent: { thread_spawn: { parent_thread_id: ID, depth: 1 } } };
  const { sessions } = await read([meta(FORK, { source }), ...TALK.slice(1)], FORK_PATH);
  expect(sessions[0]?.parent).toEqual({ id: `codex:${ID}`, relation: "subagent" });
});

test("a review is a subagent's session, although it names only the session that it was forked from", async () => {
  const head = meta(FORK, { source: { subagent: "review" }, forked_from_id: ID });
  const { sessions } = await read([head, ...TALK.slice(1)], FORK_PATH);
  expect(sessions[0]?.parent).toEqual({ id: `codex:${ID}`, relation: "subagent" });
});

test("the earliest files have items without an envelope, and no events", async () => {
  const { sessions, unknown } = await read([
    {
      id: ID,
      timestamp: "2025-05-07T10:00:00.000Z",
      instructions: "Use tabs.",
      git: { branch: "main" },
    },
    { record_type: "state" },
    {
      ...{ type: "message", role: "user" },
      content: [{ type: "input_text", text: "<environment_context>x</environment_context>" }],
    },
    { type: "message", role: "user", content: [{ type: "input_text", text: "Hello" }] },
    {
      type: "local_shell_call",
      id: "i",
      call_id: "c",
      status: "completed",
      action: { type: "exec", command: ["ls"] },
    },
    { type: "function_call_output", call_id: "c", output: "a.ts" },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi" }] },
  ]);
  expect(unknown).toEqual([]);
  expect(sessions[0]).toMatchObject({ nativeId: ID, title: "Hello", branch: "main" });
  expect(sessions[0]?.messages.map(brief)).toEqual([
    "user: Hello",
    'call: local_shell {"type":"exec","command":["ls"]}',
    "result: a.ts",
    "text: Hi",
  ]);
});

test("a prompt after an injected text in the same message is the prompt", async () => {
  const text = "<recommended_plugins>\nx\n</recommended_plugins>\nAdd a test.";
  const withEvent = await read([
    meta(ID),
    message("user", text),
    event("user_message", { message: "Add a test." }),
  ]);
  const without = await read([meta(ID), message("user", text), message("assistant", "Yes.")]);
  for (const { sessions } of [withEvent, without]) {
    expect(sessions[0]?.messages.map(brief)[0]).toBe("user: Add a test.");
  }
});

test("records, items and events that are not known are counted by name", async () => {
  const { unknown } = await read([
    meta(ID),
    line("telepathy", {}),
    item({ type: "thought_ray" }),
    event("confetti"),
  ]);
  expect(unknown).toEqual(["telepathy", "response_item.thought_ray", "event_msg.confetti"]);
});

test("a prompt whose event is missing is a prompt, and parts the answers around it", async () => {
  const at = "2026-05-01T10:00:00.000Z";
  const line = (type: string, payload: object) => ({ timestamp: at, type, payload });
  const said = (role: string, text: string) =>
    line("response_item", { type: "message", role, content: [{ type: "input_text", text }] });
  const { sessions } = await readImport(
    codexFormat,
    linesFile("rollout-2026-05-01T10-00-00-019a0c1e-1111-7222-8333-aaaaaaaaaaaa.jsonl", [
      line("session_meta", { id: "019a0c1e-1111-7222-8333-aaaaaaaaaaaa", timestamp: at }),
      said("user", "<environment_context>x</environment_context>"),
      said("user", "First"),
      line("event_msg", { type: "user_message", message: "First" }),
      said("assistant", "One"),
      said("user", "Second"),
      said("assistant", "Two"),
      said("user", "<turn_aborted>x</turn_aborted>"),
      said("assistant", "Three"),
    ]),
  );
  expect(sessions[0]?.messages.map(brief)).toEqual([
    "user: First",
    "text: One",
    "user: Second",
    "text: Two",
    "text: Three",
  ]);
});

test("a prompt that has only its event is a prompt, once it is answered", async () => {
  const lines = [
    ...[meta(ID), ...turn("t1"), event("user_message", { message: "Why?" })],
    ...[message("assistant", "Because."), ...turn("t2"), ...typed("And now?")],
    ...[message("assistant", "Now it is."), event("user_message", { message: "Thanks" })],
  ];
  const { sessions } = await readImport(codexFormat, linesFile(PATH, lines));
  const [session] = sessions;
  expect(session?.title).toBe("Why?");
  expect(session?.messages.map(brief)).toEqual([
    ...["user: Why?", "text: Because.", "user: And now?", "text: Now it is."],
  ]);
});
