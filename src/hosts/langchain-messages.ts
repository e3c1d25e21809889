import { given } from "../core/fields.ts";
import type { AssistantBlock, ContentBlock, Message } from "../core/message.ts";
import type { MessageView, ViewedMessage } from "../window/message-view.ts";
import { ANSWER, type HostRoles, isProviderCompaction, opaqueTokensOf } from "./host-messages.ts";
import { areApart } from "./provider-summary.ts";

/** The parts of a message of LangChain that rkat reads. */
export interface LangChainMessage {
  readonly type: string;
  readonly id?: string | undefined;
  /** The name of who wrote a person's message. */
  readonly name?: string | undefined;
  readonly content: unknown;
  readonly tool_calls?: readonly LangChainToolCall[];
  readonly tool_call_id?: string;
  readonly status?: string;
  readonly additional_kwargs?: Readonly<Record<string, unknown>>;
  readonly usage_metadata?: { readonly input_tokens?: number } | undefined;
  readonly response_metadata?: Readonly<Record<string, unknown>>;
  readonly lc_kwargs?: object;
}

export interface LangChainToolCall {
  readonly id?: string;
  readonly name: string;
  readonly args: unknown;
}

type Block = Readonly<Record<string, unknown>>;

/** LangChain's own mark of a summary, which user interfaces and tracers know. */
const SUMMARY_SOURCE = "summarization";

export const langChainView: MessageView<LangChainMessage> = {
  read(message) {
    switch (message.type) {
      case "system":
        return { message: { role: "system", content: textOf(message.content) } };
      case "human":
        return userMessage(message);
      case "ai":
        return answer(message);
      case "tool":
        return toolResult(message);
      case "generic":
      case "function":
        return { opaqueTokens: opaqueTokensOf([message.content]) };
      default:
        throw new Error(
          `The LangChain message has the type ${JSON.stringify(message.type)}. Known are system, human, ai, tool, generic and function.`,
        );
    }
  },
  summary: (content) =>
    ({
      type: "human",
      content,
      additional_kwargs: { lc_source: SUMMARY_SOURCE },
    }) satisfies LangChainMessage,
  shorten: (message, outputs) =>
    changed(message, { content: outputs.get(message.tool_call_id ?? "") ?? message.content }),
};

/** A copy of the same class. */
function changed(message: LangChainMessage, fields: Partial<LangChainMessage>): LangChainMessage {
  const copy = Object.create(Object.getPrototypeOf(message)) as LangChainMessage;
  return Object.assign(copy, message, fields, { lc_kwargs: { ...message.lc_kwargs, ...fields } });
}

/** Answers without what only their own provider reads, by the answer; and back. */
const plainAnswers = new WeakMap<LangChainMessage, LangChainMessage | undefined>();
const wholeAnswers = new WeakMap<LangChainMessage, LangChainMessage>();

/**
 * A message as a provider reads it: of another provider's answer the text and the calls. The agent's state keeps it whole,
 * for when the provider changes back. `undefined`: nothing is left of it.
 */
export function readableBy(
  provider: string | undefined,
  message: LangChainMessage,
): LangChainMessage | undefined {
  const { type, response_metadata = {} } = message;
  const { model_provider: maker } = response_metadata;
  if (type !== "ai" || typeof maker !== "string" || !areApart(maker, provider)) return message;
  if (!plainAnswers.has(message)) plainAnswers.set(message, plainAnswer(message));
  return plainAnswers.get(message);
}

function plainAnswer(message: LangChainMessage): LangChainMessage | undefined {
  const { content, tool_calls = [], response_metadata } = message;
  const text = blocksOf(content).flatMap((block) =>
    block.type === "text" ? [{ type: "text", text: String(block.text) }] : [],
  );
  if (text.length === 0 && tool_calls.length === 0) return undefined;
  const plain = changed(message, {
    content: typeof content === "string" ? content : text,
    additional_kwargs: {},
    // The name tells a provider that its own items are in the message.
    response_metadata: { ...response_metadata, model_provider: undefined, output: undefined },
  });
  wholeAnswers.set(plain, message);
  return plain;
}

/** The messages with a result for each call. A run that is stopped between its calls leaves some without, which providers refuse. */
export function allAnswered(messages: readonly LangChainMessage[]): readonly LangChainMessage[] {
  return messages.flatMap((message, at) => {
    const open = new Map((message.tool_calls ?? []).map((call) => [call.id, call]));
    for (let next = at + 1; open.size > 0 && messages[next]?.type === "tool"; next += 1) {
      open.delete(messages[next]?.tool_call_id);
    }
    return [message, ...[...open.values()].map(stoppedResult)];
  });
}

/** By their calls, so that a window knows them again. */
const stoppedResults = new WeakMap<LangChainToolCall, LangChainMessage>();

