import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import type { ModelChunk } from "../core/language-model.ts";
import { familyOf } from "./model-family.ts";
import { readStream } from "./read-stream.ts";

const NO_TOKENS: LanguageModelV4Usage = {
  inputTokens: {
    total: undefined,
    noCache: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
  },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

type Unified = Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"]["unified"];

function finish(unified: Unified, raw?: string): LanguageModelV4StreamPart {
  return { type: "finish", usage: NO_TOKENS, finishReason: { unified, raw } };
}

const CALL: LanguageModelV4StreamPart = {
  type: "tool-call",
  toolCallId: "call_1",
  toolName: "read",
  input: "",
};

async function read(...parts: LanguageModelV4StreamPart[]): Promise<ModelChunk[]> {
  const stream = new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  const chunks: ModelChunk[] = [];
  for await (const chunk of readStream(stream, familyOf("local.chat"))) chunks.push(chunk);
  return chunks;
}

test("a block comes as soon as it is whole", async () => {
  const chunks = await read(
    { type: "reasoning-start", id: "0" },
    { type: "reasoning-delta", id: "0", delta: "Hm." },
    { type: "reasoning-end", id: "0" },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "So." },
    { type: "text-end", id: "0" },
    finish("stop"),
  );
  expect(chunks.map(({ type }) => type)).toEqual([
    "reasoning_delta",
    "block",
    "text_delta",
    "block",
    "finish",
  ]);
});

test("blocks come in the order in which they began, not in that in which they ended", async () => {
  const chunks = await read(
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "Let me look." },
    { type: "tool-input-start", id: "call_1", toolName: "read" },
    CALL,
    { type: "text-end", id: "0" },
    finish("tool-calls"),
  );
  expect(chunks.slice(1, -1)).toEqual([
    { type: "block", block: { block_type: "text", data: { text: "Let me look." } } },
    {
      type: "block",
      block: { block_type: "tool_use", data: { id: "call_1", name: "read", args: {} } },
    },
  ]);
});

test("a block that began and did not end is there when the answer is finished", async () => {
  const chunks = await read(
    { type: "text-delta", id: "0", delta: "So" },
    { type: "tool-input-start", id: "call_1", toolName: "read" },
    finish("length"),
  );
  expect(chunks.slice(1)).toEqual([
    { type: "block", block: { block_type: "text", data: { text: "So" } } },
    {
      type: "finish",
      stopReason: "max_tokens",
      usage: {
        input_tokens: 0,
        output_tokens: 0,
        cache_creation_tokens: null,
        cache_read_tokens: null,
      },
    },
  ]);
});

test("blocks without anything in them are left out", async () => {
  const chunks = await read(
    { type: "text-start", id: "0" },
    { type: "text-end", id: "0" },
    finish("stop"),
  );
  expect(chunks).toHaveLength(1);
});

test("a tool that the provider ran itself is no call", async () => {
  const chunks = await read({ ...CALL, providerExecuted: true }, finish("stop"));
  expect(chunks).toMatchObject([{ type: "finish", stopReason: "end_turn" }]);
});

test("a server that calls tools and says that it stopped has called tools", async () => {
  expect((await read(CALL, finish("stop", "stop"))).at(-1)).toMatchObject({
    stopReason: "tool_use",
  });
});

describe("an answer is cut short", () => {
  const text: LanguageModelV4StreamPart = { type: "text-delta", id: "0", delta: "So" };
  test.each<[string, LanguageModelV4StreamPart[]]>([
    ["that never finishes", [text]],
    ["that is empty", []],
    ["that was interrupted", [text, finish("interrupted")]],
    ["whose call was malformed", [text, finish("error", "MALFORMED_FUNCTION_CALL")]],
    ["whose server broke down", [text, finish("other", "insufficient_system_resource")]],
  ])("%s", async (_, parts) => {
    await expect(read(...parts)).rejects.toMatchObject({ code: "PROVIDER_ERROR", retry: {} });
  });
});
