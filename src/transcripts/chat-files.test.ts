import { expect, test } from "vitest";
import { brief, linesFile, readImport } from "../../test/support/read-import.ts";
import { refusalsIn } from "../core/refusal.ts";
import { aiSdkFormat, chatFileFormat, openaiAgentsFormat } from "./chat-files.ts";
import { fileOfBytes } from "./found-file.ts";
import { firstObjects } from "./read-objects.ts";

const FORMATS = [aiSdkFormat, openaiAgentsFormat, chatFileFormat];

const UI = [
  { id: "m0", role: "system", parts: [{ type: "text", text: "Be brief." }] },
  {
    ...{ id: "m1", role: "user", createdAt: "2026-01-02T03:04:05.000Z" },
    parts: [
      { type: "text", text: "What is in a?" },
      {
        type: "file",
        mediaType: "image/png",
        filename: "a.png",
        url: "data:image/png;base64,AAAA",
      },
    ],
  },
  {
    ...{ id: "m2", role: "assistant" },
    parts: [
      { type: "step-start" },
      { type: "reasoning", text: "Read." },
      {
        type: "tool-read",
        toolCallId: "c1",
        state: "output-available",
        input: { path: "a" },
        output: { lines: 2 },
      },
      {
        type: "dynamic-tool",
        toolName: "web",
        toolCallId: "c2",
        state: "output-error",
        input: {},
        errorText: "offline",
      },
      {
        type: "tool-invocation",
        toolInvocation: {
          toolCallId: "c3",
          toolName: "old",
          state: "result",
          args: {},
          result: "ok",
        },
      },
      { type: "text", text: "Two lines." },
      { type: "data-weather", data: {} },
      { type: "smell" },
    ],
  },
];
const UI_READ = [
  "-system: Be brief.",
  "user: What is in a?\n[file: a.png]",
  "-reasoning: Read.",
  'call: read {"path":"a"}',
  "call: web {}",
  "call: old {}",
  'result: {"lines":2}',
  "failed: offline",
  "result: ok",
  "text: Two lines.",
];

const AGENTS = [
  { role: "user", content: "Add 1 and 2" },
  { type: "reasoning", content: [{ type: "input_text", text: "Easy." }] },
  {
    type: "function_call",
    callId: "c1",
    name: "add",
    arguments: '{"a":1,"b":2}',
    status: "completed",
  },
  {
    type: "function_call_result",
    callId: "c1",
    name: "add",
    status: "completed",
    output: { type: "text", text: "3" },
  },
  { type: "function_call_output", call_id: "c2", output: "4" },
  { type: "hosted_tool_call", id: "h", name: "web_search", arguments: "{}", output: "found" },
  {
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "3" }],
  },
  { type: "telepathy", callId: "c3" },
];

const ANTHROPIC = [
  { role: "user", content: "Read a" },
  {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "Read.", signature: "x" },
      { type: "text", text: "I read it." },
      { type: "tool_use", id: "t1", name: "read", input: { path: "a" } },
    ],
  },
  {
    role: "user",
    content: [
      {
        type: "tool_result",
        tool_use_id: "t1",
        content: [{ type: "text", text: "no file" }],
        is_error: true,
      },
      { type: "text", text: "Look again" },
    ],
  },
];

const jsonFile = (value: unknown, indent?: number) =>
  fileOfBytes("chat.json", Buffer.from(JSON.stringify(value, null, indent)));
const headOf = (value: unknown, indent?: number) => {
  const head = Buffer.from(JSON.stringify(value, null, indent));
  return { path: "chat.json", head, ...firstObjects(head) };
};

test("AI SDK: calls have their results before the text that follows", async () => {
  const { sessions, unknown } = await readImport(aiSdkFormat, jsonFile(UI));
  expect(unknown).toEqual(["part.smell"]);
  expect(sessions[0]).toMatchObject({ agent: "ai-sdk", title: "What is in a?" });
  expect(sessions[0]?.messages.map(brief)).toEqual(UI_READ);
  expect(sessions[0]?.messages[1]?.origin.time).toBe("2026-01-02T03:04:05.000Z");
});

