import { jsonText } from "./json-values.ts";

/**
 * One entry of a session's history.
 *
 * Messages and events are data. They have the same shape in the code, in the log, in files and on
 * every wire, so nothing converts them.
 */
export type Message =
  | SystemMessage
  | UserMessage
  | AssistantMessage
  | BlockAssistantMessage
  | ToolResultsMessage;

export interface SystemMessage {
  readonly role: "system";
  readonly content: string;
}

export interface UserMessage {
  readonly role: "user";
  readonly content: string | readonly ContentBlock[];
  /** Set on a compaction summary. A summary is not a turn. */
  readonly kind?: "compaction_summary";
}

/** The short form of an assistant message: text and calls, no reasoning. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: string;
  readonly tool_calls?: readonly ToolUse[];
}

/** A model's answer, block by block, in order. */
export interface BlockAssistantMessage {
  readonly role: "block_assistant";
  readonly blocks: readonly AssistantBlock[];
  readonly stop_reason: StopReason;
}

/** The results of all tool calls of the previous assistant message, in the order of the calls. */
export interface ToolResultsMessage {
  readonly role: "tool_results";
  readonly results: readonly ToolResult[];
}

export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  /** `data` is base64, or an http address that the provider fetches. */
  | { readonly type: "image"; readonly media_type: string; readonly data: string }
  /** A document or a recording, such as `application/pdf`. */
  | {
      readonly type: "file";
      readonly media_type: string;
      readonly data: string;
      readonly filename?: string;
    };

export type AssistantBlock =
  | { readonly block_type: "text"; readonly data: { text: string; meta?: ProviderMeta } }
  | { readonly block_type: "reasoning"; readonly data: { text: string; meta?: ProviderMeta } }
  | { readonly block_type: "tool_use"; readonly data: ToolUse };

export interface ToolUse {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly meta?: ProviderMeta;
}

export interface ToolResult {
  readonly tool_use_id: string;
  readonly content: string;
  readonly is_error: boolean;
}

/** Data that a provider wants back unchanged with a block, such as the signature of reasoning. */
export type ProviderMeta = { readonly provider: string } & { readonly [key: string]: unknown };

export const STOP_REASONS = [
  "end_turn",
  "tool_use",
  "max_tokens",
  "stop_sequence",
  "content_filter",
  "cancelled",
  /** The provider paused in the middle of an answer. The next call continues it. */
  "pause_turn",
] as const;

export type StopReason = (typeof STOP_REASONS)[number];

/** The text of a user's content, without images. */
export function contentText(content: UserMessage["content"]): string {
  if (typeof content === "string") return content;
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

/**
 * The text by which memory finds a message; empty when there is none.
 *
 * It has what users and models said to each other, but no system prompts, reasoning, tool calls,
 * tool results or summaries.
 */
export function indexableText(message: Message): string {
  switch (message.role) {
    case "user":
      return message.kind === "compaction_summary" ? "" : contentText(message.content);
    case "assistant":
      return message.content;
    case "block_assistant":
      return message.blocks
        .flatMap((block) => (block.block_type === "text" ? [block.data.text] : []))
        .join("\n");
    default:
      return "";
  }
}

/** The tool calls that a message makes, in order. */
export function toolUses(message: Message): readonly ToolUse[] {
  if (message.role === "assistant") return message.tool_calls ?? [];
  if (message.role !== "block_assistant") return [];
  return message.blocks.flatMap((block) => (block.block_type === "tool_use" ? [block.data] : []));
}

/**
 * Whether a tool searches memory or logs: `memory_search`, `search_project_history`, and the same with a host's
 * prefix, such as `mcp__rkat__memory_search`. Its calls and results only repeat what is stored already.
 */
export function isRecall(tool: string): boolean {
  return /(?:^|[^A-Za-z0-9])(?:memory_search|search_project_history)$/.test(tool);
}

/** The tool results that a message carries. */
export function toolResults(message: Message): readonly ToolResult[] {
  return message.role === "tool_results" ? message.results : [];
}

/**
 * What a message says, as `ForgottenTexts` compares it: its text, each block of the text when it has
 * several, and what tools returned.
 */
export function messageTexts(message: Message): readonly string[] {
  const blocks =
    message.role === "block_assistant"
      ? message.blocks.flatMap((block) => (block.block_type === "text" ? [block.data.text] : []))
      : [];
  return [
    indexableText(message),
    ...(blocks.length > 1 ? blocks : []),
    ...toolResults(message).map(({ content }) => content),
  ].filter((text) => text.trim() !== "");
}

/** All that a message says: texts, calls, results. */
export function wordsOf(message: Message): string {
  if (message.role === "system") return message.content;
  const said = message.role === "user" ? contentText(message.content) : indexableText(message);
  const calls = toolUses(message).map(({ name, args }) => `${name} ${jsonText(args)}`);
  const results = toolResults(message).map(({ content }) => content);
  return [said, ...calls, ...results].filter((text) => text !== "").join("\n");
}

export function isSummary(message: Message): boolean {
  return message.role === "user" && message.kind === "compaction_summary";
}

/** The start of each summary message. The specification's text. */
export const SUMMARY_PREFIX =
  "[Context compacted] A previous context produced the following summary of work so far. The current tool and session state is preserved. Use this summary to continue without duplicating work:\n\n";

/** The message that a compaction puts in the place of what it discarded. */
export function summaryMessage(summary: string): UserMessage {
  return { role: "user", kind: "compaction_summary", content: SUMMARY_PREFIX + summary };
}

/** Stands in the place of a forgotten text. */
export const FORGOTTEN = "[forgotten]";

/** Whether a text has nothing but the marker. */
export function isForgotten(text: string): boolean {
  return text.includes(FORGOTTEN) && text.replaceAll(FORGOTTEN, "").trim() === "";
}
