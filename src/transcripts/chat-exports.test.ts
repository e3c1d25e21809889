import { expect, test } from "vitest";
import { brief, readImport } from "../../test/support/read-import.ts";
import { zipOf } from "../../test/support/zip-of.ts";
import { startsTurn } from "../core/turn.ts";
import { groupParts, joinParts } from "../import/read-message.ts";
import { chatgptFormat, claudeAiFormat } from "./chat-exports.ts";
import { fileOfBytes } from "./found-file.ts";
import { firstObjects } from "./read-objects.ts";

/** A ChatGPT node: `[id, parent, role, content, more of the message]`. */
type Node = readonly [string, string | null, string?, (string | object)?, object?];

function mapping(nodes: readonly Node[]) {
  return Object.fromEntries(
    nodes.map(([id, parent, role, content, more], index) => [
      id,
      {
        id,
        parent,
        message: role
          ? {
              ...{
                id: `m-${id}`,
                author: { role, metadata: {} },
                create_time: 1_770_000_000.5 + index,
              },
              content:
                typeof content === "string" ? { content_type: "text", parts: [content] } : content,
              ...{ status: "finished_successfully", weight: 1, recipient: "all", metadata: {} },
              ...more,
            }
          : null,
      },
    ]),
  );
}

const CHATGPT = {
  ...{ id: "conv-1", conversation_id: "conv-1", title: "Trip to Rome" },
  ...{ create_time: 1_770_000_000.25, update_time: 1_770_000_100, current_node: "g" },
  default_model_slug: "gpt-5",
  mapping: mapping([
    ["root", null],
    ["s", "root", "system", "", { weight: 0 }],
    [
      "c",
      "s",
      "user",
      { content_type: "user_editable_context", user_profile: "Ada" },
      { metadata: { is_visually_hidden_from_conversation: true } },
    ],
    [
      "a",
      "c",
      "user",
      {
        content_type: "multimodal_text",
        parts: [
          { content_type: "image_asset_pointer", asset_pointer: "file-service://file-1" },
          "Where is this?",
        ],
      },
    ],
    ["b-old", "a", "assistant", "Paris."],
    ["u-old", "b-old", "user", "No."],
    [
      "b",
      "a",
      "assistant",
      { content_type: "thoughts", thoughts: [{ summary: "Look", content: "A forum." }] },
    ],
    [
      "d",
      "b",
      "assistant",
      { content_type: "code", language: "python", text: "search('forum')" },
      { recipient: "python" },
    ],
    [
      "e",
      "d",
      "tool",
      { content_type: "execution_output", text: "Rome" },
      { author: { role: "tool", name: "python" } },
    ],
    ["f", "e", "assistant", "Rome."],
    ["g", "f", "user", "Thanks", { create_time: null }],
  ]),
};

const CLAUDE = {
  ...{ uuid: "c-1", name: "Soup", summary: "", account: { uuid: "u" } },
  ...{ created_at: "2026-03-01T10:00:00.000000Z", updated_at: "2026-03-01T10:05:00.000000Z" },
  chat_messages: [
    {
      ...{
        uuid: "1",
        sender: "human",
        text: "What is in it?",
        created_at: "2026-03-01T10:00:00.000000+00:00",
      },
      content: [{ type: "text", text: "What is in it?" }],
      attachments: [
        { file_name: "soup.txt", file_type: "txt", file_size: 7, extracted_content: "Leeks." },
      ],
      files: [{ file_name: "soup.png" }],
      parent_message_uuid: "00000000-0000-4000-8000-000000000000",
    },
    {
      ...{ uuid: "2", sender: "assistant", text: "", parent_message_uuid: "1" },
      content: [
        { type: "thinking", thinking: "Read it." },
        { type: "text", text: "I look." },
        { type: "tool_use", name: "web_search", input: { query: "leeks" } },
        {
          type: "tool_result",
          name: "web_search",
          content: [{ type: "text", text: "green" }],
          is_error: false,
        },
        { type: "text", text: "Leeks, green." },
        { type: "hologram" },
      ],
    },
    { uuid: "3", sender: "human", text: "Old question", content: [], parent_message_uuid: "2" },
    { uuid: "4", sender: "human", text: "New question", content: [], parent_message_uuid: "2" },
  ],
};

const jsonFile = (value: unknown, path = "conversations.json") =>
  fileOfBytes(path, Buffer.from(JSON.stringify(value)));

