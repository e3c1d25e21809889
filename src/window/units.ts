import { given } from "../core/fields.ts";
import {
  type AssistantBlock,
  contentText,
  isSummary,
  type Message,
  type ToolResult,
  toolResults,
  toolUses,
} from "../core/message.ts";
import { instructionsIn } from "../knowledge/lasting-wishes.ts";
import type { ViewedMessage } from "./message-view.ts";

/**
 * Messages of a host that stay and leave together, as one message:
 *
 *     host   user   reasoning  call  call   result  result   user
 *     unit   └──┘   └───────────────────┘   └────────────┘   └──┘
 */
export interface Unit {
  /** Positions of its messages: `from` up to, but without, `to`. */
  readonly from: number;
  readonly to: number;
  readonly pieces: readonly Message[];
  readonly opaqueTokens: number;
  /** The estimate in quarter tokens. */
  readonly weight: number;
  /** The next message belongs to it, of any kind. */
  readonly isOpen: boolean;
  /** One of its messages never leaves. */
  readonly stays: boolean;
  /** An id for each call and each result of a provider's own tools. */
  readonly ownCalls: readonly string[];
  /** The name of the person whose message it is. */
  readonly speaker?: string;
}

/** A message of a host as it was read, with its weight in quarter tokens. */
export interface WeighedView extends ViewedMessage {
  readonly weight: number;
}

/** Adds the message at the end of the history that the units are of. */
export function addToUnits(units: Unit[], view: WeighedView): void {
  const last = units.at(-1);
  const { message, opaqueTokens = 0, weight, stays = false, ownCalls = [], speaker } = view;
  // With a summary, what never leaves would leave: the next summary takes its place.
  const isFirst = !last || (stays && last.pieces.some(isSummary));
  const piece = {
    from: last?.to ?? 0,
    to: (last?.to ?? 0) + 1,
    pieces: message ? [message] : [],
    opaqueTokens,
    weight,
    stays,
    ownCalls,
    ...given({ speaker }),
    // An unreadable message joins the message before it, and the one after it when it is the first.
    isOpen: view.joins === "next" || (message === undefined && isFirst),
  };
  if (!last || isFirst || !belongsTo(last, message)) units.push(piece);
  else {
    units[units.length - 1] = {
      ...last,
      to: piece.to,
      pieces: [...last.pieces, ...piece.pieces],
      opaqueTokens: last.opaqueTokens + opaqueTokens,
      weight: last.weight + weight,
      stays: last.stays || stays,
      ownCalls: ownCalls.length > 0 ? [...last.ownCalls, ...ownCalls] : last.ownCalls,
      isOpen: piece.isOpen || (message === undefined && last.isOpen),
    };
  }
}

function belongsTo({ pieces, isOpen }: Unit, message: Message | undefined): boolean {
  const last = pieces.at(-1);
  if (!message) return true;
  if (!last) return isOpen;
  if (last.role === "tool_results") return message.role === "tool_results";
  if (!isAnswer(last) || !isAnswer(message)) return false;
  // Two answers in a row that have only text can be parted.
  return isOpen || pieces.some(hasMoreThanText);
}

export function isAnswer({ role }: Message): boolean {
  return role === "assistant" || role === "block_assistant";
}

function hasMoreThanText(message: Message): boolean {
  if (toolUses(message).length > 0) return true;
  return (
    message.role === "block_assistant" &&
    message.blocks.some(({ block_type }) => block_type !== "text")
  );
}

/** The message that a unit is. */
export function messageOf({ pieces }: Unit): Message {
  const [first, ...rest] = pieces;
  if (first && rest.length === 0) return first;
  if (first?.role === "tool_results")
    return { role: "tool_results", results: pieces.flatMap(resultsOf) };
  const blocks = pieces.flatMap(blocksOf);
  const calls = blocks.some(({ block_type }) => block_type === "tool_use");
  return { role: "block_assistant", blocks, stop_reason: calls ? "tool_use" : "end_turn" };
}

function resultsOf(message: Message): readonly ToolResult[] {
  return toolResults(message);
}

