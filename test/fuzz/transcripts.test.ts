import fc from "fast-check";
import { expect } from "vitest";
import { messageSchema } from "../../src/core/message-schema.ts";
import { origin } from "../../src/core/operations/request-fields.ts";
import { readTranscript } from "../../src/transcripts/read-transcript.ts";
import { damagedBytes, damagedJson, fuzz, readOrRefused } from "../support/fuzz.ts";

const CHAT = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Hi", speaker: "Ada", time: "2026-01-02T03:04:05Z", session: "S1" },
  {
    role: "user",
    content: [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      { type: "image", media_type: "image/png", data: "AAAA" },
    ],
  },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "a", type: "function", function: { name: "add", arguments: '{"x":1}' } }],
  },
  { role: "tool", tool_call_id: "a", name: "add", content: "2", is_error: false },
];

const usage = { input_tokens: 9, output_tokens: 1 };
const EVENTS = [
  { type: "session_created", settings: { model: "a/b", memory: true, labels: {} } },
  { type: "run_started", session_id: "s", prompt: "Hi", origin: { speaker: "Ada" } },
  { type: "turn_started", turn_number: 0 },
  { type: "reasoning_complete", content: "Well." },
  { type: "text_complete", content: "Hello" },
  { type: "tool_call_requested", id: "c", name: "add", args: { x: 1 } },
  { type: "turn_completed", stop_reason: "tool_use", usage },
  { type: "tool_execution_completed", id: "c", name: "add", result: "2", is_error: false },
  { type: "message_added", message: { role: "user", content: "And?" } },
].map((event, index) => ({
  ...{ seq: index + 1, schema_version: 1, event_id: `e${index}`, timestamp_ms: 1_700_000_000_000 },
  event,
}));

const linesOf = (values: readonly unknown[]) =>
  new TextEncoder().encode(values.map((value) => JSON.stringify(value)).join("\n"));

const formats = [CHAT, EVENTS];
const transcript = fc.oneof(
  damagedBytes(formats.map(linesOf)),
  fc
    .tuple(...formats.map((lines) => damagedJson([lines])))
    .chain((both) =>
      fc.constantFrom(...both).map((lines) => linesOf(Array.isArray(lines) ? lines : [lines])),
    ),
);

fuzz(
  "a damaged transcript is refused with its line, or read as messages that a session takes",
  fc.tuple(transcript, fc.nat()),
  { short: 40, long: 1_000_000 },
  async ([bytes, cut]) => {
    const at = cut % (bytes.length + 1);
    const chunks = [bytes.subarray(0, at), bytes.subarray(at)];
    const read = await readOrRefused(() => readTranscript(chunks, "talk.jsonl"));
    if ("refused" in read) {
      expect(read.refused.code).toBe("INVALID_PARAMS");
      expect(read.refused.message).toMatch(/^talk\.jsonl(?:, line \d+: .+| is empty\.)/s);
      return;
    }
    for (const { message, origin: said } of read.value.messages) {
      expect(messageSchema.safeParse(message).error).toBeUndefined();
      if (said) expect(origin.safeParse(said).error).toBeUndefined();
    }
  },
);
