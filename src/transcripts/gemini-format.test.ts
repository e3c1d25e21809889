import { expect, test } from "vitest";
import { brief, linesFile, readImport } from "../../test/support/read-import.ts";
import { recogniseFile } from "../import/find-transcripts.ts";
import { fileOfBytes } from "./found-file.ts";
import { geminiFormat } from "./gemini-format.ts";
import { IMPORT_FORMATS } from "./import-formats.ts";

const PATH = "tmp/4f1c/chats/session-2026-05-01T10-00-9d2a77b1.jsonl";
const HEAD = {
  ...{ sessionId: "9d2a77b1-0000-4000-8000-000000000000", projectHash: "4f1c" },
  ...{ startTime: "2026-05-01T10:00:00.000Z", lastUpdated: "2026-05-01T10:09:00.000Z" },
  ...{ kind: "main", directories: ["/home/ada/shop"] },
};
const at = "2026-05-01T10:01:00.000Z";
const user = (id: string, content: unknown, more: object = {}) => ({
  ...{ id, timestamp: at, type: "user", content },
  ...more,
});
const answer = (id: string, content: unknown, more: object = {}) => ({
  ...{ id, timestamp: at, type: "gemini", content, model: "gemini-3-pro" },
  ...more,
});
const CALL = {
  ...{ id: "c1", name: "read_file", args: { path: "a" }, status: "success", timestamp: at },
  result: [
    { functionResponse: { id: "c1", name: "read_file", response: { output: "text of a" } } },
  ],
};

const read = (values: readonly unknown[], path = PATH) =>
  readImport(geminiFormat, linesFile(path, values));
const texts = async (values: readonly unknown[]) =>
  (await read(values)).sessions[0]?.messages.map(brief);

test("thoughts, calls and results are parts of an answer", async () => {
  const { sessions, unknown } = await read([
    HEAD,
    user("u1", [
      { text: "Read @a" },
      { text: "\n--- Content from referenced files ---" },
      { text: "text of a" },
    ]),
    answer("g1", "I read it.", {
      thoughts: [{ subject: "Plan", description: "Read a.", timestamp: at }],
      toolCalls: [
        CALL,
        { ...CALL, id: "c2", status: "error", result: null, resultDisplay: "no file" },
      ],
    }),
    { id: "i1", timestamp: at, type: "info", content: "A new version is there." },
    user("u2", "long", { displayContent: "short" }),
    { id: "x", timestamp: at, type: "dream", content: "" },
    { $set: { summary: "Reading a", lastUpdated: "2026-05-01T10:10:00.000Z" } },
  ]);
  expect(unknown).toEqual(["dream"]);
  const [{ messages = [], ...session } = {}] = sessions;
  expect(session).toEqual({
    ...{ id: `gemini:${HEAD.sessionId}`, agent: "gemini", nativeId: HEAD.sessionId },
    ...{ title: "Reading a", project: "/home/ada/shop", startedAt: HEAD.startTime },
    updatedAt: "2026-05-01T10:10:00.000Z",
  });
  expect(messages.map(brief)).toEqual([
    "user: Read @a",
    "-reasoning: Plan: Read a.",
    "text: I read it.",
    'call: read_file {"path":"a"}',
    'call: read_file {"path":"a"}',
    "result: text of a",
    "failed: no file",
    "user: short",
  ]);
});

test("a thought in an answer is not part of its text", async () => {
  const content = [{ text: "The user greets me.", thought: true }, { text: "Hello." }];
  expect(await texts([HEAD, user("u1", "Hi"), answer("g1", content)])).toEqual([
    "user: Hi",
    "text: Hello.",
  ]);
});

test("a rewind takes back a message and all after it, and they are counted", async () => {
  const talk = [HEAD, user("u1", "A"), answer("g1", "B"), user("u2", "C"), answer("g2", "D")];
  const back = await read([...talk, { $rewindTo: "u2" }, user("u3", "E")]);
  expect(back.sessions[0]?.messages.map(brief)).toEqual(["user: A", "text: B", "user: E"]);
  expect(back.otherBranch).toBe(2);
  expect(await texts([...talk, { $rewindTo: "gone" }, user("u3", "E")])).toEqual(["user: E"]);
  const once = [...talk, { $rewindTo: "u2" }];
  expect(await texts([...once, { $rewindTo: "u2" }])).toEqual(await texts(once));
});

test("a rewind to a message whose line was lost takes back what follows the lost line", async () => {
  const lines = [HEAD, user("u1", "A"), answer("g1", "B"), user("u2", "C"), answer("g2", "D")];
  const text = [...lines, { $rewindTo: "u2" }, user("u3", "E")]
    .map((line) => JSON.stringify(line))
    .map((line) => (line.includes('"id":"u2"') ? line.slice(9) : line))
    .join("\n");
  const { sessions, otherBranch } = await readImport(
    geminiFormat,
    fileOfBytes(PATH, Buffer.from(`${text}\n`)),
  );
  expect(sessions[0]?.messages.map(brief)).toEqual(["user: A", "text: B", "user: E"]);
  expect(otherBranch).toBe(1);
});

