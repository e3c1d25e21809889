import { atifFormat } from "../../src/transcripts/agents/atif-format.ts";
import { claudeStreamFormat } from "../../src/transcripts/agents/claude-stream-format.ts";
import { clineFormat, rooFormat } from "../../src/transcripts/agents/cline-format.ts";
import { copilotChatFormat } from "../../src/transcripts/agents/copilot-chat-format.ts";
import { copilotFormat } from "../../src/transcripts/agents/copilot-format.ts";
import { gooseFormat } from "../../src/transcripts/agents/goose-format.ts";
import { opencodeExportFormat } from "../../src/transcripts/agents/opencode-export-format.ts";
import { openhandsFormat } from "../../src/transcripts/agents/openhands-format.ts";
import { qwenFormat } from "../../src/transcripts/agents/qwen-format.ts";
import { sweAgentFormat } from "../../src/transcripts/agents/swe-agent-format.ts";
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
  /** The file is one object. */
  readonly isOne?: true;
  /** The name of the file is the only id that it gives a conversation. */
  readonly isNamedByFile?: true;
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

const copilot = (id: string, type: string, data: object) => ({ id, type, timestamp: at, data });
const qwen = (uuid: string, parentUuid: string | null, type: string, message: object) => ({
  ...{ uuid, parentUuid, sessionId: "q", timestamp: at, type, cwd: "/home/ada" },
  message,
});
const goose = (role: string, content: readonly object[], metadata: object = {}) => ({
  ...{ role, created: 1_770_000_000, content },
  metadata,
});
const stream = (type: string, rest: object) => ({ type, session_id: "st", ...rest });

