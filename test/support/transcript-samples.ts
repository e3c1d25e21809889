import { chatgptFormat, claudeAiFormat } from "../../src/transcripts/chat-exports.ts";
import {
  aiSdkFormat,
  chatFileFormat,
  openaiAgentsFormat,
} from "../../src/transcripts/chat-files.ts";
import { codexFormat } from "../../src/transcripts/codex/codex-format.ts";
import { cursorFormat } from "../../src/transcripts/cursor-format.ts";
import { geminiFormat } from "../../src/transcripts/gemini-format.ts";
import type { ImportFormat } from "../../src/transcripts/imported.ts";
import { piFormat } from "../../src/transcripts/pi-format.ts";
import { rkatFormat } from "../../src/transcripts/rkat-format.ts";

/** A small transcript, what a person typed in it, and a record of a type that nobody knows. */
export interface TranscriptSample {
  readonly format: ImportFormat;
  readonly path: string;
  /** One a line, or the values of a list. */
  readonly values: readonly object[];
  readonly isList?: true;
  readonly typed: readonly string[];
  /** What the program put beside it. */
  readonly injected?: string;
  readonly unknown: object;
}

const at = "2026-05-01T10:00:00.000Z";
const ID = "019a0c1e-1111-7222-8333-aaaaaaaaaaaa";
const codex = (type: string, payload: object) => ({ timestamp: at, type, payload });
const codexMessage = (role: string, text: string) =>
  codex("response_item", { type: "message", role, content: [{ type: "input_text", text }] });
const pi = (id: string, parentId: string | null, message: object) => ({
  ...{ type: "message", id, parentId, timestamp: at },
  message,
});
const node = (id: string, parent: string | null, role: string, text: string) => ({
  [id]: {
    ...{ id, parent },
    message: { id, author: { role }, content: { content_type: "text", parts: [text] } },
  },
});

