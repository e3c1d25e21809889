import type { Origin } from "../core/event.ts";
import {
  type AssistantBlock,
  type BlockAssistantMessage,
  type Message,
  type StopReason,
  type SystemMessage,
  type ToolResult,
  type ToolUse,
  toolResults,
  toolUses,
  type UserMessage,
} from "../core/message.ts";
import type { ToolOutput } from "../core/tool.ts";
import { startsTurn } from "../core/turn.ts";
import type { RecordedMessage, Recording } from "../transcripts/imported.ts";

/**
 * A recording, split into the requests for a session service:
 *
 *     S A    U A T A    S U A A    U      U A S
 *     seed   └ turn ┘   └ turn ┘   turn   └ turn
 *
 * A system message belongs to the next turn. At the end of the recording it belongs
 * to the last turn. Summaries of the program that recorded it are left out.
 */
export interface ReplayPlan {
  /** The messages before the first user message. */
  readonly seed: readonly Message[];
  readonly turns: readonly ReplayTurn[];
  /** The names of all called tools. */
  readonly toolNames: readonly string[];
}

export interface ReplayTurn {
  /** System messages before the prompt. */
  readonly context: readonly Message[];
  readonly prompt: UserMessage["content"];
  readonly origin?: Origin;
  /** One for each model call. */
  readonly answers: readonly RecordedAnswer[];
}

export function planReplay(recording: Recording): ReplayPlan {
  const seed: Message[] = [];
  const turns: TurnInTheMaking[] = [];
  let context: Message[] = [];
  const said = recording.messages.filter(({ boundary }) => boundary !== "compaction");
  for (const entry of joinResults(said)) {
    const { message, origin } = entry;
    const turn = turns.at(-1);
    if ("results" in entry) {
      if (turn) turn.answers.push(entry);
      else seed.push(...messagesOf(entry));
    } else if (message.role === "user" && (turn || startsTurn(message))) {
      const prompt = message.content;
      turns.push({ context, prompt, answers: [], ...(origin ? { origin } : {}) });
      context = [];
    } else {
      (turn ? context : seed).push(message);
    }
  }
  turns.at(-1)?.context.push(...context);
  const calls = turns.flatMap(({ answers }) => answers.flatMap(({ message }) => toolUses(message)));
  return {
    seed,
    turns: turns.map((turn) => ({ ...turn, answers: turn.answers.map(withStopReason) })),
    toolNames: [...new Set(calls.map((call) => call.name))],
  };
}

interface TurnInTheMaking extends ReplayTurn {
  readonly context: Message[];
  readonly answers: RecordedAnswer[];
}

/** Stop reasons that end a turn. */
const ENDS: readonly StopReason[] = ["end_turn", "max_tokens", "stop_sequence", "content_filter"];

function withStopReason(
  answer: RecordedAnswer,
  index: number,
  answers: readonly RecordedAnswer[],
): RecordedAnswer {
  const { stop_reason } = answer.message;
  const last = index === answers.length - 1;
  const stays = last && ENDS.includes(stop_reason);
  const reason =
    answer.results.size > 0 ? "tool_use" : !last ? "pause_turn" : stays ? stop_reason : "end_turn";
  return { ...answer, message: { ...answer.message, stop_reason: reason } };
}

function messagesOf(answer: RecordedAnswer): readonly Message[] {
  if (answer.results.size === 0) return [answer.message];
  const results = toolUses(answer.message).flatMap(({ id }) => {
    const output = answer.results.get(id);
    return output ? [{ tool_use_id: id, ...output }] : [];
  });
  return [answer.message, { role: "tool_results", results }];
}

/** A message that a session accepts. Answers come with the results of their calls. */
type ReplayEntry =
  | { readonly message: SystemMessage | UserMessage; readonly origin?: Origin }
  | RecordedAnswer;

/** One answer of the model, with the results of its calls. */
export interface RecordedAnswer {
  readonly message: BlockAssistantMessage;
  readonly origin?: Origin;
  /** The results by the id of their call. Every call has one. */
  readonly results: ReadonlyMap<string, ToolOutput>;
}

/** A call without a result yet. */
interface OpenCall {
  readonly recordedId: string;
  readonly call: ToolUse;
  readonly results: Map<string, ToolOutput>;
}

const NO_RESULT: ToolOutput = {
  content: "The recording has no result for this call.",
  is_error: true,
};

/**
 * Joins tool results with their calls, and repairs what sessions do not accept:
 *
 * - A late result moves to its call.
 * - A result without a call gets a call, and a call without a result gets a result.
 * - An id that is used again gets a number.
 *
 * No content is dropped or merged. Empty messages are left out.
 */
function joinResults(messages: readonly RecordedMessage[]): readonly ReplayEntry[] {
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

/** The first call of the newest answer that the result can belong to. */
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

/** The message without empty parts. Undefined when all of it is empty. */
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

/** Gives each call a unique id: its own, if that is not used yet. */
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
