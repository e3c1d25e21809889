import { expect, test } from "vitest";
import { type LangChainMessage, langChainView } from "./langchain-messages.ts";

const BYTES = "A".repeat(1_000_000);

const { read, shorten, summary } = langChainView;

test("an answer is read block by block, and its calls once", () => {
  const { message, opaqueTokens } = read({
    type: "ai",
    content: [
      { type: "thinking", thinking: "Two files.", signature: "s" },
      { type: "text", text: "I read them." },
      { type: "tool_use", id: "c", name: "read", input: {} },
    ],
    tool_calls: [{ id: "c", name: "read", args: { path: "a.ts" } }],
  });
  expect(message).toEqual({
    role: "block_assistant",
    blocks: [
      { block_type: "reasoning", data: { text: "Two files." } },
      { block_type: "text", data: { text: "I read them." } },
      { block_type: "tool_use", data: { id: "c", name: "read", args: { path: "a.ts" } } },
    ],
    stop_reason: "tool_use",
  });
  expect(opaqueTokens).toBe(0);
});

test("images are read in each of their forms, and other parts are counted", () => {
  const { message, opaqueTokens } = read({
    type: "human",
    content: [
      { type: "text", text: "Look." },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      { type: "image", mime_type: "image/jpeg", data: "BBBB" },
      { type: "audio", data: "CCCC" },
    ],
  });
  expect(message).toEqual({
    role: "user",
    content: [
      { type: "text", text: "Look." },
      { type: "image", media_type: "image/png", data: "AAAA" },
      { type: "image", media_type: "image/jpeg", data: "BBBB" },
    ],
  });
  expect(opaqueTokens).toBeGreaterThan(0);
});

test("shortened tool output leaves the message as it was, and all else in the copy", () => {
  class ToolMessage {
    readonly type = "tool";
    readonly id = "m";
    readonly tool_call_id = "c";
    readonly content = "a long output";
    readonly status = "error";
    readonly artifact = { rows: 3 };
  }
  const message: LangChainMessage = new ToolMessage();
  const copy = shorten(message, new Map([["c", "short"]]));
  expect(copy).toBeInstanceOf(ToolMessage);
  expect(copy).toMatchObject({ id: "m", content: "short", artifact: { rows: 3 } });
  expect(message.content).toBe("a long output");
  expect(read(copy).message).toEqual({
    role: "tool_results",
    results: [{ tool_use_id: "c", content: "short", is_error: true }],
  });
});

test("a summary is a user's message that reads back as a summary with its text", () => {
  const message = summary("So far.");
  expect(message.additional_kwargs).toEqual({ lc_source: "summarization" });
  expect(read(message).message).toEqual({
    role: "user",
    kind: "compaction_summary",
    content: "So far.",
  });
});

test.each([
  ["human", { type: "file", source_type: "base64", mime_type: "application/pdf", data: BYTES }],
  ["human", { type: "audio", source_type: "base64", mime_type: "audio/wav", data: BYTES }],
  ["tool", { type: "image_url", image_url: { url: `data:image/png;base64,${BYTES}` } }],
])("a file in a %s message does not count by its bytes", (type, part) => {
  const { opaqueTokens = 0 } = read({ type, tool_call_id: "c", content: [part] });
  expect(opaqueTokens).toBeGreaterThan(500);
  expect(opaqueTokens).toBeLessThan(2_000);
});