test("AI SDK: a call that the user denied has the reason as its result", async () => {
  const call = (toolCallId: string, approval: object) => ({
    ...{ type: "tool-push", toolCallId, input: {}, state: "output-denied" },
    approval: { id: "a", approved: false, ...approval },
  });
  const parts = [call("c1", { reason: "Not on Fridays." }), call("c2", {})];
  const file = jsonFile([
    { id: "1", role: "user", parts: [{ type: "text", text: "Push it." }] },
    { id: "2", role: "assistant", parts },
  ]);
  const { sessions } = await readImport(aiSdkFormat, file);
  const denied = sessions.flatMap(({ messages }) =>
    messages.flatMap(({ message }) => refusalsIn(message)),
  );
  expect(denied).toEqual([{ toolUseId: "c1", reason: "Not on Fridays." }, { toolUseId: "c2" }]);
});

test("OpenAI Agents: a voice message is read as its transcript", async () => {
  const file = jsonFile([
    { type: "message", role: "user", content: [{ type: "input_audio", transcript: "Hello" }] },
    { type: "function_call", callId: "c", name: "wave", arguments: "{}" },
  ]);
  const { sessions } = await readImport(openaiAgentsFormat, file);
  expect(sessions[0]?.messages.map(brief)).toEqual(["user: Hello", "call: wave {}"]);
});

test("one conversation may be a list, lines, or an object, and a list may have many", async () => {
  const chat = { id: "chat-1", title: "Two lines", messages: UI };
  const lists = [jsonFile(UI), jsonFile(UI, 2), linesFile("chat.json", UI), jsonFile(chat, 2)];
  for (const file of [...lists, jsonFile([chat, { ...chat, id: "chat-2" }])]) {
    const { sessions, skipped } = await readImport(aiSdkFormat, file);
    expect(skipped).toEqual([]);
    for (const { messages } of sessions) expect(messages.map(brief)).toEqual(UI_READ);
  }
  const { sessions } = await readImport(aiSdkFormat, jsonFile([chat, { ...chat, id: "chat-2" }]));
  expect(sessions.map(({ id, title }) => [id, title])).toEqual([
    ["ai-sdk:chat-1", "Two lines"],
    ["ai-sdk:chat-2", "Two lines"],
  ]);
});

test("AI SDK: a first message whose parts are no list costs its own message, and is counted", async () => {
  const odd = [{ id: "m0", role: "user", parts: { in: [] } }, ...UI];
  expect(FORMATS.find((format) => format.recognises(headOf(odd)))?.agent).toBe("ai-sdk");
  const { sessions, unknown } = await readImport(aiSdkFormat, jsonFile(odd));
  expect(sessions[0]?.messages.map(brief)).toEqual(UI_READ);
  expect(unknown).toContain("parts that are no list");
});

test("OpenAI Agents: items of both spellings are read", async () => {
  const { sessions, unknown } = await readImport(openaiAgentsFormat, jsonFile(AGENTS));
  expect(unknown).toEqual(["item.telepathy"]);
  expect(sessions[0]?.messages.map(brief)).toEqual([
    "user: Add 1 and 2",
    "-reasoning: Easy.",
    'call: add {"a":1,"b":2}',
    "result: 3",
    "result: 4",
    "call: web_search {}",
    "result: found",
    "text: 3",
  ]);
});

test("chat lines: OpenAI's and Anthropic's messages are read, and a bad one is told", async () => {
  const { sessions, skipped } = await readImport(
    chatFileFormat,
    linesFile("chat.jsonl", [
      { role: "system", content: "Be brief." },
      ...ANTHROPIC,
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", function: { name: "add", arguments: '{"x":1}' } }],
      },
      { role: "tool", tool_call_id: "a", content: "2" },
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          { type: "text", text: "And this?" },
        ],
      },
      { role: "robot", content: "beep" },
    ]),
  );
  expect(skipped).toEqual([expect.stringMatching(/^8: role: /)]);
  expect(sessions[0]?.messages.map(brief)).toEqual([
    "-system: Be brief.",
    "user: Read a",
    "-reasoning: Read.",
    "text: I read it.",
    'call: read {"path":"a"}',
    "failed: no file",
    "user: Look again",
    'call: add {"x":1}',
    "result: 2",
    "user: [image]\nAnd this?",
  ]);
});

