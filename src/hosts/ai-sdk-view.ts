import { type AiSdkMessage, fromModelMessages } from "../models/model-messages.ts";
import type { MessageView, ViewedMessage } from "../window/message-view.ts";
import { ANSWER, type HostRoles, isProviderCompaction, opaqueTokensOf } from "./host-messages.ts";
import { areApart } from "./provider-summary.ts";

/** The fields of a part that are looked at here. */
interface Part {
  readonly type: string;
  readonly kind?: string;
  readonly toolCallId?: string;
  readonly providerExecuted?: boolean;
  readonly providerOptions?: object;
  readonly output?: {
    readonly type: string;
    readonly value?: unknown;
  };
}

const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);

function unknownRole(role: unknown): string {
  return `The message has the role ${JSON.stringify(role)}. Known are ${[...ROLES].join(", ")}.`;
}

/** The messages of the AI SDK, and those that it sends to a model: these have parts only, never a text. */
export const aiSdkView: MessageView<AiSdkMessage> = {
  read: (message) => {
    if (!ROLES.has(message.role)) throw new Error(unknownRole(message.role));
    if (typeof message.content === "string") return { message: onlyMessage(message) };
    if (!Array.isArray(message.content)) return { opaqueTokens: opaqueTokensOf([message]) };
    return message.role === "tool" || message.role === "assistant"
      ? readParts(message, message.content)
      : { message: onlyMessage(message) };
  },
  summary: (text) => ({ role: "user", content: [{ type: "text", text }] }),
  shorten: (message, outputs) => ({
    ...message,
    content: partsOf(message).map((part) => shortened(part, outputs)),
  }),
};

const ONLY_SENT = { rkat: { onlySent: true } } as const;

/** A message of the model that is only sent. The mark tells it from what the model answered. */
export function onlySent(content: readonly object[]) {
  return { role: "assistant", content, providerOptions: ONLY_SENT } as AiSdkMessage;
}

export const AI_SDK_ROLES: HostRoles<AiSdkMessage> = {
  userText: ({ role, content }) => (role === "user" ? textOf(content) : undefined),
  answer: onlySent([{ type: "text", text: ANSWER }]),
};

/** Whether a message is only sent. AI SDK 7 offers again the messages that a step was sent. */
export function isOnlySent(message: AiSdkMessage): boolean {
  const { providerOptions } = message as { readonly providerOptions?: Partial<typeof ONLY_SENT> };
  return providerOptions?.rkat?.onlySent === true;
}

/** Messages as each provider reads them; `undefined`: nothing is left of one. */
const readable = new WeakMap<AiSdkMessage, Map<string | undefined, AiSdkMessage | undefined>>();

/**
 * A message as a provider reads it: without what another one compacted, signed, encrypted, or ran by itself. After a change
 * of provider that stands for nothing any more: the history is compacted from what the host offers, as if it had never come.
 */
export function readableBy(
  provider: string | undefined,
  message: AiSdkMessage,
): AiSdkMessage | undefined {
  if (message.role !== "assistant") return message;
  const parts = partsOf(message);
  const isOthers = (part: Part) => areApart(onlyReaderOf(part), provider);
  if (!parts.some(isOthers)) return message;
  const known = readable.get(message) ?? new Map<string | undefined, AiSdkMessage | undefined>();
  readable.set(message, known);
  if (!known.has(provider)) {
    const content = parts.filter((part) => !isOthers(part));
    known.set(provider, content.length > 0 ? { ...message, content } : undefined);
  }
  return known.get(provider);
}

/** Ids of the calls that a provider runs by itself, which not every version of the AI SDK marks as its own. */
const OWN_CALLS = [
  [/^(?:srv|mcp)toolu_/, "anthropic"],
  [/^(?:ws|fs|ci|ig|mcp)_/, "openai"],
] as const;

/** The provider that alone reads a part of an answer. */
function onlyReaderOf(part: Part): string | undefined {
  const { type, kind = "", toolCallId = "", providerExecuted } = part;
  if (type === "custom") return kind.split(".")[0];
  const isOwn = type === "tool-result" || (type === "tool-call" && providerExecuted);
  if (!isOwn && type !== "reasoning" && type !== "reasoning-file") return undefined;
  const [named] = Object.keys(part.providerOptions ?? {});
  return named ?? OWN_CALLS.find(([ids]) => ids.test(toolCallId))?.[1];
}

function textOf(content: AiSdkMessage["content"]): string {
  if (typeof content === "string") return content;
  const [first] = content as readonly { readonly text?: unknown }[];
  return typeof first?.text === "string" ? first.text : "";
}

function onlyMessage(message: AiSdkMessage) {
  const [own] = fromModelMessages([message]);
  if (!own) throw new Error("The message is empty.");
  return own;
}

function partsOf({ content }: AiSdkMessage): readonly Part[] {
  return typeof content === "string" ? [] : content;
}

/** Approvals, and tools that a provider ran by itself, stay as they are with the message that they are in. */
function readParts(message: AiSdkMessage, parts: readonly Part[]): ViewedMessage {
  const known = parts.filter((part) => isKnown(part, message.role, parts));
  const opaque = parts.filter((part) => !known.includes(part));
  const media = known.flatMap(mediaOf);
  const opaqueTokens = opaqueTokensOf([...opaque, ...media]);
  const readable = known.length > 0 || message.role === "assistant";
  return {
    ...(readable ? { message: onlyMessage({ ...message, content: known.map(textual) }) } : {}),
    ...(opaqueTokens > 0 ? { opaqueTokens } : {}),
    ownCalls: opaque.flatMap(({ type, toolCallId }) =>
      /^tool-(?:call|result)$/.test(type) ? (toolCallId ?? []) : [],
    ),
    ...(parts.some(isProviderCompaction) ? { stays: true } : {}),
  };
}

function isKnown(
  { type, toolCallId, providerExecuted }: Part,
  role: string,
  parts: readonly Part[],
) {
  if (role === "tool") return type === "tool-result";
  if (type === "text" || type === "reasoning") return true;
  if (type !== "tool-call" || providerExecuted) return false;
  return !parts.some((part) => part.type === "tool-result" && part.toolCallId === toolCallId);
}

type Item = { readonly type: string; readonly text?: string };

function itemsOf({ output }: Part): readonly Item[] {
  return output?.type === "content" && Array.isArray(output.value) ? output.value : [];
}

/** The images and files that a tool returned besides text. */
function mediaOf(part: Part): readonly Item[] {
  return itemsOf(part).filter(({ type }) => type !== "text");
}

/** A tool result of several parts as the text in it. */
function textual(part: Part): Part {
  if (part.output?.type !== "content") return part;
  const value = itemsOf(part)
    .flatMap(({ type, text }) => (type === "text" ? [text ?? ""] : []))
    .join("\n");
  return { ...part, output: { type: "text", value } };
}

function shortened(part: Part, outputs: ReadonlyMap<string, string>): Part {
  const value = part.type === "tool-result" ? outputs.get(part.toolCallId ?? "") : undefined;
  if (value === undefined) return part;
  const type = /^error|denied$/.test(part.output?.type ?? "") ? "error-text" : "text";
  return { ...part, output: { type, value } };
}
