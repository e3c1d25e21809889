import type { DurableEvent } from "../core/event.ts";
import type { ForgottenTexts } from "../core/forgotten-texts.ts";
import { leavesOf, withinNesting } from "../core/json-values.ts";
import {
  type AssistantBlock,
  type ContentBlock,
  contentText,
  FORGOTTEN,
  indexableText,
  isRecall,
  isSummary,
  type Message,
  toolResults,
  toolUses,
  type UserMessage,
} from "../core/message.ts";
import { redactMessage } from "../secrets/redact-message.ts";
import type { ImportedMessage, ImportedSession } from "../transcripts/imported.ts";
import { titleOf } from "../transcripts/json-fields.ts";

export type MessageAdded = Extract<DurableEvent, { type: "message_added" }>;

/** A message, and the event that it becomes. */
export interface ReadMessage {
  readonly parts: Parts;
  readonly event: MessageAdded;
  /** The session's title may repeat forgotten text. */
  readonly forgotten?: string;
  /** The kinds of its credentials, which were replaced. */
  readonly redacted: readonly string[];
}

export function readMessage(parts: Parts, filter: MemoryToolFilter): ReadMessage {
  const redacted: string[] = [];
  return { parts, event: eventOf(parts, filter, (kind) => redacted.push(kind)), redacted };
}

/**
 * Returns the parts of a message that were not seen before, and marks them as seen. They have the time of the
 * message's first part, as if all had come at once.
 */
export function unseenParts(
  message: ReadMessage,
  seen: Set<string>,
  filter: MemoryToolFilter,
): readonly ReadMessage[] {
  const { parts } = message;
  const unseen = parts.filter((part) => {
    const isNew = !idsOf(part).some((id) => seen.has(id));
    for (const id of idsOf(part)) seen.add(id);
    return isNew;
  });
  if (unseen.length === parts.length) return [message];
  const [first, ...rest] = unseen;
  return first ? [readMessage([{ ...first, origin: parts[0].origin }, ...rest], filter)] : [];
}

export function idsOf({ sourceId, alias }: ImportedMessage): readonly string[] {
  return alias === undefined ? [sourceId] : [sourceId, alias];
}

/** Whether a person typed it. A session may be named after such a message. */
export function isPrompt({ event: { message, origin, memory } }: ReadMessage): boolean {
  return (
    message.role === "user" && !isSummary(message) && origin?.author === "user" && memory !== false
  );
}

export function titleIn({ parts }: ReadMessage): string | undefined {
  return titleOf(indexableText(parts[0].message));
}

function eventOf(
  parts: Parts,
  filter: MemoryToolFilter,
  onRedacted: (kind: string) => void,
): MessageAdded {
  const [{ origin, boundary }] = parts;
  const message = withinNesting(filter.without(joinParts(parts)));
  const isForMemory = parts.some(({ memory }) => memory !== false);
  return {
    type: "message_added",
    message: redactMessage(message, onRedacted),
    origin,
    imported: { ids: parts.map(({ sourceId }) => sourceId), ...(boundary ? { boundary } : {}) },
    ...(isForMemory ? {} : { memory: false }),
  };
}

/** About how long the texts of a message are. */
export function charactersOf(value: unknown): number {
  let sum = 0;
  for (const leaf of leavesOf(value)) {
    sum += typeof leaf.value === "string" ? leaf.value.length : 8;
  }
  return sum;
}

/** Parts of one message, in order. */
export type Parts = readonly [ImportedMessage, ...ImportedMessage[]];

/** Puts the parts of each message together. */
export function groupParts(parts: readonly ImportedMessage[]): readonly Parts[] {
  const groups: [ImportedMessage, ...ImportedMessage[]][] = [];
  for (const part of parts) {
    const group = groups.at(-1);
    if (group && isPartOf(part, group[0])) group.push(part);
    else groups.push([part]);
  }
  return groups;
}

export function isPartOf(part: ImportedMessage, first: ImportedMessage): boolean {
  return (
    part.group !== undefined &&
    part.group === first.group &&
    part.message.role === first.message.role
  );
}

/** One message of all its parts. */
export function joinParts([first, ...more]: Parts): Message {
  return more.reduce(
    (one, { message, continues = false }) => joined(one, message, continues),
    first.message,
  );
}