function blocksOf(message: Message): readonly AssistantBlock[] {
  if (message.role === "block_assistant") return message.blocks;
  if (message.role !== "assistant") return [];
  const text: AssistantBlock[] =
    message.content === "" ? [] : [{ block_type: "text", data: { text: message.content } }];
  const calls = toolUses(message).map(
    (call): AssistantBlock => ({ block_type: "tool_use", data: call }),
  );
  return [...text, ...calls];
}

/** Pairs of positions of units that stay and leave together: a provider's own call, and its result in a later answer. */
export function joinedUnits(units: readonly Unit[]): readonly (readonly [number, number])[] {
  const first = new Map<string, number>();
  return units.flatMap(({ ownCalls }, index) =>
    ownCalls.flatMap((id) => {
      const before = first.get(id);
      first.set(id, before ?? index);
      return before === undefined || before === index ? [] : [[before, index] as const];
    }),
  );
}

/** The part of a compacted history that messages with standing instructions may take. */
const INSTRUCTIONS_PART = 1 / 10;

/**
 * Positions of the messages that must stay besides the last user message: user messages right before it or at the
 * end, calls that still wait for a result, what a provider put in the place of earlier messages, and user messages with
 * standing instructions, or with what takes some back.
 */
export function pinnedUnits(units: readonly Unit[], targetTokens: number): readonly number[] {
  const pins = new Set([
    ...lastUsers(units, targetTokens),
    ...openCalls(units),
    ...standing(units),
  ]);
  let room = 4 * targetTokens * INSTRUCTIONS_PART;
  for (const [index, unit] of [...units.entries()].reverse()) {
    if (pins.has(index) || !hasInstructions(unit)) continue;
    room -= unit.weight;
    if (room < 0) break;
    pins.add(index);
  }
  return [...pins].sort((one, other) => one - other);
}

function isUser({ pieces: [message] }: Unit): boolean {
  return message?.role === "user" && !isSummary(message);
}

/** The part of a compacted history that the last user messages may take together. */
const LAST_USERS_PART = 1 / 4;

/**
 * The last user message, and the newest of those in a row with it: a user may have said several things at once. In
 * a group chat, or where a bot only listens, all messages are in a row.
 */
function lastUsers(units: readonly Unit[], targetTokens: number): readonly number[] {
  const last = units.findLastIndex(isUser);
  const users: number[] = [];
  let room = 4 * targetTokens * LAST_USERS_PART;
  for (let index = last; index >= 0 && isUser(units[index] as Unit); index -= 1) {
    room -= units[index]?.weight ?? 0;
    if (room < 0 && index < last) break;
    users.push(index);
  }
  return users;
}

/** Calls since the last user message without a result. Someone is asked for approval, or a tool runs, maybe the provider's. */
function openCalls(units: readonly Unit[]): readonly number[] {
  const results = new Set(
    units.flatMap(({ pieces }) =>
      pieces.flatMap((piece) => toolResults(piece).map(({ tool_use_id }) => tool_use_id)),
    ),
  );
  const ids = Map.groupBy(
    units.flatMap(({ ownCalls }) => ownCalls),
    (id) => id,
  );
  const last = units.findLastIndex(isUser);
  return units.flatMap(({ pieces, ownCalls }, index) => {
    const isOpen =
      pieces.flatMap(toolUses).some(({ id }) => !results.has(id)) ||
      ownCalls.some((id) => ids.get(id)?.length === 1);
    return index > last && isOpen ? [index] : [];
  });
}

/** Units that never leave, and the results of their calls. */
function standing(units: readonly Unit[]): readonly number[] {
  const kept = units.filter(({ stays }) => stays);
  if (kept.length === 0) return [];
  const calls = new Set(kept.flatMap(({ pieces }) => pieces.flatMap(toolUses)).map(({ id }) => id));
  return units.flatMap(({ stays, pieces }, index) => {
    const isResult = pieces.some((piece) =>
      toolResults(piece).some(({ tool_use_id }) => calls.has(tool_use_id)),
    );
    return stays || isResult ? [index] : [];
  });
}

function hasInstructions(unit: Unit): boolean {
  const [message] = unit.pieces;
  if (message?.role !== "user" || isSummary(message)) return false;
  return instructionsIn(contentText(message.content)).length > 0;
}
