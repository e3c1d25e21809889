import { expect, test } from "vitest";
import { brief, readImport } from "../../../test/support/read-import.ts";
import { recogniseFile } from "../../import/find-transcripts.ts";
import { type FoundFile, fileOfBytes } from "../found-file.ts";
import { IMPORT_FORMATS } from "../import-formats.ts";

const fileOf = (path: string, value: object, others: () => Iterable<FoundFile> = () => []) =>
  fileOfBytes(path, Buffer.from(JSON.stringify(value)), others);

async function read(file: FoundFile) {
  const format = await recogniseFile(file, IMPORT_FORMATS);
  if (!format) throw new Error(`${file.path} is not recognised`);
  return await readImport(format, file);
}

const asked = (id: string) => ({
  ...{ id, type: "function" },
  function: { name: "read_file", arguments: '{"filepath":"paint.ts"}' },
});

const HISTORY = [
  {
    message: { role: "user", content: [{ type: "text", text: "Why is it red?" }] },
    contextItems: [{ name: "paint.ts", content: "the file's words" }],
  },
  {
    message: { role: "assistant", content: "I look.", toolCalls: [asked("c1"), asked("c2")] },
    reasoning: { text: "Look first." },
    toolCallStates: [
      { toolCallId: "c1", status: "done", output: [{ name: "out", content: "red" }] },
      { toolCallId: "c2", status: "canceled" },
    ],
  },
  { message: { role: "tool", toolCallId: "c1", content: "red" } },
  { message: { role: "thinking", content: "So." } },
  { message: { role: "assistant", content: "It is paint." }, conversationSummary: "Paint." },
  { message: { role: "system", content: "Be brief." } },
  { message: { role: "user", content: "Why is it red?" } },
  { message: { role: "assistant", content: "<think>Again.</think>It is paint." } },
];

test("a session of Continue has what was typed and answered, each call with its result once", async () => {
  const list = fileOf("sessions/sessions.json", [
    { sessionId: "other", dateCreated: "1" },
    { sessionId: "s", title: "Red", dateCreated: "1770000000000", workspaceDirectory: "" },
  ]);
  const session = { sessionId: "s", title: "Red", workspaceDirectory: "file:///home/ada/my%20app" };
  const file = fileOf("sessions/s.json", { ...session, history: HISTORY }, () => [list, file]);
  const { sessions, skipped, unknown } = await read(file);
  expect(sessions[0]).toMatchObject({
    ...{ id: "continue:s", title: "Red", project: "/home/ada/my app" },
    startedAt: "2026-02-02T02:40:00.000Z",
  });
  expect([sessions.length, skipped, unknown]).toEqual([1, [], []]);
  const messages = sessions[0]?.messages ?? [];
  expect(messages.map(brief)).toEqual([
    "user: Why is it red?",
    "-reasoning: Look first.",
    "text: I look.",
    'call: read_file {"filepath":"paint.ts"}',
    'call: read_file {"filepath":"paint.ts"}',
    "result: red",
    "failed: The call was canceled.",
    "-reasoning: So.",
    "text: It is paint.",
    expect.stringMatching(/^-summary: .*Paint\.$/s),
    "user: Why is it red?",
    "-reasoning: Again.",
    "text: It is paint.",
  ]);
  expect(new Set(messages.map(({ sourceId }) => sourceId)).size).toBe(messages.length);
  expect((await read(list)).sessions).toEqual([]);
});

test("a session of Continue without a title has its first prompt's, and an answer that is being written is left out", async () => {
  const session = { sessionId: "s", title: "New Session", workspaceDirectory: "/home/ada" };
  const file = fileOf("s.json", { ...session, history: HISTORY.slice(0, 2) });
  const young = await read({ ...file, mtimeMs: Date.now() });
  expect(young.sessions[0]?.title).toBe("Why is it red?");
  expect(young.sessions[0]?.messages.map(brief)).toEqual(["user: Why is it red?"]);
  expect([young.unfinished, young.readOn?.again]).toEqual([true, true]);
});
