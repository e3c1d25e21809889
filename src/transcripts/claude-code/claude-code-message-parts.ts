import { given } from "../../core/fields.ts";
import {
  type AssistantBlock,
  type ContentBlock,
  summaryMessage,
  type ToolResult,
} from "../../core/message.ts";
import type { ImportedMessage, ImportNotes } from "../imported.ts";
import {
  contentText,
  type Json,
  listOf,
  nameOf,
  objectOf,
  textOf,
  timeOf,
} from "../json-fields.ts";
import type { LinePlace } from "./line-graph.ts";
import { type PromptText, promptText } from "./prompt-text.ts";

/** A line of the conversation. */
export interface PlacedLine {
  readonly value: Json;
  readonly line: number;
  readonly place: LinePlace;
}

/** The parts of messages that a line has: none, one, or a result and a text. */
export function messageParts(found: PlacedLine, notes: ImportNotes): readonly ImportedMessage[] {
  const { value } = found;
  switch (value.type) {
    case "user":
      return userParts(found);
    case "assistant":
      return answerParts(found, notes);
    case "attachment":
      return queuedParts(found);
    default:
      return [];
  }
}

function userParts(found: PlacedLine): readonly ImportedMessage[] {
  const { value, place } = found;
  if (value.isCompactSummary === true) return [summaryPart(found)];
  if (value.isVisibleInTranscriptOnly === true) return [];
  if (value.isMeta === true && objectOf(value.origin).kind !== "human") return [];
  const { content } = objectOf(value.message);
  const blocks = listOf(content).map(objectOf);
  const results = blocks.filter(({ type }) => type === "tool_result");
  const rest =
    typeof content === "string" ? content : blocks.filter(({ type }) => type !== "tool_result");
  const parts = results.length > 0 ? [resultPart(found, results)] : [];
  const prompt = promptPart(found, rest, parts.length > 0 ? ":text" : "");
  return prompt
    ? [...parts, prompt]
    : parts.map((part) => ({ ...part, ...groupOf(place, "results") }));
}

/** Prompts typed while a tool ran. */
function queuedParts(found: PlacedLine): readonly ImportedMessage[] {
  const { type, prompt, origin, commandMode = "prompt" } = objectOf(found.value.attachment);
  if (type !== "queued_command" || commandMode !== "prompt" || isPrograms(origin)) return [];
  const part = promptPart(found, prompt, "");
  return part ? [part] : [];
}

function promptPart(
  found: PlacedLine,
  content: unknown,
  suffix: string,
): ImportedMessage | undefined {
  const { value, place, line } = found;
  if (value.promptSource === "system" || isPrograms(value.origin)) return undefined;
  const texts =
    typeof content === "string" ? [content] : listOf(content).map((block) => contentText([block]));
  const typed = texts.flatMap((text) => promptText(text) ?? []);
  if (typed.length === 0) return undefined;
  return {
    sourceId: sourceId(nameOf(value.uuid) ?? `${textOf(value.timestamp)}:${line}`) + suffix,
    ...given({ alias: place.answeredBy && `${sourceId(place.answeredBy)}:prompt${suffix}` }),
    message: { role: "user", content: contentOf(typed) },
    origin: given({ author: "user" as const, time: timeOf(value.timestamp) }),
    ...(typed.some((text) => text.isForMemory) ? {} : { memory: false }),
    line,
  };
}

function contentOf(texts: readonly PromptText[]): string | ContentBlock[] {
  const [first, ...more] = texts;
  if (more.length === 0) return first?.text ?? "";
  return texts.map(({ text }) => ({ type: "text", text }));
}

/** `origin: { kind: "task-notification" }` */
function isPrograms(origin: unknown): boolean {
  const kind = nameOf(objectOf(origin).kind);
  return kind !== undefined && kind !== "human";
}

function summaryPart({ value, line }: PlacedLine): ImportedMessage {
  return {
    sourceId: sourceId(textOf(value.uuid)),
    message: summaryMessage(contentText(objectOf(value.message).content)),
    origin: { author: "model", ...given({ time: timeOf(value.timestamp) }) },
    boundary: "compaction",
    memory: false,
    line,
  };
}

function resultPart({ value, place, line }: PlacedLine, blocks: readonly Json[]): ImportedMessage {
  const results = blocks.map(
    (block): ToolResult => ({
      tool_use_id: textOf(block.tool_use_id),
      content: contentText(block.content),
      is_error: block.is_error === true,
    }),
  );
  return {
    sourceId: sourceId(results[0]?.tool_use_id || textOf(value.uuid)),
    ...groupOf(place, "results"),
    message: { role: "tool_results", results },
    origin: given({ time: timeOf(value.timestamp) }),
    line,
  };
}

function answerParts(
  { value, place, line }: PlacedLine,
  notes: ImportNotes,
): readonly ImportedMessage[] {
  const message = objectOf(value.message);
  // The program's own words, such as "API Error: 500".
  if (value.isApiErrorMessage === true || message.model === "<synthetic>") return [];
  const content = message.content;
  const blocks =
    typeof content === "string"
      ? [textBlock(content)]
      : listOf(content).map((block) => blockOf(objectOf(block), notes));
  const known = blocks.flatMap((block) => block ?? []);
  if (known.length === 0) return [];
  const isThinking = known.every((block) => block.block_type === "reasoning");
  const id = nameOf(message.id);
  return [
    {
      sourceId: sourceId(id === undefined ? textOf(value.uuid) : `${id}:${place.ordinal}`),
      ...groupOf(place, "answer"),
      message: {
        role: "block_assistant",
        blocks: known,
        stop_reason: known.some((block) => block.block_type === "tool_use")
          ? "tool_use"
          : stopReasonOf(message.stop_reason),
      },
      origin: given({ time: timeOf(value.timestamp) }),
      ...(isThinking ? { memory: false } : {}),
      line,
    },
  ];
}

function stopReasonOf(reason: unknown): "end_turn" | "max_tokens" | "stop_sequence" {
  return reason === "max_tokens" || reason === "stop_sequence" ? reason : "end_turn";
}

/** Blocks without anything to read. */
const SILENT = new Set([
  "redacted_thinking",
  "server_tool_use",
  "web_search_tool_result",
  "web_fetch_tool_result",
  "code_execution_tool_result",
  "container_upload",
  "fallback",
]);

function blockOf(block: Json, notes: ImportNotes): AssistantBlock | undefined {
  switch (block.type) {
    case "text":
      return textBlock(textOf(block.text));
    case "thinking": {
      const text = textOf(block.thinking);
      return text === "" ? undefined : { block_type: "reasoning", data: { text } };
    }
    case "tool_use": {
      const { id, name, input = {} } = block;
      return {
        block_type: "tool_use",
        data: { id: textOf(id), name: textOf(name) || "unknown_tool", args: input },
      };
    }
    default:
      if (!SILENT.has(textOf(block.type))) notes.unknown(`assistant.${textOf(block.type) || "?"}`);
      return undefined;
  }
}

/** Claude Code writes "(no content)" where an answer has only calls. */
function textBlock(text: string): AssistantBlock | undefined {
  const isEmpty = text.trim() === "" || text === "(no content)";
  return isEmpty ? undefined : { block_type: "text", data: { text } };
}

function groupOf({ answer }: LinePlace, kind: "answer" | "results"): { readonly group?: string } {
  return answer === undefined ? {} : { group: `${kind} ${answer}` };
}

function sourceId(id: string): string {
  return `claude:${id}`;
}
