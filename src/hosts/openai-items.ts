import { isObject } from "../core/fields.ts";
import { type ContentBlock, type Message, SUMMARY_PREFIX } from "../core/message.ts";
import type { MessageView } from "../window/message-view.ts";
import { isProviderCompaction, opaqueTokensOf } from "./host-messages.ts";
import { areApart } from "./provider-summary.ts";

/**
 * The part of an `AgentInputItem` that rkat reads. Everything else in it stays with it.
 *
 * Reasoning, calls and results are items of their own:
 *
 *     user │ reasoning, function_call, function_call │ function_call_result, function_call_result │ assistant
 */
export interface OpenAIItem {
  readonly type?: string | undefined;
  readonly role?: string | undefined;
  readonly content?: unknown;
  readonly callId?: string | null | undefined;
  readonly name?: string | undefined;
  readonly arguments?: unknown;
  readonly output?: unknown;
  readonly id?: string | undefined;
  readonly providerData?: unknown;
}

/** The message in an item; `undefined` for an item that rkat cannot read. */
export function messageOfItem(item: OpenAIItem): Message | undefined {
  const { type = "message", role, content, callId } = item;
  if (type === "message") {
    if (role === "user") return userMessage(content);
    if (role === "system") return { role: "system", content: textOf(content) };
    if (role !== "assistant") throw new Error(unknownRole(role));
    return assistant({ block_type: "text", data: { text: textOf(content) } });
  }
  if (type === "reasoning") {
    return assistant({ block_type: "reasoning", data: { text: textOf(content) } });
  }
  if (!callId) return undefined;
  if (isResult(type)) {
    const result = { tool_use_id: callId, content: textOf(item.output), is_error: false };
    return { role: "tool_results", results: [result] };
  }
  if (!type.endsWith("_call") && type !== "program") return undefined;
  const { name = type } = item;
  return {
    role: "block_assistant",
    blocks: [{ block_type: "tool_use", data: { id: callId, name, args: argsOf(item) } }],
    stop_reason: "tool_use",
  };
}

/** Ids of the results of OpenAI's own tools: searches, files, code, images, calls of MCP servers. */
const OWN_RESULT = /^(?:ws|fs|ci|ig|mcp\w*)_/;

/** The provider that alone reads an item, as the AI SDK names it. */
function onlyReaderOf({ type, id = "", providerData, ...fields }: OpenAIItem): string | undefined {
  const data = isObject(providerData) ? providerData : {};
  const { model } = data;
  if (type === "compaction") return "openai";
  if (type === "hosted_tool_call" && OWN_RESULT.test(id)) return "openai";
  if (type !== "reasoning") return undefined;
  // The adapter of the AI SDK's models says there whose it is: "anthropic.messages:claude-opus-4-8".
  if (typeof model === "string" && model.includes(":")) return model.split(":")[0];
  const all: Readonly<Record<string, unknown>> = { ...fields, ...data };
  const secret = all.encrypted_content ?? all.encryptedContent;
  return typeof secret === "string" ? "openai" : undefined;
}

/** The kind of a `Model` of the Agents SDK, as far as its class tells who reads its items. A name of a model tells nothing. */
export type ModelKind = "responses" | "other" | undefined;

/** Whether a model reads an item. Only OpenAI's Responses API takes what OpenAI made for itself, and nothing of another provider's. */
export function isReadableBy(kind: ModelKind, item: OpenAIItem): boolean {
  const reader = kind && onlyReaderOf(item);
  if (!reader) return true;
  return kind === "responses" ? !areApart(reader, "openai") : reader !== "openai";
}

/** The message by which an item is remembered. */
export function saidInItem(item: OpenAIItem): Message | undefined {
  const message = messageOfItem(item);
  if (!message || message.role === "system") return undefined;
  if (message.role !== "block_assistant") return message;
  return message.blocks.some(({ block_type }) => block_type !== "reasoning") ? message : undefined;
}

/** The reader and writer of items for a window. */
export const itemView: MessageView<OpenAIItem> = {
  read(item) {
    const message = summaries.has(item) ? summaryOf(item) : messageOfItem(item);
    if (!message) {
      const stays = isProviderCompaction(item) ? ({ stays: true } as const) : {};
      return { opaqueTokens: opaqueTokensOf([item]), ...stays };
    }
    const read = { message, opaqueTokens: opaqueTokensOf(unreadIn(item)) };
    // A provider refuses reasoning without the item that came after it.
    return item.type === "reasoning" ? { ...read, joins: "next" } : read;
  },
  summary: summaryItem,
  shorten: (item, outputs) => {
    const text = outputs.get(item.callId ?? "");
    return text === undefined ? item : withOutput(item, text);
  },
};

export function userItem(text: string): OpenAIItem {
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}

/** Items that rkat made of summaries. The same text from anyone else is a user's message. */
const summaries = new WeakSet<object>();

