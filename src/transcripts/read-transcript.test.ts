import { expect, test } from "vitest";
import type { StoredEvent } from "../core/event.ts";
import { textsIn } from "../core/json-values.ts";
import { messageSchema } from "../core/message-schema.ts";
import { readTranscript } from "./read-transcript.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const read = (...lines: unknown[]) =>
  readTranscript([bytes(lines.map((line) => JSON.stringify(line)).join("\n"))], "talk.jsonl");
const problemOf = (text: string) =>
  readTranscript([bytes(text)], "talk.jsonl").then(
    () => "no problem",
    (error: Error) => error.message,
  );

test("a line of chat is one message, with its author, time and place", async () => {
  const { name, messages } = await read(
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi", speaker: "Ada", time: "2026-01-02T03:04:05Z", session: "S1" },
    { role: "assistant", content: "Hello", extra: "is nobody's business" },
  );
  expect(name).toBe("talk.jsonl");
  expect(messages).toEqual([
    { message: { role: "system", content: "Be brief." } },
    {
      message: { role: "user", content: "Hi" },
      origin: { speaker: "Ada", time: "2026-01-02T03:04:05Z", session: "S1" },
    },
    {
      message: {
        role: "block_assistant",
        blocks: [{ block_type: "text", data: { text: "Hello" } }],
        stop_reason: "end_turn",
      },
    },
  ]);
});

test("tool calls come in OpenAI's form, arguments as text", async () => {
  const { messages } = await read(
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "a", type: "function", function: { name: "add", arguments: '{"x":1}' } },
        { id: "b", type: "function", function: { name: "add", arguments: '{"x":' } },
      ],
    },
    { role: "tool", tool_call_id: "a", name: "add", content: "2" },
  );
  expect(messages.map(({ message }) => message)).toEqual([
    {
      role: "block_assistant",
      blocks: [
        { block_type: "tool_use", data: { id: "a", name: "add", args: { x: 1 } } },
        // The model's invalid JSON stays readable.
        { block_type: "tool_use", data: { id: "b", name: "add", args: { arguments: '{"x":' } } },
      ],
      stop_reason: "end_turn",
    },
    { role: "tool_results", results: [{ tool_use_id: "a", content: "2", is_error: false }] },
  ]);
  expect(messages[1]?.toolName).toBe("add");
});

test("content in parts keeps its texts, the images that are in the file, and the addresses of others", async () => {
  const { messages } = await read({
    role: "user",
    content: [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      { type: "image_url", image_url: { url: "https://example.com/b.png" } },
    ],
  });
  expect(messages[0]?.message).toEqual({
    role: "user",
    content: [
      { type: "text", text: "What is this?" },
      { type: "image", media_type: "image/png", data: "AAAA" },
      { type: "text", text: "https://example.com/b.png" },
    ],
  });
});

test("a log of rkat's own gives the conversation without its compactions", async () => {
  const events: StoredEvent["event"][] = [
    { type: "run_started", session_id: "s", prompt: "Hi", origin: { speaker: "Ada" } },
    { type: "compaction_started", input_tokens: 0, estimated_history_tokens: 9, message_count: 1 },
    { type: "turn_started", turn_number: 0 },
    { type: "text_complete", content: "Hello" },
    {
      type: "turn_completed",
      stop_reason: "end_turn",
      usage: {
        input_tokens: 1,
        output_tokens: 1,
        cache_creation_tokens: null,
        cache_read_tokens: null,
      },
    },
  ];
  const { messages } = await read(
    ...events.map((event, index) => ({
      seq: index + 1,
      schema_version: 1,
      event_id: `e${index}`,
      timestamp_ms: 0,
      event,
    })),
  );
  expect(messages).toEqual([
    {
      message: { role: "user", content: "Hi" },
      origin: { speaker: "Ada", time: "1970-01-01T00:00:00.000Z" },
    },
    {
      message: {
        role: "block_assistant",
        blocks: [{ block_type: "text", data: { text: "Hello" } }],
        stop_reason: "end_turn",
      },
      origin: { time: "1970-01-01T00:00:00.000Z" },
    },
  ]);
});

