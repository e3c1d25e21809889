import type { Origin } from "../core/event.ts";
import {
  type AssistantBlock,
  type BlockAssistantMessage,
  type Message,
  type SystemMessage,
  type ToolResult,
  type ToolUse,
  toolResults,
  toolUses,
  type UserMessage,
} from "../core/message.ts";
import type { ToolOutput } from "../core/tool.ts";
import type { RecordedMessage } from "../transcripts/recording.ts";

/** A message of a recording that is fit to go into a session; answers come with their results. */
export type ReplayEntry =
  | { readonly message: SystemMessage | UserMessage; readonly origin?: Origin }
  | RecordedAnswer;

/** What the model said once, with the results of its calls. */
export interface RecordedAnswer {
  readonly message: BlockAssistantMessage;
  readonly origin?: Origin;
  /** By the id of the call; each call has one. */
  readonly results: ReadonlyMap<string, ToolOutput>;
}

/** A call that waits for its result. */
interface OpenCall {
  readonly recordedId: string;
  readonly call: ToolUse;
  readonly results: Map<string, ToolOutput>;
}

const NO_RESULT: ToolOutput = {
  content: "The recording has no result of this call.",
  is_error: true,
};

/**
 * Puts the results of tools to their calls. What a recording got wrong is
 * mended, and nothing that it says is dropped or joined: a late result goes
 * back to its call, a result without a call gets one, a call without a result
 * too, and an id that comes again gets a number. Messages that say nothing are
 * left out.
 */
export function joinResults(messages: readonly RecordedMessage[]): readonly ReplayEntry[] {
  const entries: ReplayEntry[] = [];
  const open: OpenCall[] = [];
  const ownId = idGiver();

  const add = (message: BlockAssistantMessage, said: object) => {
    const results = new Map<string, ToolOutput>();
    const blocks = message.blocks.map((block) => {
      if (block.block_type !== "tool_use") return block;
      const data = { ...block.data, id: ownId(block.data.id) };
      open.push({ recordedId: block.data.id, call: data, results });
      return { ...block, data };
    });
    entries.push({ message: { ...message, blocks }, results, ...said });
  };

  for (const recorded of messages) {
    const said = recorded.origin ? { origin: recorded.origin } : {};
    for (const result of toolResults(recorded.message)) {
      if (!openCallOf(result, open, recorded.toolName)) add(callFor(result, recorded), said);
      const waiting = openCallOf(result, open, recorded.toolName);
      if (!waiting) continue;
      const { content, is_error } = result;
      waiting.results.set(waiting.call.id, { content, is_error });
      open.splice(open.indexOf(waiting), 1);
    }
    const message = withoutEmptyParts(recorded.message);
    if (message?.role === "block_assistant") add(message, said);
    else if (message) entries.push({ message, ...said });
  }
  for (const { call, results } of open) results.set(call.id, NO_RESULT);
  return entries;
}

/** The newest answer's first call that the result can belong to. */
function openCallOf(
  { tool_use_id }: ToolResult,
  open: readonly OpenCall[],
  toolName: string | undefined,
): OpenCall | undefined {
  const fits = open.filter(({ recordedId, call }) =>
    tool_use_id === ""
      ? toolName === undefined || toolName === call.name
      : recordedId === tool_use_id,
  );
  const newest = fits.at(-1)?.results;
  return fits.find(({ results }) => results === newest);
}

function callFor(result: ToolResult, { toolName }: RecordedMessage): BlockAssistantMessage {
  const data = { id: result.tool_use_id, name: toolName ?? "unknown_tool", args: {} };
  return {
    role: "block_assistant",
    blocks: [{ block_type: "tool_use", data }],
    stop_reason: "tool_use",
  };
}

/** The message without what is empty in it; nothing when there is nothing else. */
function withoutEmptyParts(
  message: Message,
): SystemMessage | UserMessage | BlockAssistantMessage | undefined {
  switch (message.role) {
    case "system":
      return message.content === "" ? undefined : message;
    case "user": {
      if (typeof message.content === "string") return message.content === "" ? undefined : message;
      const content = message.content.filter((block) => block.type !== "text" || block.text !== "");
      return content.length === 0 ? undefined : { ...message, content };
    }
    case "assistant":
      return withoutEmptyParts({
        role: "block_assistant",
        blocks: [
          { block_type: "text", data: { text: message.content } },
          ...toolUses(message).map((data): AssistantBlock => ({ block_type: "tool_use", data })),
        ],
        stop_reason: "end_turn",
      });
    case "block_assistant": {
      const blocks = message.blocks.filter(
        (block) => block.block_type !== "text" || block.data.text !== "",
      );
      return blocks.length === 0 ? undefined : { ...message, blocks };
    }
    case "tool_results":
      return undefined;
  }
}

/** Gives each call an id that no other has: its own, if that is still free. */
function idGiver(): (recordedId: string) => string {
  const given = new Map<string, number>();
  return (recordedId) => {
    const wanted = recordedId || "call";
    let id = wanted;
    while (given.has(id)) {
      const times = (given.get(wanted) ?? 0) + 1;
      given.set(wanted, times);
      id = `${wanted}-${times}`;
    }
    given.set(id, 1);
    return id;
  };
}
