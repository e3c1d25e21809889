import { jsonText } from "../core/json-values.ts";
import {
  type AssistantBlock,
  type ContentBlock,
  type Message,
  type ProviderMeta,
  type ToolResult,
  type ToolUse,
  toolUses,
} from "../core/message.ts";
import { reading } from "../core/options.ts";
import { familyOf, fromMeta, toMeta } from "./model-family.ts";

/** The part of the AI SDK's `ModelMessage` that is used here. */
export interface AiSdkMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly { readonly type: string }[];
}

/** The origin of a message, so that it can be returned unchanged. */
interface Original {
  readonly group: readonly AiSdkMessage[];
  /** The array that it came in, and its place there. */
  readonly source: readonly AiSdkMessage[];
  readonly place: number;
}

const originals = new WeakMap<Message, Original>();

/** The messages behind each converted one, so that a summary is recognised when it comes back. */
const made = new WeakMap<AiSdkMessage, readonly Message[]>();

/**
 * Converts messages of the AI SDK, for example for `compactHistory`. Images, PDFs and other files come
 * along, whether given as bytes, base64 or addresses, and count by their pixels and pages.
 */
export function fromModelMessages(messages: readonly AiSdkMessage[]): Message[] {
  return reading("fromModelMessages", () =>
    together(messages).flatMap((group, place) => {
      const known = made.get(group[0] as AiSdkMessage);
      if (known) return known;
      const message = fromGroup(group);
      originals.set(message, { group, source: messages, place });
      return [message];
    }),
  );
}

/**
 * The reverse of `fromModelMessages`. A message that came from there is returned
 * unchanged. A new one, such as a summary, is converted. User messages that a
 * compaction brought next to each other are joined, because some providers refuse
 * two in a row:
 *
 *     C U        a summary and the user message after it      one message
 *     U (A) U    a pin and the last user message, A left      one message
 *     U U        two that came in a row                       unchanged
 */
export function toModelMessages<AiMessage extends AiSdkMessage = AiSdkMessage>(
  messages: readonly Message[],
): AiMessage[] {
  const toolNames = new Map<string, string>();
  return reading("toModelMessages", () =>
    runsOfUsers(messages).flatMap((run) => {
      for (const { id, name } of run.flatMap(toolUses)) toolNames.set(id, name);
      const each = run.map((message) => asModelMessages(message, toolNames));
      return (run.length > 1 ? [joined(run, each.flat())] : each.flat()) as AiMessage[];
    }),
  );
}

function asModelMessages(
  message: Message,
  toolNames: ReadonlyMap<string, string>,
): readonly AiSdkMessage[] {
  const original = originals.get(message);
  if (original) return original.group;
  const own = toModelMessage(message, toolNames);
  made.set(own, [message]);
  return [own];
}

/** Groups user messages that are in a row now and were not when they came. Every other message is alone. */
function runsOfUsers(messages: readonly Message[]): Message[][] {
  const runs: Message[][] = [];
  for (const message of messages) {
    const last = runs.at(-1);
    const before = last?.at(-1);
    const meet = before?.role === "user" && message.role === "user" && !cameInARow(before, message);
    if (last && meet) last.push(message);
    else runs.push([message]);
  }
  return runs;
}

function cameInARow(before: Message, message: Message): boolean {
  const [one, other] = [originals.get(before), originals.get(message)];
  return one !== undefined && one.source === other?.source && one.place + 1 === other.place;
}

function joined(run: readonly Message[], each: readonly AiSdkMessage[]): AiSdkMessage {
  const content = each.flatMap(({ content }, index) => {
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    // Some servers join the texts of one message without a space.
    return index === 0 ? parts : [{ type: "text", text: "\n\n" }, ...parts];
  });
  const message: AiSdkMessage = { role: "user", content };
  made.set(message, run);
  return message;
}

/** One group a message of ours: results of one message's calls may come as several messages. */
function together(messages: readonly AiSdkMessage[]): AiSdkMessage[][] {
  const groups: AiSdkMessage[][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (message.role === "tool" && last?.[0]?.role === "tool") last.push(message);
    else groups.push([message]);
  }
  return groups;
}

/** The possible fields of a part. */
interface Part {
  readonly type: string;
  readonly text?: string;
  readonly image?: unknown;
  readonly data?: unknown;
  readonly mediaType?: string;
  readonly filename?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly output?: { readonly type: string; readonly value?: unknown; readonly reason?: string };
  readonly providerOptions?: Parameters<typeof toMeta>[1];
}

function fromGroup(group: readonly AiSdkMessage[]): Message {
  const parts = group.flatMap(({ content }): readonly Part[] =>
    typeof content === "string" ? [{ type: "text", text: content }] : content,
  );
  switch (group[0]?.role) {
    case "system":
      return { role: "system", content: parts.map(({ text }) => text ?? "").join("\n") };
    case "tool":
      return { role: "tool_results", results: parts.flatMap(toResult) };
    case "assistant": {
      const blocks = parts.flatMap(toBlock);
      const calls = blocks.some(({ block_type }) => block_type === "tool_use");
      return { role: "block_assistant", blocks, stop_reason: calls ? "tool_use" : "end_turn" };
    }
    default: {
      const whole = group[0]?.content;
      const content = typeof whole === "string" ? whole : parts.flatMap(toContent);
      return { role: "user", content };
    }
  }
}

