import { isDeepStrictEqual } from "node:util";
import { SessionError } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import { SUMMARY_PREFIX } from "../core/message.ts";
import { looksRecalled } from "../core/recalled.ts";
import { utf8Bytes } from "../core/tokens.ts";

/**
 * Refuses a value that is no list of messages. `name` is the host's name for it.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function requireMessages(name: string, messages: unknown): void {
  if (!Array.isArray(messages)) throw notMessages(`${name} is ${kindOf(messages)}, not an array.`);
  const wrong = messages.findIndex((each) => typeof each !== "object" || each === null);
  if (wrong < 0) return;
  throw notMessages(`${name}[${wrong}] is ${kindOf(messages[wrong])}, not a message.`);
}

/** Whether two messages say the same. A host may offer another object, with or without fields that have no value. */
export function isAlike(one: object, other: object | undefined): boolean {
  if (one === other || isDeepStrictEqual(one, other)) return true;
  return other !== undefined && jsonText(one) === jsonText(other);
}

function notMessages(message: string): SessionError {
  const hint = "Pass the messages of the conversation, oldest first.";
  return new SessionError("INVALID_PARAMS", { message, hint });
}

function kindOf(value: unknown): string {
  return value === null || value === undefined ? String(value) : `a ${typeof value}`;
}

/** A part with a file in it counts as an image of middling size. */
const FILE_TOKENS = 1_000;
const FILE_BYTES_MIN = 8_000;
const FILE = /"type":"[a-z_-]*(?:file|image|media|audio|video|document|screenshot)/;

/** Estimated tokens of parts of a host's message that rkat does not read: a quarter of the bytes of their JSON. */
export function opaqueTokensOf(parts: readonly unknown[]): number {
  return parts.reduce<number>((sum, part) => sum + tokensOf(part), 0);
}

function tokensOf(part: unknown): number {
  const json = jsonText(part);
  const bytes = utf8Bytes(json);
  return bytes >= FILE_BYTES_MIN && FILE.test(json) ? FILE_TOKENS : Math.ceil(bytes / 4);
}

/** Estimated tokens of instructions and of the definitions of tools, as they are in a request. */
export function definedTokens(...parts: readonly unknown[]): number {
  return Math.ceil(jsonText(parts).length / 4);
}

/**
 * Whether a part stands for all that was said before it, in a form that only its provider reads: OpenAI's item of the type
 * `compaction`, which the AI SDK has as a part of its own kind, and Anthropic's block, which it has as a text with a mark.
 */
export function isProviderCompaction(part: unknown): boolean {
  if (!isObject(part)) return false;
  const { type, kind, providerOptions, providerMetadata } = part;
  if ([type, kind].some((name) => typeof name === "string" && COMPACTION.test(name))) return true;
  const marks = [providerOptions, providerMetadata].flatMap((all) =>
    isObject(all) ? Object.values(all) : [],
  );
  return marks.some((mark) => isObject(mark) && COMPACTION.test(String(mark.type)));
}

const COMPACTION = /(?:^|[._-])compaction$/;

/** The facts about a host's messages that `alternating` needs. */
export interface HostRoles<HostMessage> {
  /** The text of a user's message, or its beginning; `undefined` for other messages. */
  userText(message: HostMessage): string | undefined;
  /** A message of the model that says `ANSWER`. */
  readonly answer: HostMessage;
}

export const ANSWER = "Noted.";

/** Room for the answers of a request, which no window counts. */
export const ANSWERS_TOKENS = 50;

/**
 * Puts an answer between user messages that a compaction brought together. Templates of many local
 * servers refuse two in a row:
 *
 *     C U A     →   C (Noted.) U A      C is the summary
 *
 * Records of memory stand before a user message too. It depends on nothing but the messages, so a request
 * begins as the one before it did. A history with neither stays as it is. The answers are only sent: no host keeps them.
 */
export function alternating<HostMessage>(
  messages: readonly HostMessage[],
  { userText, answer }: HostRoles<HostMessage>,
): readonly HostMessage[] {
  const texts = messages.map(userText);
  const isCompacted = texts.some((text) => text?.startsWith(SUMMARY_PREFIX));
  const isAnswered = (index: number) => {
    const [before, text] = [texts[index - 1], texts[index]];
    if (before === undefined || text === undefined) return false;
    return isCompacted || looksRecalled(before) || looksRecalled(text);
  };
  if (!texts.some((_, index) => isAnswered(index))) return messages;
  return messages.flatMap((message, index) => (isAnswered(index) ? [answer, message] : [message]));
}

/** A prompt that a person gives a coding agent. */
export interface AgentPrompt {
  readonly sessionId: string;
  /** The project's folder. */
  readonly folder: string;
  readonly prompt: string;
  /** The agent's window has what was said from then on, ISO 8601. Without it nothing has left. */
  readonly windowFrom: string | undefined;
  /** The size of the agent's window, where it says that. */
  readonly window?: WindowSize | undefined;
}

/** Tokens of an agent's window and of what is in it. */
export interface WindowSize {
  /** It is compacted at so many. */
  readonly threshold: number;
  /** Those of the next request without the prompt. */
  readonly used: number;
  /** Those of the records in it. */
  readonly recalled: number;
}

/** Records of memory for a prompt. */
export interface PromptRecords {
  readonly text: string;
  /** Those of earlier prompts leave: beside them these have no room. */
  readonly replaces: boolean;
}