test("a bad line is named by its number and its fault", async () => {
  const good = '{"role":"user","content":"Hi"}\n\n';
  expect(await problemOf(`${good}{"role":`)).toMatch(/talk\.jsonl, line 3: .*JSON/);
  expect(await problemOf(`${good}[]`)).toMatch(/line 3: it is not a JSON object/);
  expect(await problemOf(`${good}{"role":"robot","content":""}`)).toMatch(
    /line 3: role: .*"system"\|"developer"\|"user"\|"assistant"\|"tool"/,
  );
  expect(await problemOf(`${good}{"role":"user","content":7}`)).toMatch(/line 3: .*content/);
  expect(await problemOf(`${good}{"role":"user","content":"","time":"soon"}`)).toMatch(
    /line 3: time: .*ISO 8601/,
  );
  expect(await problemOf('{"seq":1,"event":{"type":"run_started"}}')).toMatch(
    /line 1: .*prompt|schema_version/,
  );
  expect(await problemOf('{"text":"Hi"}')).toMatch(/line 1: .*neither a "role" nor an "event"/);
  expect(await problemOf("\n\n")).toMatch(/talk\.jsonl is empty/);
});

test("a message that no session would take is refused with its line", async () => {
  const stored = { seq: 1, schema_version: 1, event_id: "e", timestamp_ms: 0 };
  const ended = { type: "turn_completed", stop_reason: "tired" };
  const said = { ...stored, event: { type: "text_complete", content: "Hello" } };
  const problem = await problemOf(
    [said, { ...stored, event: ended }].map((line) => JSON.stringify(line)).join("\n"),
  );
  expect(problem).toMatch(/line 2: stop_reason: /);
  for (const timestamp_ms of [1_701_700_000_000_000, -1e14, 9e15]) {
    const event = { type: "message_added", message: { role: "user", content: "And?" } };
    const problem = await problemOf(JSON.stringify({ ...stored, timestamp_ms, event }));
    expect(problem).toMatch(/line 1: timestamp_ms: /);
  }
});

test("a line with a deep value is read, and what is too deep is its JSON", async () => {
  const deep = `${"[".repeat(200_000)}"kept"${"]".repeat(200_000)}`;
  const call = `{"function": {"name": "f", "arguments": ${JSON.stringify(deep)}}}`;
  const other = `{"function": {"name": "g", "arguments": {"a": ${deep}}}}`;
  const line = `{"role": "assistant", "content": "", "tool_calls": [${call}, ${other}]}`;
  const { messages } = await readTranscript(
    [bytes(`${line}\n{"role":"user","content":"Hi"}`)],
    "x",
  );
  const [first] = messages.map(({ message }) => message);
  expect(messages.length).toBe(2);
  expect(messageSchema.safeParse(first).success).toBe(true);
  expect(textsIn(first).join("").split("kept").length).toBe(3);
});

test("a line that is too long, or not UTF-8, is refused", async () => {
  const long = readTranscript(Array(65).fill(new Uint8Array(1024 * 1024)), "x");
  await expect(long).rejects.toThrow("x, line 1: it is longer than 67108864 bytes");
  const broken = readTranscript([Uint8Array.of(0xff, 0x0a)], "x");
  await expect(broken).rejects.toThrow("x, line 1: it is not UTF-8");
});

test("a byte order mark, carriage returns and U+2028 are no problem", async () => {
  const line = '{"role":"user","content":"\u2028é"}';
  const recording = await readTranscript([bytes(`\uFEFF${line}\r\n\n  \n${line}`)], "x");
  expect(recording.messages.map(({ message }) => message)).toEqual([
    { role: "user", content: "\u2028é" },
    { role: "user", content: "\u2028é" },
  ]);
});