function joined(one: Message, next: Message, continues: boolean): Message {
  if (one.role === "block_assistant" && next.role === "block_assistant") {
    const [first, ...more] = next.blocks;
    const whole = continues && first ? wholeBlock(one.blocks.at(-1), first) : undefined;
    if (whole) return { ...next, blocks: [...one.blocks.slice(0, -1), whole, ...more] };
    return { ...next, blocks: [...one.blocks, ...next.blocks] };
  }
  if (one.role === "tool_results" && next.role === "tool_results") {
    return { ...one, results: [...one.results, ...next.results] };
  }
  if (one.role === "assistant" && next.role === "assistant") {
    const tool_calls = [...(one.tool_calls ?? []), ...(next.tool_calls ?? [])];
    const content = [one.content, next.content].filter(Boolean).join("\n");
    return { ...one, content, ...(tool_calls.length > 0 ? { tool_calls } : {}) };
  }
  if (one.role === "user" && next.role === "user") {
    return { ...one, content: [...blocksOf(one), ...blocksOf(next)] };
  }
  if (one.role === "system" && next.role === "system") {
    return { ...one, content: `${one.content}\n${next.content}` };
  }
  return one;
}

function wholeBlock(
  start: AssistantBlock | undefined,
  rest: AssistantBlock,
): AssistantBlock | undefined {
  if (!start || start.block_type === "tool_use" || rest.block_type !== start.block_type) {
    return undefined;
  }
  return { ...start, data: { text: start.data.text + rest.data.text } };
}

function blocksOf({ content }: UserMessage): readonly ContentBlock[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Folders where memory tools talk to models on their own. A folder with a tool's name may be that of its source. */
const TOOLS_FOLDER =
  /(?:^|[/\\-])(?:observer-sessions|\.claude-mem|plugins[/\\].*claude-mem|\.rkat)(?:[/\\]|$)/;

/** Whether a session is the traffic of a memory tool, not a conversation of a person. */
export function isMemoryTools({ project = "" }: Pick<ImportedSession, "project">): boolean {
  return TOOLS_FOLDER.test(project);
}

/** Servers of memory, as the names of their tools begin in Claude Code, Codex and others. */
const MEMORY_SERVER =
  /^(?:mcp__)?(?:plugin_)?(?:rkat|claude-mem|mem0|openmemory|basic-memory|memory|mcp-search)(?:_|\b)/;

const LEFT_OUT = "[left out: what a memory tool found]";

/**
 * Leaves the results of memory tools out of messages: they repeat what is stored already, and
 * storing them would find it twice.
 */
export class MemoryToolFilter {
  readonly #calls = new Set<string>();

  without(message: Message): Message {
    if (message.role !== "tool_results") {
      for (const { id, name } of toolUses(message)) if (isMemoryTool(name)) this.#calls.add(id);
      return message;
    }
    if (!message.results.some((result) => this.#calls.has(result.tool_use_id))) return message;
    const results = message.results.map((result) =>
      this.#calls.has(result.tool_use_id) ? { ...result, content: LEFT_OUT } : result,
    );
    return { ...message, results };
  }
}

function isMemoryTool(name: string): boolean {
  return isRecall(name) || MEMORY_SERVER.test(name);
}

/**
 * The messages of a session with a marker in the place of each text that was forgotten. The transcript still has it,
 * perhaps in a session of another agent.
 */
export async function withoutForgotten(
  messages: readonly Message[],
  sessionId: string,
  forgotten: ForgottenTexts | undefined,
): Promise<readonly Message[]> {
  if (!forgotten) return messages;
  const texts = messages.flatMap(textsOf);
  const answers = await forgotten.has(sessionId, texts);
  const gone = new Set(texts.filter((_, index) => answers[index]));
  return gone.size === 0 ? messages : messages.map((message) => without(message, gone));
}

/** The texts of a message that may have been forgotten: the whole, and its parts. */
function textsOf(message: Message): readonly string[] {
  const parts =
    message.role === "block_assistant"
      ? message.blocks.flatMap(({ block_type, data }) => (block_type === "text" ? [data.text] : []))
      : toolResults(message).map(({ content }) => content);
  return [indexableText(message), ...parts];
}

function without(message: Message, gone: ReadonlySet<string>): Message {
  const isGone = gone.has(indexableText(message));
  switch (message.role) {
    case "user":
      return isGone || gone.has(contentText(message.content))
        ? { ...message, content: FORGOTTEN }
        : message;
    case "assistant":
      return isGone ? { ...message, content: FORGOTTEN } : message;
    case "block_assistant":
      return {
        ...message,
        blocks: message.blocks.map((block) =>
          block.block_type === "text" && (isGone || gone.has(block.data.text))
            ? { block_type: "text", data: { text: FORGOTTEN } }
            : block,
        ),
      };
    case "tool_results":
      return {
        ...message,
        results: message.results.map((result) =>
          gone.has(result.content) ? { ...result, content: FORGOTTEN } : result,
        ),
      };
    default:
      return message;
  }
}
