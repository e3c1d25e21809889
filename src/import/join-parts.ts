import type { AssistantBlock, ContentBlock, Message, UserMessage } from "../core/message.ts";
import type { ImportedMessage } from "../transcripts/imported.ts";

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