function toContent(part: Part): ContentBlock[] {
  if (part.type === "text") return [{ type: "text", text: part.text ?? "" }];
  const file = part.image ?? part.data;
  if (isTagged(file) && typeof file.text === "string") return [{ type: "text", text: file.text }];
  const data = base64OrAddress(file);
  // A provider's reference to a file of its own has no content here. The original message keeps it.
  if (data === undefined) return [];
  const media_type = part.mediaType ?? mediaTypeOf(file) ?? "image/png";
  if (part.type === "image" || /^image(\/|$)/.test(media_type)) {
    return [{ type: "image", media_type, data }];
  }
  const { filename } = part;
  return [{ type: "file", media_type, data, ...(filename === undefined ? {} : { filename }) }];
}

/** The AI SDK gives files as base64, bytes, addresses and `data:` addresses, some of them in an object that says which. */
function base64OrAddress(file: unknown): string | undefined {
  if (typeof file === "string") return file.startsWith("data:") ? ofDataUrl(file) : file;
  if (file instanceof URL) return base64OrAddress(file.href);
  if (file instanceof Uint8Array) return Buffer.from(file).toString("base64");
  if (file instanceof ArrayBuffer) return Buffer.from(file).toString("base64");
  return isTagged(file) ? base64OrAddress(file.data ?? file.url) : undefined;
}

function ofDataUrl(address: string): string {
  const comma = address.indexOf(",");
  const content = address.slice(comma + 1);
  if (address.slice(0, comma).endsWith(";base64")) return content;
  return Buffer.from(decodeURIComponent(content)).toString("base64");
}

function mediaTypeOf(file: unknown): string | undefined {
  const address = file instanceof URL ? file.href : file;
  return typeof address === "string" ? /^data:([^;,]+)/.exec(address)?.[1] : undefined;
}

interface TaggedFile {
  readonly data?: unknown;
  readonly url?: unknown;
  readonly text?: unknown;
}

function isTagged(file: unknown): file is TaggedFile {
  return typeof file === "object" && file !== null && "type" in file;
}

function toBlock(part: Part): AssistantBlock[] {
  const text = part.text ?? "";
  const meta = metaOf(part);
  switch (part.type) {
    case "text":
    case "reasoning":
      return [{ block_type: part.type, data: { text, ...meta } }];
    case "tool-call": {
      const { toolCallId: id = "", toolName: name = "", input: args } = part;
      return [{ block_type: "tool_use", data: { id, name, args, ...meta } }];
    }
    default:
      return [];
  }
}

function metaOf({ providerOptions }: Part): { readonly meta?: ProviderMeta } {
  const name = Object.keys(providerOptions ?? {})[0];
  const meta = name && providerOptions ? toMeta(familyOf(name), providerOptions) : undefined;
  return meta ? { meta } : {};
}

function toResult({ type, toolCallId = "", output }: Part): ToolResult[] {
  if (type !== "tool-result" || !output) return [];
  const { value, reason } = output;
  const content = typeof value === "string" ? value : jsonText(value) || reason || "";
  const is_error = /^error|denied$/.test(output.type);
  return [{ tool_use_id: toolCallId, content, is_error }];
}

function toModelMessage(message: Message, toolNames: ReadonlyMap<string, string>): AiSdkMessage {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content };
    case "user":
      return { role: "user", content: fromContent(message.content) };
    case "tool_results":
      return {
        role: "tool",
        content: message.results.map(({ tool_use_id, content, is_error }) => ({
          type: "tool-result",
          toolCallId: tool_use_id,
          toolName: toolNames.get(tool_use_id) ?? "unknown",
          output: { type: is_error ? "error-text" : "text", value: content },
        })),
      };
    case "assistant": {
      const text = message.content === "" ? [] : [{ type: "text", text: message.content }];
      return { role: "assistant", content: [...text, ...toolUses(message).map(fromCall)] };
    }
    case "block_assistant":
      return { role: "assistant", content: message.blocks.map(fromBlock) };
  }
}

function fromContent(content: string | readonly ContentBlock[]): AiSdkMessage["content"] {
  if (typeof content === "string") return content;
  return content.map((block) => {
    if (block.type === "text") return block;
    const { media_type: mediaType, data } = block;
    const filename = block.type === "file" ? block.filename : undefined;
    const named = filename === undefined ? {} : { filename };
    return {
      type: "file",
      mediaType,
      ...named,
      data: /^https?:/.test(data) ? new URL(data) : data,
    };
  });
}

function fromBlock({ block_type, data }: AssistantBlock): { readonly type: string } {
  if (block_type === "tool_use") return fromCall(data);
  return { type: block_type, text: data.text, ...optionsOf(data) } as Part;
}

function fromCall(call: ToolUse): { readonly type: string } {
  const { id: toolCallId, name: toolName, args: input } = call;
  return { type: "tool-call", toolCallId, toolName, input, ...optionsOf(call) } as Part;
}

function optionsOf({ meta }: { readonly meta?: ProviderMeta }) {
  return meta ? fromMeta(familyOfMeta(meta.provider), meta) : {};
}

const AI_SDK_NAMES: Readonly<Record<string, string>> = { gemini: "google", open_ai: "openai" };

function familyOfMeta(metaProvider: string) {
  return familyOf(AI_SDK_NAMES[metaProvider] ?? metaProvider);
}