export const TRANSCRIPT_SAMPLES: readonly TranscriptSample[] = [
  {
    format: codexFormat,
    path: `sessions/2026/05/01/rollout-2026-05-01T10-00-00-${ID}.jsonl`,
    values: [
      codex("session_meta", { id: ID, timestamp: at, cwd: "/home/ada" }),
      codexMessage("user", "<environment_context>a shell</environment_context>"),
      codex("turn_context", { turn_id: "t1", model: "gpt-5" }),
      codexMessage("user", "Why is it red?"),
      codex("event_msg", { type: "user_message", message: "Why is it red?" }),
      codex("response_item", { type: "function_call", name: "f", arguments: "{}", call_id: "c" }),
      codex("response_item", { type: "function_call_output", call_id: "c", output: "out" }),
      codexMessage("assistant", "It is paint."),
      codex("compacted", { message: "Paint was found." }),
      codexMessage("user", "Make it blue"),
      codex("event_msg", { type: "user_message", message: "Make it blue" }),
    ],
    typed: ["Why is it red?", "Make it blue"],
    injected: "environment_context",
    unknown: codex("never_seen", {}),
  },
  {
    format: geminiFormat,
    path: "tmp/x/chats/session-2026-05-01T10-00-x.jsonl",
    values: [
      { sessionId: "s", projectHash: "x", startTime: at },
      { id: "1", timestamp: at, type: "user", content: "Why is it red?" },
      {
        id: "2",
        timestamp: at,
        type: "gemini",
        content: "Paint.",
        toolCalls: [{ id: "c", name: "f", args: {}, status: "success", result: [] }],
      },
      { id: "3", timestamp: at, type: "user", content: "taken back" },
      { $rewindTo: "3" },
      { id: "4", timestamp: at, type: "user", content: "Make it blue" },
    ],
    typed: ["Why is it red?", "Make it blue"],
    injected: "taken back",
    unknown: { type: "never_seen", timestamp: at },
  },
  {
    format: piFormat,
    path: "sessions/--home-ada--/2026_s.jsonl",
    values: [
      { type: "session", version: 3, id: "s", timestamp: at, cwd: "/home/ada" },
      pi("a", null, { role: "user", content: "Why is it red?" }),
      pi("b", "a", {
        role: "assistant",
        content: [{ type: "toolCall", id: "c", name: "f", arguments: {} }],
      }),
      pi("c", "b", {
        role: "toolResult",
        toolCallId: "c",
        content: [{ type: "text", text: "out" }],
      }),
      pi("d", "c", { role: "custom", content: "from an extension" }),
      pi("e", "d", { role: "user", content: "Make it blue" }),
    ],
    typed: ["Why is it red?", "Make it blue"],
    injected: "extension",
    unknown: { type: "never_seen", id: "z", parentId: "e" },
  },
  {
    format: cursorFormat,
    path: "projects/p/agent-transcripts/s.jsonl",
    values: [
      { role: "user", message: { content: "<rules>be brief</rules>" } },
      {
        role: "user",
        message: { content: [{ type: "text", text: "<user_query>Why is it red?</user_query>" }] },
      },
      { role: "assistant", message: { content: [{ type: "text", text: "Paint." }] } },
    ],
    typed: ["Why is it red?"],
    injected: "rules",
    unknown: { role: "never_seen", message: {} },
  },
  {
    format: chatgptFormat,
    path: "conversations.json",
    isList: true,
    values: [
      {
        ...{ id: "c", title: "Red", create_time: 1_770_000_000, current_node: "3" },
        mapping: {
          ...node("1", null, "user", "Why is it red?"),
          ...node("2", "1", "assistant", "Paint."),
          ...node("2b", "1", "user", "another branch"),
          ...node("3", "2", "user", "Make it blue"),
        },
      },
    ],
    typed: ["Why is it red?", "Make it blue"],
    injected: "another branch",
    unknown: { id: "d", current_node: "1", mapping: node("1", null, "never_seen", "?") },
  },
  {
    format: claudeAiFormat,
    path: "conversations.json",
    isList: true,
    values: [
      {
        ...{ uuid: "c", name: "Red", created_at: at },
        chat_messages: [
          {
            uuid: "1",
            sender: "human",
            text: "Why is it red?",
            content: [],
            attachments: [{ file_name: "a.txt", extracted_content: "an attachment" }],
          },
          { uuid: "2", sender: "assistant", content: [{ type: "text", text: "Paint." }] },
        ],
      },
    ],
    typed: ["Why is it red?"],
    injected: "an attachment",
    unknown: { uuid: "d", chat_messages: [{ uuid: "1", sender: "never_seen" }] },
  },
  {
    format: aiSdkFormat,
    path: "chat.json",
    isList: true,
    values: [
      { id: "1", role: "user", parts: [{ type: "text", text: "Why is it red?" }] },
      {
        id: "2",
        role: "assistant",
        parts: [
          { type: "tool-f", toolCallId: "c", state: "output-available", input: {}, output: 1 },
        ],
      },
    ],
    typed: ["Why is it red?"],
    unknown: { id: "3", role: "assistant", parts: [{ type: "never_seen" }] },
  },
  {
    format: openaiAgentsFormat,
    path: "items.jsonl",
    values: [
      { type: "message", role: "user", content: "Why is it red?" },
      { type: "function_call", callId: "c", name: "f", arguments: "{}" },
      { type: "function_call_result", callId: "c", name: "f", output: "out" },
    ],
    typed: ["Why is it red?"],
    unknown: { type: "never_seen" },
  },
  {
    format: chatFileFormat,
    path: "chat.jsonl",
    values: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Why is it red?", time: at },
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "out" }] },
    ],
    typed: ["Why is it red?"],
    injected: "brief",
    unknown: {
      role: "assistant",
      content: [{ type: "thinking", thinking: "" }, { type: "never_seen" }],
    },
  },
  {
    format: rkatFormat,
    path: "sessions/s/events.jsonl",
    values: [
      { type: "run_started", session_id: "s", prompt: "Why is it red?" },
      { type: "turn_started", turn_number: 0 },
      { type: "text_complete", content: "Paint." },
      {
        type: "turn_completed",
        stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 },
      },
      {
        type: "message_added",
        message: { role: "user", content: "from a file" },
        origin: { author: "file" },
      },
    ].map((event, index) => ({
      ...{
        seq: index + 1,
        schema_version: 1,
        event_id: `e${index}`,
        timestamp_ms: 1_770_000_000_000,
      },
      event,
    })),
    typed: ["Why is it red?"],
    unknown: {
      seq: 6,
      schema_version: 1,
      event_id: "e6",
      timestamp_ms: 0,
      event: { type: "never_seen" },
    },
  },
];

/** The bytes of a transcript with these values. */
export function transcriptBytes({ isList }: TranscriptSample, values: readonly unknown[]): Buffer {
  if (isList) return Buffer.from(JSON.stringify(values));
  return Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
}
