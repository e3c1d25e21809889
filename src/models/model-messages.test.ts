import { expect, test } from "vitest";
import { summaryMessage } from "../core/message.ts";
import { fromModelMessages, toModelMessages } from "./model-messages.ts";

const ARRAY = [
  { role: "system", content: "Be kind." },
  { role: "user", content: "Read a.ts" },
  {
    role: "assistant",
    content: [
      {
        type: "reasoning",
        text: "Reading.",
        providerOptions: { anthropic: { signature: "c2ln" } },
      },
      { type: "tool-call", toolCallId: "call_1", toolName: "read", input: { path: "a.ts" } },
      { type: "tool-call", toolCallId: "call_2", toolName: "read", input: {} },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "call_1",
        toolName: "read",
        output: { type: "json", value: { lines: 3 } },
      },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "call_2",
        toolName: "read",
        output: { type: "error-text", value: "no path" },
      },
    ],
  },
  {
    role: "user",
    content: [
      { type: "text", text: "And this?" },
      { type: "file", mediaType: "application/pdf", data: new URL("https://example.com/a.pdf") },
    ],
  },
] as const;

test("an array of the AI SDK's becomes a history", () => {
  expect(fromModelMessages(ARRAY)).toEqual([
    { role: "system", content: "Be kind." },
    { role: "user", content: "Read a.ts" },
    {
      role: "block_assistant",
      blocks: [
        {
          block_type: "reasoning",
          data: { text: "Reading.", meta: { provider: "anthropic", signature: "c2ln" } },
        },
        { block_type: "tool_use", data: { id: "call_1", name: "read", args: { path: "a.ts" } } },
        { block_type: "tool_use", data: { id: "call_2", name: "read", args: {} } },
      ],
      stop_reason: "tool_use",
    },
    {
      role: "tool_results",
      results: [
        { tool_use_id: "call_1", content: '{"lines":3}', is_error: false },
        { tool_use_id: "call_2", content: "no path", is_error: true },
      ],
    },
    { role: "user", content: [{ type: "text", text: "And this?" }] },
  ]);
});

test("messages that stayed go back as they came, files and all", () => {
  const messages = fromModelMessages(ARRAY);
  const back = toModelMessages([...messages.slice(0, 1), ...messages.slice(2)]);
  expect(back).toEqual([ARRAY[0], ...ARRAY.slice(2)]);
  for (const [index, message] of back.slice(1).entries()) expect(message).toBe(ARRAY[index + 2]);
});

test("a summary and the user message after it become one, and come back as two", () => {
  const messages = fromModelMessages(ARRAY);
  const compacted = [summaryMessage("It was long."), ...messages.slice(1)];
  const back = toModelMessages(compacted);
  expect(back[0]).toMatchObject({
    role: "user",
    content: [
      { type: "text", text: expect.stringContaining("It was long.") },
      { type: "text", text: "\n\n" },
      { type: "text", text: "Read a.ts" },
    ],
  });
  expect(back.slice(1)).toEqual(ARRAY.slice(2));
  expect(fromModelMessages(back)).toEqual(compacted);
});

test("user messages in a row stay two where they came so, and become one where a compaction made it so", () => {
  const source = [
    { role: "user", content: "one" },
    { role: "user", content: "two" },
    { role: "assistant", content: "three" },
    { role: "user", content: [{ type: "file", mediaType: "image/png", data: "AAAA" }] },
  ] as const;
  const messages = fromModelMessages(source);
  expect(toModelMessages(messages)).toEqual(source);
  const roles = toModelMessages(messages.toSpliced(2, 1)).map(({ role }) => role);
  expect(roles).toEqual(["user", "user"]);
  expect(toModelMessages(messages.toSpliced(0, 3))).toEqual(source.slice(3));
});

test("messages that are new are made, with the names of the tools that were called", () => {
  const copies = structuredClone(fromModelMessages(ARRAY));
  const back = toModelMessages(copies);
  expect(back[2]).toEqual(ARRAY[2]);
  expect(back[3]).toEqual({
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "call_1",
        toolName: "read",
        output: { type: "text", value: '{"lines":3}' },
      },
      {
        type: "tool-result",
        toolCallId: "call_2",
        toolName: "read",
        output: { type: "error-text", value: "no path" },
      },
    ],
  });
});