test("ChatGPT: the branch that the user saw is the conversation, and others are counted", async () => {
  const { sessions, otherBranch, unknown, skipped } = await readImport(
    chatgptFormat,
    jsonFile([CHATGPT]),
  );
  expect([otherBranch, unknown, skipped]).toEqual([2, [], []]);
  const [{ messages = [], ...session } = {}] = sessions;
  expect(session).toEqual({
    ...{ id: "chatgpt:conv-1", agent: "chatgpt", nativeId: "conv-1", title: "Trip to Rome" },
    model: "gpt-5",
    startedAt: "2026-02-02T02:40:00.250Z",
    updatedAt: "2026-02-02T02:41:40.000Z",
  });
  expect(messages.map(brief)).toEqual([
    "user: [image]\nWhere is this?",
    "-reasoning: Look\nA forum.",
    `call: python {"input":"search('forum')"}`,
    "result: Rome",
    "text: Rome.",
    "user: Thanks",
  ]);
  const times = messages.map(({ origin }) => origin.time);
  expect(times.at(-1)).toBe(times.at(-2));
});

test("ChatGPT: a voice message is read as its transcription", async () => {
  const message = (id: string, role: string, parts: readonly object[]) => ({
    ...{ id, author: { role } },
    content: { content_type: "multimodal_text", parts },
  });
  const spoken = (text: string, direction: string) => [
    { content_type: "audio_transcription", text, direction },
    { content_type: "real_time_user_audio_video_asset_pointer", frames_asset_pointers: [] },
  ];
  const node = (id: string, parent: string | null, value: object) => ({
    [id]: { id, parent, message: value },
  });
  const spokenTalk = {
    ...{ id: "conv-2", current_node: "b" },
    mapping: {
      ...node("a", null, message("a", "user", spoken("Where is Rome?", "in"))),
      ...node("b", "a", message("b", "assistant", spoken("In Italy.", "out"))),
    },
  };
  const { sessions, unknown } = await readImport(chatgptFormat, jsonFile([spokenTalk]));
  expect(unknown).toEqual([]);
  expect(sessions[0]?.messages.map(brief)).toEqual([
    "user: Where is Rome?\n[audio]",
    "text: In Italy.\n[audio]",
  ]);
});

test("a conversation without a title has the first line of its first prompt", async () => {
  const untitled = [{ ...CHATGPT, title: "" }];
  expect((await readImport(chatgptFormat, jsonFile(untitled))).sessions[0]?.title).toBe(
    "Where is this?",
  );
  const said = { uuid: "m1", sender: "human", content: [], text: "And this?\nPlease." };
  const ofClaude = [{ uuid: "c1", name: "", chat_messages: [said] }];
  expect((await readImport(claudeAiFormat, jsonFile(ofClaude))).sessions[0]?.title).toBe(
    "And this?",
  );
});

test("ChatGPT: circles, lost parents and a lost current node do no harm", async () => {
  const circle = mapping([
    ["a", "b", "user", "A"],
    ["b", "a", "assistant", "B"],
  ]);
  const lost = mapping([
    ["x", "gone", "user", "X"],
    ["y", "x", "assistant", "Y"],
    ["z", "x", "assistant", "Z"],
  ]);
  const { sessions } = await readImport(
    chatgptFormat,
    jsonFile([
      { id: "1", current_node: "b", mapping: circle },
      { id: "2", current_node: "gone", mapping: lost },
      { id: "3", mapping: {} },
    ]),
  );
  expect(sessions.map(({ messages }) => messages.map(brief))).toEqual([
    ["user: A", "text: B"],
    ["user: X", "text: Z"],
    [],
  ]);
});

test("Claude.ai: attachments stay out of memory, and calls without ids find their results", async () => {
  const { sessions, otherBranch, unknown } = await readImport(claudeAiFormat, jsonFile([CLAUDE]));
  expect([otherBranch, unknown]).toEqual([1, ["content hologram"]]);
  const [{ messages = [], ...session } = {}] = sessions;
  expect(session).toMatchObject({ id: "claude-ai:c-1", agent: "claude-ai", title: "Soup" });
  expect(messages.map(brief)).toEqual([
    "user: What is in it?\n[file: soup.png]",
    'call: read_attachment {"file":"soup.txt"}',
    "result: Leeks.",
    "-reasoning: Read it.",
    "text: I look.",
    'call: web_search {"query":"leeks"}',
    "result: green",
    "text: Leeks, green.",
    "user: New question",
  ]);
  expect(messages[0]?.origin).toEqual({ author: "user", time: "2026-03-01T10:00:00.000Z" });
});

test("Claude.ai: a prompt with attachments is one turn, even if it has no other text", async () => {
  const attachments = ["a.txt", "b.txt"].map((file_name, index) => ({
    file_name,
    extracted_content: `Part ${index}`,
  }));
  const chat_messages = [{ uuid: "1", sender: "human", text: "", content: [], attachments }];
  const { sessions } = await readImport(claudeAiFormat, jsonFile([{ ...CLAUDE, chat_messages }]));
  const { messages = [] } = sessions[0] ?? {};
  expect(messages.map(brief)).toEqual([
    "user: [file: a.txt]\n[file: b.txt]",
    'call: read_attachment {"file":"a.txt"}',
    'call: read_attachment {"file":"b.txt"}',
    "result: Part 0",
    "result: Part 1",
  ]);
  const joined = groupParts(messages).map(joinParts);
  expect(joined.map(({ role }) => role)).toEqual(["user", "block_assistant", "tool_results"]);
  expect(joined.filter(startsTurn)).toHaveLength(1);
});