function stoppedResult(call: LangChainToolCall): LangChainMessage {
  const content = "The run was stopped before this call had a result.";
  const made = { type: "tool", content, tool_call_id: call.id ?? "", status: "error" };
  const result = stoppedResults.get(call) ?? made;
  stoppedResults.set(call, result);
  return result;
}

/** The agent's own message. */
export function wholeAnswer(message: LangChainMessage): LangChainMessage {
  return wholeAnswers.get(message) ?? message;
}

export const LANG_CHAIN_ROLES: HostRoles<LangChainMessage> = {
  userText: ({ type, content }) => (type === "human" ? textOf(content) : undefined),
  answer: { type: "ai", content: ANSWER },
};

function userMessage({ content, additional_kwargs, name }: LangChainMessage): ViewedMessage {
  if (additional_kwargs?.lc_source === SUMMARY_SOURCE) {
    return { message: { role: "user", kind: "compaction_summary", content: textOf(content) } };
  }
  const speaker = given({ speaker: name });
  if (typeof content === "string") return { message: { role: "user", content }, ...speaker };
  const blocks = blocksOf(content);
  const read = blocks.flatMap((block) => contentBlock(block) ?? []);
  return {
    message: { role: "user", content: read },
    ...speaker,
    opaqueTokens: opaqueTokensOf(blocks.filter((block) => !contentBlock(block))),
  };
}

function contentBlock(block: Block): ContentBlock | undefined {
  if (block.type === "text") return { type: "text", text: String(block.text) };
  const url = block.type === "image_url" ? addressOf(block.image_url) : undefined;
  const [, media_type = "", data = ""] = /^data:([^;]+);base64,(.*)$/s.exec(url ?? "") ?? [];
  if (data !== "") return { type: "image", media_type, data };
  const { mime_type = block.mimeType, data: own } = block;
  if (block.type !== "image" || typeof own !== "string") return undefined;
  return { type: "image", media_type: String(mime_type ?? "image/png"), data: own };
}

function addressOf(image: unknown): string | undefined {
  if (typeof image === "string") return image;
  const { url } = (image ?? {}) as { readonly url?: unknown };
  return typeof url === "string" ? url : undefined;
}

/** Blocks that say again what `tool_calls` says. */
const CALL_BLOCK = /^(?:tool_use|tool_call|function_call|input_json_delta)$/;

function answer({ content, tool_calls = [], additional_kwargs }: LangChainMessage): ViewedMessage {
  const blocks = blocksOf(content).filter(({ type }) => !CALL_BLOCK.test(String(type)));
  const said = blocks.flatMap((block) => answerBlock(block) ?? []);
  const calls = tool_calls.map(
    ({ id = "", name, args }): AssistantBlock => ({
      block_type: "tool_use",
      data: { id, name, args },
    }),
  );
  const message: Message = {
    role: "block_assistant",
    blocks: [...said, ...calls],
    stop_reason: calls.length > 0 ? "tool_use" : "end_turn",
  };
  const { tool_calls: _, ...hidden } = additional_kwargs ?? {};
  const unread = blocks.filter((block) => !answerBlock(block));
  const opaqueTokens = opaqueTokensOf([...unread, ...Object.values(hidden)]);
  return {
    message,
    opaqueTokens,
    ownCalls: unread.flatMap(callIn),
    ...(blocks.some(isProviderCompaction) ? { stays: true } : {}),
  };
}

/** The id of the call that a provider runs by itself, in a block with the call or with its result. */
function callIn({ type, id, tool_use_id, toolCallId }: Block): readonly string[] {
  const call = /^server_tool_(?:use|call)$/.test(String(type)) ? id : (tool_use_id ?? toolCallId);
  return typeof call === "string" ? [call] : [];
}

function answerBlock(block: Block): AssistantBlock | undefined {
  if (block.type === "text") return { block_type: "text", data: { text: String(block.text) } };
  const reasoning = block.thinking ?? block.reasoning;
  if (typeof reasoning !== "string") return undefined;
  return { block_type: "reasoning", data: { text: reasoning } };
}

function toolResult({ tool_call_id = "", content, status }: LangChainMessage): ViewedMessage {
  const unread = blocksOf(content).filter(({ type }) => type !== "text");
  const result = { tool_use_id: tool_call_id, content: textOf(content) };
  return {
    message: { role: "tool_results", results: [{ ...result, is_error: status === "error" }] },
    opaqueTokens: opaqueTokensOf(unread),
  };
}

function blocksOf(content: unknown): readonly Block[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.map((block) =>
    typeof block === "string" ? { type: "text", text: block } : block,
  );
}

export function textOf(content: unknown): string {
  return blocksOf(content)
    .flatMap(({ type, text }) => (type === "text" ? [String(text)] : []))
    .join("\n");
}