function summaryItem(text: string): OpenAIItem {
  const item = userItem(text);
  summaries.add(item);
  return item;
}

function summaryOf({ content }: OpenAIItem): Message {
  return { role: "user", kind: "compaction_summary", content: textOf(content) };
}

/** The form in which a session stores a summary: an item of a type that no host has. */
interface StoredSummary {
  readonly type: "rkat_summary";
  readonly summary: string;
}

/** An item as a session stores it. A summary is marked as such. */
export function storedItem(item: unknown): unknown {
  if (typeof item !== "object" || item === null || !summaries.has(item)) return item;
  const summary = textOf(Reflect.get(item, "content")).slice(SUMMARY_PREFIX.length);
  return { type: "rkat_summary", summary } satisfies StoredSummary;
}

/** A stored item as it was given. */
export function givenItem(stored: unknown): unknown {
  const { type, summary } = (stored ?? {}) as Partial<StoredSummary>;
  return type === "rkat_summary" ? summaryItem(SUMMARY_PREFIX + summary) : stored;
}

/**
 * An item as it is sent in each turn. The SDK's sessions drop the ids of calls and of their results, so that requests of the
 * next turn would begin otherwise than those before.
 */
export function alikeInEachTurn(item: OpenAIItem): OpenAIItem {
  if (!/^function_call(?:_result)?$/.test(item.type ?? "")) return item;
  const { id: _, providerData, ...rest } = item;
  if (!isObject(providerData)) return rest;
  const { id: __, ...data } = providerData;
  return { ...rest, providerData: data };
}

/** The text of a user's message; empty for other items. */
export function userText({ type = "message", role, content }: OpenAIItem): string {
  return type === "message" && role === "user" ? textOf(content) : "";
}

/** A copy of a result with another output, in the form that its type has. */
function withOutput(item: OpenAIItem, text: string): OpenAIItem {
  const output =
    item.type === "function_call_result"
      ? { type: "text", text }
      : item.type === "shell_call_output"
        ? [{ stdout: text, stderr: "", outcome: { type: "exit", exitCode: 0 } }]
        : text;
  return { ...item, output };
}

function unknownRole(role: string | undefined): string {
  return `The item has the role ${JSON.stringify(role)}. Known are system, user and assistant.`;
}

function isResult(type: string): boolean {
  return type.endsWith("_result") || type.endsWith("_output");
}

function assistant(
  block: Extract<Message, { role: "block_assistant" }>["blocks"][number],
): Message {
  return { role: "block_assistant", blocks: [block], stop_reason: "end_turn" };
}

function userMessage(content: unknown): Message {
  const blocks = (Array.isArray(content) ? content : [content]).flatMap(contentBlock);
  const texts = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const only = texts.length === blocks.length ? texts.join("\n") : undefined;
  return { role: "user", content: only ?? blocks };
}

/** The text of a part, or its image. A file that lies with the provider has neither. */
function contentBlock(part: unknown): ContentBlock[] {
  const data =
    typeof part === "object" && part !== null && "image" in part ? part.image : undefined;
  const image = typeof data === "string" && /^data:([\w/+.-]+);base64,(.*)$/s.exec(data);
  if (image) return [{ type: "image", media_type: image[1] ?? "", data: image[2] ?? "" }];
  const text = textOf(part);
  return text === "" ? [] : [{ type: "text", text }];
}

/** Images and files that the message of an item does not have. */
function unreadIn({ role, content, output }: OpenAIItem): readonly unknown[] {
  return [content, output]
    .flat()
    .filter((part) => typeof part === "object" && part !== null)
    .filter((part) => (role === "user" ? contentBlock(part).length === 0 : textOf(part) === ""));
}

/** The text of content: a string, a part, or a list of parts. */
function textOf(content: unknown): string {
  const texts: string[] = [];
  const left = [content];
  while (left.length > 0) {
    const part = left.pop();
    if (Array.isArray(part)) for (const inner of part.toReversed()) left.push(inner);
    else texts.push(textOfPart(part));
  }
  return texts.filter(Boolean).join("\n");
}

function textOfPart(content: unknown): string {
  if (typeof content === "string") return content;
  if (typeof content !== "object" || content === null) return "";
  for (const field of ["text", "refusal", "transcript"] as const) {
    const text: unknown = Reflect.get(content, field);
    if (typeof text === "string") return text;
  }
  const streams = ["stdout", "stderr"].map((field): unknown => Reflect.get(content, field));
  return streams.filter((text) => typeof text === "string" && text !== "").join("\n");
}

/** The arguments of a call. What is no JSON stays a text; a computer call has its action. */
function argsOf(item: OpenAIItem): unknown {
  if (item.type !== "function_call") {
    const { type: _, callId: __, ...args } = item;
    return args;
  }
  if (typeof item.arguments !== "string") return item.arguments ?? {};
  try {
    return JSON.parse(item.arguments);
  } catch {
    return item.arguments;
  }
}
