import { createHash } from "node:crypto";
import { withinNesting } from "../core/json-values.ts";
import type { Message } from "../core/message.ts";
import type { ViewedMessage } from "./message-view.ts";

/**
 * The same for messages with the same content, although a host may make new objects for each
 * request. Reasoning and what only its provider reads do not count: hosts do not always store them. What never leaves does:
 * a history without it is another.
 */
export function keyOf(id: string | undefined, view: ViewedMessage, host: object): string {
  const { message, stays = false } = view;
  if (id !== undefined) return stays ? `id:${id} stays` : `id:${id}`;
  const text = JSON.stringify(message ? readable(message) : withinNesting(host), withoutBytes);
  return hash(stays ? `stays ${text}` : (text ?? ""));
}

/** The key of a sequence of messages: of those before, and one more. */
export function chained(before: string, key: string): string {
  return hash(`${before}\n${key}`);
}

function readable(message: Message): unknown {
  // Only its place says that a copy of a summary is one.
  if (message.role === "user") return { role: "user", content: message.content };
  if (message.role === "assistant") {
    const { content, tool_calls = [] } = message;
    return { role: "assistant", text: [content].filter(Boolean), calls: tool_calls.map(bare) };
  }
  if (message.role !== "block_assistant") return message;
  const text = message.blocks.flatMap((block) =>
    block.block_type === "text" && block.data.text !== "" ? [block.data.text] : [],
  );
  const calls = message.blocks.flatMap((block) =>
    block.block_type === "tool_use" ? [bare(block.data)] : [],
  );
  return { role: "assistant", text, calls };
}

function bare({ id, name, args }: { id: string; name: string; args: unknown }) {
  return { id, name, args };
}

/** Bytes as base64, and integers that JSON does not know as text. */
function withoutBytes(_: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  return typeof value === "bigint" ? String(value) : value;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}
