import { expect, test } from "vitest";
import { brief, linesFile, readImport } from "../../test/support/read-import.ts";
import { headOf } from "./file-head.ts";
import { IMPORT_FORMATS } from "./import-formats.ts";
import { piFormat } from "./pi-format.ts";

const head = (id: string, more: object = {}) => ({
  ...{
    type: "session",
    version: 3,
    id,
    timestamp: "2026-04-01T09:00:00.000Z",
    cwd: "/home/ada/shop",
  },
  ...more,
});
const entry = (id: string, parentId: string | null, type: string, fields: object) => ({
  ...{ type, id, parentId, timestamp: "2026-04-01T09:01:00.000Z" },
  ...fields,
});
const message = (id: string, parentId: string | null, fields: object) =>
  entry(id, parentId, "message", { message: fields });
const answer = (content: readonly object[]) => ({
  ...{ role: "assistant", provider: "anthropic", model: "claude-opus-4-5", stopReason: "toolUse" },
  content,
});

const TALK = [
  message("a1", null, { role: "user", content: [{ type: "text", text: "List the files" }] }),
  message(
    "a2",
    "a1",
    answer([
      { type: "thinking", thinking: "ls" },
      { type: "text", text: "I look." },
      { type: "toolCall", id: "c1", name: "bash", arguments: { command: "ls" } },
      { type: "toolCall", id: "c2", name: "read", arguments: { path: "a" } },
    ]),
  ),
  message("a3", "a2", {
    role: "toolResult",
    toolCallId: "c1",
    toolName: "bash",
    content: [{ type: "text", text: "a b" }],
    isError: false,
  }),
  message("a4", "a3", {
    role: "toolResult",
    toolCallId: "c2",
    toolName: "read",
    content: [{ type: "text", text: "no file" }],
    isError: true,
  }),
  message("x1", "a4", answer([{ type: "text", text: "A dead end." }])),
  entry("b1", "a4", "branch_summary", { fromId: "x1", summary: "It was a dead end." }),
  entry("b2", "b1", "compaction", {
    summary: "Files were listed.",
    firstKeptEntryId: "a4",
    tokensBefore: 9,
  }),
  entry("b3", "b2", "custom_message", {
    customType: "hook",
    content: "Remember the style.",
    display: true,
  }),
  message("b4", "b3", { role: "user", content: "Now delete b" }),
  entry("b5", "b4", "session_info", { name: "Tidy up" }),
];

const read = (values: readonly unknown[]) => readImport(piFormat, linesFile("s.jsonl", values));

test("the branch that ends at the last entry is read, and others are counted", async () => {
  const { sessions, otherBranch, unknown } = await read([head("s1"), ...TALK]);
  expect([otherBranch, unknown]).toEqual([1, []]);
  const [{ messages = [], ...session } = {}] = sessions;
  expect(session).toEqual({
    ...{ id: "pi:s1", agent: "pi", nativeId: "s1", title: "Tidy up", project: "/home/ada/shop" },
    ...{ model: "claude-opus-4-5", startedAt: "2026-04-01T09:00:00.000Z" },
    updatedAt: "2026-04-01T09:01:00.000Z",
  });
  expect(messages.map((part) => brief(part).replace(/(summary: ).*\n/s, "$1"))).toEqual([
    "user: List the files",
    "-reasoning: ls",
    "text: I look.",
    'call: bash {"command":"ls"}',
    'call: read {"path":"a"}',
    "result: a b",
    "failed: no file",
    "-summary: It was a dead end.",
    "-summary: Files were listed.",
    "user: Now delete b",
  ]);
  expect(messages.map(({ boundary }) => boundary).filter(Boolean)).toEqual(["compaction"]);
});

test("a fork repeats its parent's entries under the same ids", async () => {
  const parent = await read([head("s1"), ...TALK]);
  const own = message("z1", "b5", { role: "user", content: "And in the fork?" });
  const path = "/elsewhere/2026-04-01T09-00-00-000Z_s1.jsonl";
  const fork = await read([head("s2", { parentSession: path }), ...TALK, own]);
  expect(fork.sessions[0]?.parent).toEqual({ id: "pi:s1", relation: "fork" });
  const ids = [parent, fork].map(({ sessions }) => sessions[0]?.messages.map((m) => m.sourceId));
  expect(ids[1]?.slice(0, -1)).toEqual(ids[0]);
  expect(new Set(ids[1]).size).toBe(ids[1]?.length);
});

test("the first version has no ids and is one branch, after a slot for the title", async () => {
  const { sessions } = await read([
    { type: "title", title: "" },
    head("s1", { version: 1 }),
    {
      type: "message",
      timestamp: "2026-04-01T09:01:00.000Z",
      message: { role: "user", content: "Hi" },
    },
    {
      type: "message",
      message: {
        role: "assistant",
        content: [{ type: "text", text: "Hello" }],
        timestamp: 1_770_000_000_000,
      },
    },
    { type: "message", message: { role: "hookMessage", content: "A hook spoke." } },
  ]);
  expect(sessions[0]?.messages.map(brief)).toEqual(["user: Hi", "text: Hello"]);
  expect(sessions[0]?.messages[1]?.origin.time).toBe("2026-02-02T02:40:00.000Z");
});

test("several roots, circles and lost parents do no harm", async () => {
  const { sessions } = await read([
    head("s1"),
    message("a", "b", { role: "user", content: "A" }),
    message("b", "a", { role: "user", content: "B" }),
    message("c", "gone", { role: "user", content: "C" }),
  ]);
  expect(sessions[0]?.messages.map(brief)).toEqual(["user: A", "user: B", "user: C"]);
});

test("unknown records are counted by name", async () => {
  const { unknown } = await read([
    head("s1"),
    entry("a", null, "telepathy", {}),
    message("b", "a", { role: "ghost", content: "" }),
    message("c", "b", answer([{ type: "hologram" }])),
  ]);
  expect(unknown).toEqual(["telepathy", "message.ghost", "content.hologram"]);
});

test("a session whose head was cut off is pi's, and named after its first entry", async () => {
  const file = linesFile("/home/ada/session.jsonl", [
    message("7b3ea88f", "70816928", { role: "user", content: "Hi" }),
    entry("1a056841", "7b3ea88f", "custom", { customType: "note" }),
    message("694abb3e", "1a056841", answer([{ type: "text", text: "Hello" }])),
  ]);
  const head = await headOf(file);
  expect(IMPORT_FORMATS.find((format) => format.recognises(head))).toBe(piFormat);
  const { sessions } = await readImport(piFormat, file);
  expect(sessions.map(({ id, title }) => [id, title])).toEqual([["pi:7b3ea88f", "Hi"]]);
  expect(sessions[0]?.messages.map(brief)).toEqual(["user: Hi", "text: Hello"]);
});
