import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import type {
  AssistantBlock,
  AssistantMessage,
  BlockAssistantMessage,
  Message,
  ToolResult,
  UserMessage,
} from "../core/message.ts";
import { wellFormed } from "../text/well-formed.ts";
import { fromMeta, type ModelFamily } from "./model-family.ts";

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/**
 * Converts a history into a prompt that every provider accepts:
 *
 *     S U U A S T U            →   S+S  U+U  A  T  U
 *     S A(call) U T            →   S    U    A(call) T U
 *
 * - All system messages become one, at the start.
 * - User and assistant alternate, with the user first and last. Adjacent messages of one role are joined.
 * - Blank text is left out.
 * - The results of a message's calls follow it directly, one for each call. A failure has a text.
 * - No two calls have the same id, and none has a name that the provider gives no tool.
 * - Parts that another model family signed are left out.
 * - Half of a character, as a tool that cuts texts leaves it, becomes U+FFFD. Anthropic takes it for broken JSON.
 */
export function toPrompt(given: readonly Message[], family: ModelFamily): LanguageModelV4Prompt {
  const messages = given.map(withoutHalves);
  const turns = new PromptTurns(family);
  for (const message of messages) turns.add(message);
  const system = messages.flatMap((message) =>
    message.role === "system" && isText(message.content) ? [message.content] : [],
  );
  return [
    ...(system.length > 0 ? [{ role: "system" as const, content: system.join("\n\n") }] : []),
    ...turns.finish(messages.at(-1)),
  ];
}

/** Messages without halves of characters. Each is looked through once, and not for each request. */
const WITHOUT_HALVES = new WeakMap<Message, Message>();

function withoutHalves(message: Message): Message {
  const known = WITHOUT_HALVES.get(message) ?? wellFormed(message);
  WITHOUT_HALVES.set(message, known);
  return known;
}

/** User messages for places where a provider requires one. */
const SILENT_START = "(The conversation starts with the assistant.)";
const SILENT_END = "Continue.";
const NO_RESULT = "No result was recorded for this call.";
const NO_REASON = "The tool failed, and did not say why.";

class PromptTurns {
  readonly #family: ModelFamily;
  readonly #prompt: LanguageModelV4Message[] = [];
  /** Ids of earlier calls. Some servers reuse ids, and others refuse reused ids. */
  readonly #callIds = new Set<string>();
  /** Calls without a result yet, and the user's messages after them. */
  #open: OpenCall[] = [];
  #results = new Map<string, ToolResult>();
  #meanwhile: UserPart[] = [];

  constructor(family: ModelFamily) {
    this.#family = family;
  }

  add(message: Message): void {
    switch (message.role) {
      case "system":
        break;
      case "user":
        this.#user(userParts(message));
        break;
      case "tool_results":
        for (const result of message.results) this.#results.set(result.tool_use_id, result);
        break;
      default:
        this.#assistant(blocksOf(message));
    }
  }