test("OpenAI Agents: the calls of built-in tools are read, with their results", async () => {
  const items = [
    { type: "shell_call", callId: "c1", action: { commands: ["ls"] } },
    { type: "shell_call_output", callId: "c1", output: "a.ts" },
    { type: "computer_call", call_id: "c2", action: { type: "screenshot" } },
    { type: "computer_call_output", call_id: "c2", output: { type: "computer_screenshot" } },
    { type: "mcp_call", id: "c3", name: "search", arguments: '{"q":"a"}', error: "no server" },
    { type: "mcp_list_tools", id: "c4", tools: [] },
    { role: "assistant", type: "message", content: [{ type: "output_text", text: "Done." }] },
  ];
  const { sessions, unknown } = await readImport(openaiAgentsFormat, jsonFile(items));
  expect(unknown).toEqual([]);
  expect(sessions[0]?.messages.map(brief)).toEqual([
    'call: shell {"commands":["ls"]}',
    "result: a.ts",
    'call: computer {"type":"screenshot"}',
    "result: [image]",
    'call: search {"q":"a"}',
    "failed: no server",
    "text: Done.",
  ]);
});

test("each is recognised by its messages, also when the first is long", () => {
  const found = (value: unknown, indent?: number) =>
    FORMATS.filter((format) => format.recognises(headOf(value, indent))).map(
      ({ agent }) => agent,
    )[0];
  expect(found(UI)).toBe("ai-sdk");
  expect(found({ id: "x", messages: UI }, 2)).toBe("ai-sdk");
  expect(found(AGENTS)).toBe("openai-agents");
  expect(found(AGENTS.slice(2))).toBe("openai-agents");
  expect(found(ANTHROPIC)).toBe("chat");
  expect(found([{ cart: [] }])).toBeUndefined();
  const cut = headOf(UI);
  const head = cut.head.subarray(0, 60);
  expect(aiSdkFormat.recognises({ ...cut, head, ...firstObjects(head) })).toBe(true);
});

test("messages with the same id are all read, and a copy of one keeps its id", async () => {
  const said = (id: string, text: string) => ({
    id,
    role: "user",
    parts: [{ type: "text", text }],
  });
  const values = [said("m1", "One."), said("m1", "Two."), said("m1", "One."), said("m2", "Three.")];
  const { sessions } = await readImport(aiSdkFormat, linesFile("talk.jsonl", values));
  const ids = sessions.flatMap(({ messages }) => messages.map(({ sourceId }) => sourceId));
  expect(new Set(ids).size).toBe(3);
  expect(ids[0]).toBe(ids[2]);
});

test("a conversation without ids is known by how it begins, and two that go on differently stay apart", async () => {
  const said = (role: string, content: string) => ({ role, content });
  const opening = [said("user", "Hello"), said("assistant", "Hi.")];
  const read = async (path: string, values: readonly object[]) => {
    const { sessions } = await readImport(chatFileFormat, linesFile(path, values));
    return sessions.map(({ id, messages }) => [id, ...messages.map(({ sourceId }) => sourceId)]);
  };
  const [first = []] = await read("a.jsonl", opening);
  const [grown = []] = await read("b.jsonl", [...opening, said("user", "Tabs?")]);
  const [other = []] = await read("c.jsonl", [...opening, said("user", "Spaces?")]);
  expect(grown.slice(0, 3)).toEqual(first);
  expect(other.slice(0, 3)).toEqual(first);
  expect(other[3]).not.toBe(grown[3]);
  const [another = []] = await read("a.jsonl", [said("user", "Hi"), said("assistant", "Hi.")]);
  expect(another.filter((id) => first.includes(id))).toEqual([]);
  const [one = [], two = []] = await read("d.jsonl", [
    { messages: opening },
    { messages: opening },
  ]);
  expect(one.filter((id) => two.includes(id))).toEqual([]);
});