/** The formats of `src/transcripts/agents`. */
const OF_AGENTS: readonly TranscriptSample[] = [
  {
    format: rooFormat,
    path: "rooveterinaryinc.roo-cline/tasks/0d5c2f6e-3b1a-4a54-9d5f-6f1f2a7b8c9d/api_conversation_history.json",
    isList: true,
    values: [
      {
        role: "user",
        content: [
          { type: "text", text: "<task>\nWhy is it red?\n</task>" },
          { type: "text", text: "<environment_details>open files</environment_details>" },
        ],
        ts: 1_770_000_000_000,
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look." },
          { type: "tool_use", id: "c", name: "read_file", input: { path: "a" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c", content: "out" },
          { type: "text", text: "<environment_details>open files</environment_details>" },
        ],
      },
    ],
    typed: ["Why is it red?"],
    injected: "open files",
    unknown: { role: "never_seen", content: [] },
  },
  {
    format: copilotFormat,
    path: "session-state/s/events.jsonl",
    values: [
      copilot("1", "session.start", { sessionId: "s", context: { cwd: "/home/ada" } }),
      copilot("2", "user.message", { content: "Why is it red?" }),
      copilot("3", "user.message", { content: "a skill's words", source: "skill-paint" }),
      copilot("4", "assistant.message", {
        ...{ messageId: "m", content: "I look." },
        toolRequests: [{ toolCallId: "c", name: "view", arguments: { path: "a" } }],
      }),
      copilot("5", "tool.execution_complete", {
        toolCallId: "c",
        success: true,
        result: { content: "out" },
      }),
      copilot("6", "user.message", { content: "Make it blue" }),
    ],
    typed: ["Why is it red?", "Make it blue"],
    injected: "skill's",
    unknown: copilot("7", "never_seen", {}),
  },
  {
    format: copilotChatFormat,
    path: "chatSessions/s.json",
    isList: true,
    isOne: true,
    values: [
      {
        ...{ sessionId: "s", responderUsername: "GitHub Copilot", creationDate: 1_770_000_000_000 },
        requests: [
          {
            ...{
              requestId: "r1",
              timestamp: 1_770_000_000_000,
              message: { text: "Why is it red?" },
            },
            response: [
              { value: "It is " },
              { kind: "inlineReference", name: "paint.ts" },
              { value: "." },
              { kind: "toolInvocationSerialized", toolCallId: "c", toolId: "f" },
            ],
          },
          { requestId: "r2", message: "taken back", isHidden: true, response: [] },
        ],
      },
    ],
    typed: ["Why is it red?"],
    injected: "taken back",
    unknown: { sessionId: "t", requests: [{ message: "?", response: [{ kind: "never_seen" }] }] },
  },
  {
    format: clineFormat,
    path: "tasks/1770000000000/ui_messages.json",
    isList: true,
    values: [
      { ts: 1_770_000_000_000, type: "say", say: "text", text: "Why is it red?" },
      {
        ts: 1_770_000_000_001,
        type: "say",
        say: "api_req_started",
        text: '{"request":"environment"}',
      },
      { ts: 1_770_000_000_002, type: "say", say: "text", text: "I look." },
      { ts: 1_770_000_000_003, type: "ask", ask: "tool", text: '{"tool":"readFile","path":"a"}' },
      { ts: 1_770_000_000_004, type: "say", say: "completion_result", text: "Paint." },
      { ts: 1_770_000_000_005, type: "ask", ask: "completion_result", text: "" },
      { ts: 1_770_000_000_006, type: "say", say: "user_feedback", text: "Make it blue" },
    ],
    typed: ["Why is it red?", "Make it blue"],
    injected: "environment",
    unknown: { ts: 1_770_000_000_007, type: "say", say: "never_seen" },
  },
  {
    format: qwenFormat,
    path: "chats/q.jsonl",
    values: [
      qwen("a", null, "user", { role: "user", parts: [{ text: "Why is it red?" }] }),
      qwen("b", "a", "assistant", {
        role: "model",
        parts: [{ text: "Paint." }, { functionCall: { id: "c", name: "f", args: {} } }],
      }),
      qwen("c", "b", "tool_result", {
        role: "user",
        parts: [{ functionResponse: { id: "c", name: "f", response: { output: "out" } } }],
      }),
      qwen("d", "c", "user", { role: "user", parts: [{ text: "Make it blue" }] }),
    ],
    typed: ["Why is it red?", "Make it blue"],
    unknown: { type: "never_seen", uuid: "z" },
  },
  {
    format: openhandsFormat,
    path: "trajectory.json",
    isList: true,
    values: [
      {
        id: 0,
        timestamp: "2026-05-01T10:00:00",
        source: "agent",
        action: "system",
        args: { content: "be brief" },
      },
      {
        id: 1,
        timestamp: "2026-05-01T10:00:01",
        source: "user",
        action: "message",
        args: { content: "Why is it red?" },
      },
      {
        id: 2,
        timestamp: "2026-05-01T10:00:02",
        source: "agent",
        action: "run",
        args: { command: "ls", thought: "I look." },
      },
      {
        id: 3,
        timestamp: "2026-05-01T10:00:03",
        source: "agent",
        cause: 2,
        observation: "run",
        content: "out",
        extras: {},
      },
      {
        id: 4,
        timestamp: "2026-05-01T10:00:04",
        source: "agent",
        action: "finish",
        args: { final_thought: "Paint." },
      },
    ],
    typed: ["Why is it red?"],
    injected: "be brief",
    unknown: {
      id: 5,
      timestamp: "2026-05-01T10:00:05",
      source: "user",
      action: "never_seen",
      args: {},
    },
  },
  {
    format: sweAgentFormat,
    path: "a.traj",
    isList: true,
    isOne: true,
    values: [
      {
        ...{ environment: "main", trajectory: [], info: {} },
        history: [
          { role: "system", content: "be brief" },
          { role: "user", content: "a demonstration", is_demo: true },
          { role: "user", content: "Why is it red?" },
          { role: "assistant", content: "I look.", action: "ls" },
          { role: "user", content: "out" },
        ],
      },
    ],
    typed: ["Why is it red?"],
    injected: "demonstration",
    unknown: { environment: "x", trajectory: [], history: [{ role: "never_seen", content: "?" }] },
  },
  {
    format: atifFormat,
    path: "trajectory-atif.json",
    isList: true,
    isOne: true,
    values: [
      {
        ...{ schema_version: "ATIF-v1.5", session_id: "s", agent: { name: "x", model_name: "m" } },
        steps: [
          { step_id: 1, timestamp: at, source: "system", message: "be brief" },
          { step_id: 2, timestamp: at, source: "user", message: "Why is it red?" },
          {
            ...{ step_id: 3, timestamp: at, source: "agent", message: "I look." },
            tool_calls: [{ tool_call_id: "c", function_name: "f", arguments: {} }],
            observation: { results: [{ source_call_id: "c", content: "out" }] },
          },
        ],
      },
    ],
    typed: ["Why is it red?"],
    injected: "be brief",
    unknown: {
      schema_version: "ATIF-v1.5",
      session_id: "t",
      steps: [{ step_id: 1, source: "never_seen" }],
    },
  },
  {
    format: claudeStreamFormat,
    path: "stream.jsonl",
    values: [
      stream("system", { subtype: "init", cwd: "/home/ada", model: "m" }),
      stream("user", {
        isReplay: true,
        uuid: "u1",
        message: { role: "user", content: "Why is it red?" },
      }),
      stream("assistant", {
        uuid: "u2",
        message: {
          id: "m1",
          role: "assistant",
          content: [{ type: "tool_use", id: "c", name: "f", input: {} }],
        },
      }),
      stream("user", {
        uuid: "u3",
        message: {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "c", content: "out" }],
        },
      }),
      stream("user", {
        uuid: "u4",
        isSynthetic: true,
        message: { role: "user", content: "a reminder" },
      }),
      stream("assistant", {
        uuid: "u5",
        message: { id: "m2", role: "assistant", content: [{ type: "text", text: "Paint." }] },
      }),
      stream("result", { subtype: "success", result: "Paint." }),
    ],
    typed: ["Why is it red?"],
    injected: "reminder",
    unknown: stream("never_seen", {}),
  },
  {
    format: gooseFormat,
    isNamedByFile: true,
    path: "20260501_1.jsonl",
    values: [
      { working_dir: "/home/ada/app", description: "Red", message_count: 4, schedule_id: null },
      goose("user", [{ type: "text", text: "Why is it red?" }]),
      goose("assistant", [
        { type: "thinking", thinking: "Look at it.", signature: "" },
        { type: "text", text: "Paint." },
      ]),
      goose("user", [{ type: "text", text: "noted by the program" }], { userVisible: false }),
    ],
    typed: ["Why is it red?"],
    injected: "noted by the program",
    unknown: goose("user", [{ type: "never_seen" }]),
  },
  {
    format: opencodeExportFormat,
    path: "export.json",
    isList: true,
    isOne: true,
    values: [
      {
        info: {
          id: "ses_1",
          title: "Red",
          directory: "/home/ada",
          time: { created: 1_770_000_000_000 },
        },
        messages: [
          {
            info: { id: "msg_1", role: "user", time: { created: 1_770_000_000_000 } },
            parts: [
              { id: "p1", type: "text", text: "Why is it red?" },
              { id: "p2", type: "text", text: "quoted by the program", synthetic: true },
            ],
          },
          {
            info: { id: "msg_2", role: "assistant", time: { created: 1_770_000_000_001 } },
            parts: [
              { id: "p3", type: "text", text: "Paint." },
              {
                id: "p4",
                type: "tool",
                tool: "f",
                callID: "c",
                state: { status: "completed", input: {}, output: "out" },
              },
            ],
          },
        ],
      },
    ],
    typed: ["Why is it red?"],
    injected: "quoted by the program",
    unknown: {
      info: { id: "ses_2" },
      messages: [{ info: { id: "m", role: "never_seen" }, parts: [] }],
    },
  },
];

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
      { id: "2", timestamp: at, type: "gemini", content: "Paint." },
      {
        id: "2",
        timestamp: at,
        type: "gemini",
        content: "Paint.",
        toolCalls: [{ id: "c", name: "f", args: {}, status: "executing", result: null }],
      },
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
    isNamedByFile: true,
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
  ...OF_AGENTS,
];

/** The bytes of a transcript with these values. */
export function transcriptBytes(
  { isList, isOne }: Pick<TranscriptSample, "isList" | "isOne">,
  values: readonly unknown[],
): Buffer {
  // The last one, where a file is one value.
  if (isOne) return Buffer.from(JSON.stringify(values.at(-1) ?? null));
  if (isList) return Buffer.from(JSON.stringify(values));
  return Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
}
