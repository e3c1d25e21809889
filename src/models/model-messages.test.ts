import { expect, test } from "vitest";
import { type Message, summaryMessage } from "../core/message.ts";
import { estimateTokens } from "../core/tokens.ts";
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
    {
      role: "user",
      content: [
        { type: "text", text: "And this?" },
        { type: "file", media_type: "application/pdf", data: "https://example.com/a.pdf" },
      ],
    },
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

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA10dzkAAAA";
const PDF = Buffer.from("%PDF-1.4 /Type /Pages /Type /Page /Type/Page").toString("base64");

test.each([
  ["an image as bytes", { type: "image", image: Buffer.from(PNG, "base64") }, "image", PNG],
  [
    "an image as a data: address",
    { type: "image", image: `data:image/png;base64,${PNG}` },
    "image",
    PNG,
  ],
  [
    "an image by its address",
    { type: "image", image: new URL("https://example.com/a.png") },
    "image",
    "https://example.com/a.png",
  ],
  ["a PDF as base64", { type: "file", mediaType: "application/pdf", data: PDF }, "file", PDF],
  [
    "a PDF as tagged bytes",
    {
      type: "file",
      mediaType: "application/pdf",
      data: { type: "data", data: Buffer.from(PDF, "base64") },
    },
    "file",
    PDF,
  ],
  [
    "a PDF by its tagged address",
    {
      type: "file",
      mediaType: "application/pdf",
      filename: "a.pdf",
      data: { type: "url", url: new URL("https://example.com/a.pdf") },
    },
    "file",
    "https://example.com/a.pdf",
  ],
])("%s comes along, is counted, and goes back unchanged", (_, part, type, data) => {
  const message = { role: "user", content: [{ type: "text", text: "See" }, part] } as const;
  const [converted] = fromModelMessages([message]);
  expect(converted).toMatchObject({ content: [{ type: "text" }, { type, data }] });
  const tokens = (one: unknown) => estimateTokens([one as Message]);
  expect(tokens(converted)).toBeGreaterThan(tokens({ role: "user", content: "See" }) + 200);
  expect(tokens(converted)).toBeLessThan(20_000);
  expect(toModelMessages([converted as Message])).toEqual([message]);
});

test("a file that was stored is given back as a file, by its content or its address", () => {
  const content = [
    { type: "file", media_type: "application/pdf", data: PDF, filename: "a.pdf" },
    { type: "image", media_type: "image/png", data: "https://example.com/a.png" },
  ] as const;
  expect(toModelMessages([{ role: "user", content }])).toEqual([
    {
      role: "user",
      content: [
        { type: "file", mediaType: "application/pdf", filename: "a.pdf", data: PDF },
        { type: "file", mediaType: "image/png", data: new URL("https://example.com/a.png") },
      ],
    },
  ]);
});