test("a session in one line of a .jsonl file has its messages", async () => {
  const whole = { ...HEAD, messages: [user("u1", "A"), answer("g1", "B")] };
  expect(await texts([whole, user("u2", "C")])).toEqual(["user: A", "text: B", "user: C"]);
});

test("the same id again replaces a message in its place", async () => {
  const changed = [
    HEAD,
    user("u1", "A"),
    answer("g1", "old"),
    user("u2", "C"),
    answer("g1", "new"),
  ];
  expect(await texts(changed)).toEqual(["user: A", "text: new", "user: C"]);
});

test("a checkpoint replaces all messages", async () => {
  const messages = [user("u1", "A, shorter"), answer("g9", "B")];
  const talk = [HEAD, user("u1", "A"), user("u2", "C"), { $set: { messages } }, user("u3", "D")];
  expect(await texts(talk)).toEqual(["user: A, shorter", "text: B", "user: D"]);
});

test("messages that a checkpoint leaves out were taken back, and are counted", async () => {
  const messages = [user("u2", "C")];
  const talk = [HEAD, user("u1", "A"), answer("g1", "B"), { $set: { messages } }];
  const { sessions, otherBranch } = await read(talk);
  expect(sessions[0]?.messages.map(brief)).toEqual(["user: C"]);
  expect([sessions[0]?.title, otherBranch]).toEqual(["C", 2]);
});

test("a checkpoint with a summary keeps the summarised messages", async () => {
  const summary = "<state_snapshot>A was asked.</state_snapshot>";
  const messages = [user("u9", summary), user("u2", "C")];
  const talk = [HEAD, user("u1", "A"), answer("g1", "B"), user("u2", "C"), { $set: { messages } }];
  const { sessions, otherBranch } = await read([...talk, answer("g2", "D")]);
  const [{ messages: found = [], title } = {}] = sessions;
  expect(found.map(brief)).toEqual([
    "user: A",
    "text: B",
    expect.stringContaining("A was asked."),
    "user: C",
    "text: D",
  ]);
  expect(found.map(({ boundary }) => boundary)[2]).toBe("compaction");
  expect([title, otherBranch]).toEqual(["A", 0]);
});

test("the title is a prompt that was not taken back", async () => {
  const talk = [HEAD, user("u1", "Wrong"), { $rewindTo: "u1" }, user("u2", "Right")];
  expect((await read(talk)).sessions[0]?.title).toBe("Right");
});

test("a session before 2026 is one JSON object", async () => {
  const whole = { ...HEAD, messages: [user("u1", "A"), answer("g1", "B")] };
  const text = JSON.stringify(whole, null, 2);
  const file = (json: string) => fileOfBytes(PATH.replace(/l$/, ""), Buffer.from(json));
  const { sessions } = await readImport(geminiFormat, file(text));
  expect(sessions[0]).toMatchObject({ id: `gemini:${HEAD.sessionId}`, title: "A" });
  expect(sessions[0]?.messages.map(brief)).toEqual(["user: A", "text: B"]);
  const cut = await readImport(geminiFormat, file(text.slice(0, -5)));
  expect([cut.unfinished, cut.skipped]).toEqual([
    false,
    ["-: it is cut off: the file ends in the middle of it"],
  ]);
  expect((await readImport(geminiFormat, file("[]"))).sessions).toEqual([]);
  const head = Buffer.from(text);
  const cutOff = { path: "a", first: undefined, listed: undefined, head };
  expect(geminiFormat.recognises(cutOff)).toBe(true);
  expect(geminiFormat.recognises({ ...cutOff, first: HEAD, listed: HEAD })).toBe(true);
});

test("a subagent's session is linked by its folder", async () => {
  const { sessions } = await read([{ ...HEAD, kind: "subagent" }], "tmp/4f1c/chats/s-1/s-2.jsonl");
  expect(sessions[0]?.parent).toEqual({ id: "gemini:s-1", relation: "subagent" });
});

test("a file whose head is torn or lost is a session named by its file, and one that has only a part of its head is none yet", async () => {
  const lines = [user("u1", "Which port has staging?"), answer("g1", "It is 4310.")];
  const whole = [HEAD, ...lines].map((line) => JSON.stringify(line)).join("\n");
  for (const lost of [JSON.stringify(HEAD).length - 9, JSON.stringify(HEAD).length + 1]) {
    const file = fileOfBytes(PATH, new TextEncoder().encode(`${whole.slice(lost)}\n`));
    expect((await recogniseFile(file, IMPORT_FORMATS))?.agent).toBe("gemini");
    const { sessions } = await readImport(geminiFormat, file);
    const [{ id = "", title = "", messages = [] } = {}] = sessions;
    expect(id).toBe("gemini:session-2026-05-01T10-00-9d2a77b1");
    expect(title).toBe("Which port has staging?");
    expect(messages.map(brief)).toEqual(["user: Which port has staging?", "text: It is 4310."]);
  }
  const begun = fileOfBytes(PATH, new TextEncoder().encode(whole.slice(0, 30)));
  expect((await readImport(geminiFormat, begun)).sessions).toEqual([]);
});