test("Claude.ai: without parents the messages are in order", async () => {
  const chat_messages = CLAUDE.chat_messages.map(({ parent_message_uuid, ...message }) => message);
  const { sessions, otherBranch } = await readImport(
    claudeAiFormat,
    jsonFile([{ ...CLAUDE, chat_messages }]),
  );
  expect(otherBranch).toBe(0);
  expect(sessions[0]?.messages.map(brief).slice(-2)).toEqual([
    "user: Old question",
    "user: New question",
  ]);
});

test("an archive is read, whichever of the two it is, and in all its parts", async () => {
  const archive = zipOf({
    "chat.html": "<html>",
    "conversations-000.json": JSON.stringify([CHATGPT]),
    "conversations-001.json": JSON.stringify([{ ...CHATGPT, id: "2", conversation_id: "2" }]),
    "../conversations.json": JSON.stringify([CLAUDE]),
  });
  const { sessions, skipped } = await readImport(chatgptFormat, fileOfBytes("export.zip", archive));
  expect(skipped).toEqual([]);
  expect(sessions.map(({ id }) => id)).toEqual(["chatgpt:conv-1", "chatgpt:2", "claude-ai:c-1"]);
});

test("an archive without conversations, or a damaged one, is told", async () => {
  const told = async (bytes: Buffer) =>
    (await readImport(chatgptFormat, fileOfBytes("export.zip", bytes))).skipped;
  expect(await told(zipOf({ "a.txt": "" }))).toEqual(["-: the archive has no conversations.json"]);
  const bomb = zipOf({ "conversations.json": `[${" ".repeat(1000)}]` }, { size: 100 });
  expect(await told(bomb)).toEqual(["-: it holds more than the 100 bytes that it may hold"]);
  expect(await told(zipOf({ "conversations.json": "[]" }).subarray(0, 60))).toEqual([
    "-: it is not a whole ZIP archive",
  ]);
});

const NEVER_HELD = { id: "y", title: "New chat", create_time: 1_770_000_000, mapping: null };

test("an entry that is no conversation is named by its number, and a truncated file gives the complete ones", async () => {
  const text = JSON.stringify([CLAUDE, 3, { id: "x" }, NEVER_HELD, CHATGPT]);
  const all = await readImport(chatgptFormat, fileOfBytes("conversations.json", Buffer.from(text)));
  expect(all.skipped).toEqual([
    "2: it is not a JSON object",
    "3: it is not a conversation of ChatGPT or Claude.ai",
    "4: the conversation has no messages",
  ]);
  const cut = Buffer.from(text.slice(0, -20));
  const some = await readImport(chatgptFormat, fileOfBytes("conversations.json", cut));
  expect([some.sessions.length, some.unfinished, some.skipped.slice(-1)]).toEqual([
    1,
    false,
    ["5: it is cut off: the file ends in the middle of it"],
  ]);
});

test("each export is recognised by its content", () => {
  const head = (text: string | Buffer) => {
    const bytes = Buffer.from(text);
    return { path: "a", head: bytes, ...firstObjects(bytes) };
  };
  const chatgpt = head(JSON.stringify([CHATGPT]));
  const claude = head(JSON.stringify([CLAUDE]));
  const found = (file: typeof chatgpt) =>
    [chatgptFormat, claudeAiFormat].map((format) => format.recognises(file));
  expect(found(chatgpt)).toEqual([true, false]);
  expect(found(claude)).toEqual([false, true]);
  expect(found(head(zipOf({ a: "" })))).toEqual([true, false]);
  expect(found(head('"mapping" of "chat_messages"'))).toEqual([false, false]);
});

test("ChatGPT's marks of sources are no part of what was said", async () => {
  const message = (id: string, parent: string | null, role: string, text: string) => ({
    [id]: {
      id,
      parent,
      message: { id, author: { role }, content: { content_type: "text", parts: [text] } },
    },
  });
  const answer =
    'It is red \ue200cite\ue202turn0search1\ue202turn0search2\ue201. See 【4†source】 \ue200entity\ue202["city","Bonn","a city"]\ue201 too.';
  const mapping = {
    ...message("1", null, "user", "Why?"),
    ...message("2", "1", "assistant", answer),
  };
  const bytes = Buffer.from(JSON.stringify([{ id: "c", current_node: "2", mapping }]));
  const { sessions } = await readImport(chatgptFormat, fileOfBytes("conversations.json", bytes));
  expect(sessions[0]?.messages.map(brief)).toEqual([
    "user: Why?",
    "text: It is red. See Bonn too.",
  ]);
});