  finish(last: Message | undefined): LanguageModelV4Message[] {
    this.#answerCalls();
    const end = this.#prompt.at(-1)?.role;
    if (end === undefined || (end === "assistant" && !isPaused(last, this.#family))) {
      this.#user([{ type: "text", text: SILENT_END }]);
    }
    return this.#prompt;
  }

  #user(parts: UserPart[]): void {
    if (parts.length === 0) return;
    if (this.#open.length > 0) {
      join(this.#meanwhile, parts);
      return;
    }
    const last = this.#prompt.at(-1);
    if (last?.role === "user") join(last.content, parts);
    else this.#prompt.push({ role: "user", content: parts });
  }

  #assistant(blocks: readonly AssistantBlock[]): void {
    const parts = assistantParts(blocks, this.#family);
    if (parts.length === 0) return;
    const calls = blocks.flatMap((block) => (block.block_type === "tool_use" ? [block.data] : []));
    if (this.#results.size > 0 || this.#meanwhile.length > 0) this.#answerCalls();
    if (this.#prompt.length === 0) this.#user([{ type: "text", text: SILENT_START }]);
    for (const part of parts.filter((part) => part.type === "tool-call")) {
      part.toolCallId = this.#uniqueId(part.toolCallId);
      const call = calls.shift();
      if (call) this.#open.push({ id: call.id, part });
    }
    const last = this.#prompt.at(-1);
    if (last?.role === "assistant") join(last.content, parts);
    else this.#prompt.push({ role: "assistant", content: parts });
  }

  #answerCalls(): void {
    const content = this.#open.map(({ id, part }) => resultPart(part, this.#results.get(id)));
    if (content.length > 0) this.#prompt.push({ role: "tool", content });
    this.#open = [];
    this.#results = new Map();
    this.#user(this.#meanwhile.splice(0));
  }

  #uniqueId(id: string): string {
    let unique = id;
    for (let count = 2; this.#callIds.has(unique); count += 1)
      unique = numbered(id, count, this.#family);
    this.#callIds.add(unique);
    return unique;
  }
}

/** A call in the prompt, with its id in the history. */
interface OpenCall {
  readonly id: string;
  readonly part: LanguageModelV4ToolCallPart;
}

/** Anthropic continues an unfinished answer of its own without a user message. */
function isPaused(last: Message | undefined, family: ModelFamily): boolean {
  if (family.metaProvider !== "anthropic" || last?.role !== "block_assistant") return false;
  return last.stop_reason === "pause_turn";
}

function userParts({ content }: UserMessage): UserPart[] {
  if (typeof content === "string") return textParts(content);
  return content.flatMap((block): UserPart[] => {
    if (block.type === "text") return textParts(block.text);
    const { data, media_type: mediaType } = block;
    const filename = block.type === "file" ? block.filename : undefined;
    const named = filename === undefined ? {} : { filename };
    const url = /^https?:/.test(data) ? URL.parse(data) : null;
    return [
      {
        type: "file",
        mediaType,
        ...named,
        data: url ? { type: "url", url } : { type: "data", data },
      },
    ];
  });
}

function textParts(text: string): UserPart[] {
  return isText(text) ? [{ type: "text", text }] : [];
}

export function blocksOf(
  message: AssistantMessage | BlockAssistantMessage,
): readonly AssistantBlock[] {
  if (message.role === "block_assistant") return message.blocks;
  return [
    { block_type: "text", data: { text: message.content } },
    ...(message.tool_calls ?? []).map((data) => ({ block_type: "tool_use" as const, data })),
  ];
}

function resultPart(
  { toolCallId, toolName }: LanguageModelV4ToolCallPart,
  result: ToolResult | undefined,
): LanguageModelV4ToolResultPart {
  const { content, is_error } = result ?? { content: NO_RESULT, is_error: true };
  const type = is_error ? ("error-text" as const) : ("text" as const);
  const output = { type, value: is_error && !isText(content) ? NO_REASON : content };
  return { type: "tool-result", toolCallId, toolName, output };
}

/** Appends parts, with a blank line between two texts, because some servers join texts without one. */
function join<Part extends { readonly type: string }>(parts: Part[], more: readonly Part[]): void {
  const [first, ...rest] = more;
  if (first === undefined) return;
  const meet = parts.at(-1)?.type === "text" && first.type === "text" && "text" in first;
  const isSigned = "providerOptions" in first;
  parts.push(meet && !isSigned ? { ...first, text: `\n\n${first.text}` } : first, ...rest);
}

function isText(text: string): boolean {
  return text.trim() !== "";
}

type AssistantPart =
  | LanguageModelV4TextPart
  | LanguageModelV4ReasoningPart
  | LanguageModelV4ToolCallPart;

/**
 * The parts of an assistant message that are sent. Blank text is left out, and so is
 * reasoning that another model family signed, or that nothing follows (as in an answer
 * that was cut off).
 */
function assistantParts(blocks: readonly AssistantBlock[], family: ModelFamily): AssistantPart[] {
  const parts = blocks
    .filter((block) => isSent(block, family))
    .map((block) => toPart(block, family));
  return parts.slice(0, parts.findLastIndex((part) => part.type !== "reasoning") + 1);
}

function isSent(block: AssistantBlock, family: ModelFamily): boolean {
  if (block.block_type === "tool_use") return true;
  const { text, meta } = block.data;
  const isBlank = text.trim() === "";
  const isOwn = meta?.provider === family.metaProvider;
  if (block.block_type === "text") {
    // Gemini signs empty texts, and wants them back.
    return !isBlank || (isOwn && text === "" && "thoughtSignature" in meta);
  }
  if (!isOwn) return false;
  return family.unsignedReasoning ? !isBlank : Object.keys(meta).length > 1;
}

function toPart({ block_type, data }: AssistantBlock, family: ModelFamily): AssistantPart {
  const options = fromMeta(family, data.meta);
  if (block_type !== "tool_use") return { type: block_type, text: data.text, ...options };
  const { id, name, args } = data;
  const [toolCallId, toolName] = [callId(id, family), callName(name, family)];
  return { type: "tool-call", toolCallId, toolName, input: toolInput(args), ...options };
}

/** Anthropic and OpenAI refuse some ids of other providers (`functions.read:0`), so these are changed. */
function callId(id: string, { metaProvider }: ModelFamily): string {
  const isStrict = metaProvider === "anthropic" || metaProvider === "open_ai";
  if (!isStrict || /^[\w-]{1,64}$/.test(id)) return id;
  return id.replace(/[^\w-]/g, "_").slice(-64) || "call";
}

/** Mistral takes no id that is longer than its own. */
function numbered(id: string, count: number, family: ModelFamily): string {
  if (!/^[a-z0-9]{9}$/i.test(id)) return callId(`${id}_${count}`, family);
  return `${id.slice(0, -String(count).length)}${count}`;
}

/** The names that a tool may have, as the refusals of the providers say it. */
const NAMES: Readonly<Record<string, RegExp>> = {
  anthropic: /^[\w-]{1,128}$/,
  open_ai: /^[\w-]{1,64}$/,
  gemini: /^[A-Za-z_][\w.:-]{0,63}$/,
};
/** DeepSeek, Mistral, Amazon Bedrock, and what a gateway leads to. */
const ANY_NAME = /^[\w-]{1,64}$/;

/** A model makes up names (`functions.read`), and other agents' sessions have theirs: a provider refuses a history with them. */
function callName(name: string, { metaProvider }: ModelFamily): string {
  const isTaken = (NAMES[metaProvider] ?? ANY_NAME).test(name);
  return isTaken ? name : `call_${name.replace(/[^\w-]/g, "_").slice(0, 59)}`;
}

/** Arguments that are not an object, because the model's JSON was invalid, are wrapped in one. */
function toolInput(args: unknown): Record<string, unknown> {
  if (args === null || args === undefined) return {};
  if (typeof args === "object" && !Array.isArray(args)) return args as Record<string, unknown>;
  return { invalid_arguments: args };
}
