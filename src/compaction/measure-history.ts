import type { RebuildConstraints } from "../core/compactor.ts";
import { SessionError } from "../core/errors.ts";
import { isSummary, type Message, toolResults, toolUses } from "../core/message.ts";
import { messageWeight } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";

/** A history with everything that a compaction counts, counted once. */
export interface MeasuredHistory {
  readonly messages: readonly Message[];
  /**
   * The size that each message adds to the history, in quarter tokens: its own
   * weight, and one for the comma. Their sum plus one is the history's weight.
   */
  readonly weights: readonly number[];
  readonly weight: number;
  readonly groups: readonly Group[];
  /** Position in `groups` of the group that a message is in; -1 for summaries and for system messages that stay. */
  readonly groupOf: readonly number[];
  readonly turnCount: number;
  /** Position of the last user message, or -1. */
  readonly lastUser: number;
  /** The weight that a message has in this history, at a position if it has one. */
  readonly weigh: (message: Message, index?: number) => number;
  /** See `RebuildConstraints`. */
  readonly turns: readonly number[];
}

/**
 * The smallest thing that stays or leaves as a whole: a user message, an
 * assistant message, or an assistant message with the results of its calls.
 *
 *     S   C   U   A   U   A T   A T
 *             └┘  └┘  └┘  └─┘   └─┘
 */
export interface Group {
  /** Ascending positions. */
  readonly members: readonly number[];
  readonly weight: number;
  /** The turn that it ends in, from 0; -1 before the first. */
  readonly turn: number;
  readonly isUser: boolean;
}

export function measureHistory(
  messages: readonly Message[],
  {
    model,
    superseded,
    opaqueTokens,
    joined,
    turns: named = [],
  }: Pick<RebuildConstraints, "model" | "superseded" | "opaqueTokens" | "joined" | "turns"> = {},
): MeasuredHistory {
  const weigh = (message: Message, index = -1) =>
    messageWeight(message, model) + 1 + 4 * (opaqueTokens?.get(index) ?? 0);
  const weights = messages.map((message, index) => weigh(message, index));
  const { turns, turnCount, lastUser } = turnsOf(messages);
  const roots = rootsOf(messages, joined);
  const isGrouped = (message: Message, index: number) =>
    message.role === "system" ? superseded?.has(index) === true : !isSummary(message);
  const positions = messages.flatMap((message, index) =>
    isGrouped(message, index) ? [index] : [],
  );
  // In the order in which they end.
  const members = [...Map.groupBy(positions.reverse(), (index) => roots[index]).values()].reverse();
  const groups = members.map((group): Group => {
    const last = group[0] ?? 0;
    return {
      members: group.reverse(),
      weight: group.reduce((sum, index) => sum + (weights[index] ?? 0), 0),
      turn: turns[last] ?? -1,
      isUser: messages[last]?.role === "user",
    };
  });
  const groupOf = messages.map(() => -1);
  groups.forEach((group, position) => {
    for (const index of group.members) groupOf[index] = position;
  });
  const weight = weights.reduce((sum, each) => sum + each, 1);
  return { messages, weights, weight, groups, groupOf, turnCount, lastUser, weigh, turns: named };
}

/** How a provider counts: tokens for each estimated one, and those that no estimate sees, such as a host's tools. */
export interface ProviderCount {
  readonly factor: number;
  readonly unseen: number;
}

/** No text is counted so wrongly. A larger count has a fixed part, which is no factor. */
const FACTOR_MAX = 4;

/** The part of a limit that the history has at least, however much is sent beside it. */
const HISTORY_PART = 1 / 4;

/**
 * What the provider's last count says. It covers the messages before the last answer; in a history without an
 * answer, it counts as a count of all. The factor is at least 1.
 */
export function providerCount(
  { messages, weights }: Pick<MeasuredHistory, "messages" | "weights">,
  lastInputTokens = 0,
): ProviderCount {
  const isAnswer = ({ role }: Message) => role === "assistant" || role === "block_assistant";
  const answer = messages.findLastIndex(isAnswer);
  const counted = answer < 1 ? weights : weights.slice(0, answer);
  const estimated = counted.reduce((sum, each) => sum + each, 1) / 4;
  const factor = Math.max(1, lastInputTokens / estimated);
  return factor > FACTOR_MAX
    ? { factor: 1, unseen: lastInputTokens - estimated }
    : { factor, unseen: 0 };
}

/** The estimated tokens that a history may have, for a limit in the provider's tokens. */
export function roomWithin(most: number, { factor, unseen }: ProviderCount): number {
  return Math.max(most - unseen, most * HISTORY_PART) / factor;
}

/** The turn of each message, from 0; -1 before the first. */
function turnsOf(messages: readonly Message[]) {
  let turnCount = 0;
  let lastUser = -1;
  const turns = messages.map((message, index) => {
    if (startsTurn(message)) {
      turnCount += 1;
      lastUser = index;
    }
    return turnCount - 1;
  });
  return { turns, turnCount, lastUser };
}

/** Positions of messages that stay when those at `positions` do, because a call and its result stay together. */
export function joinedWith(
  messages: readonly Message[],
  positions: readonly number[],
): ReadonlySet<number> {
  const roots = rootsOf(messages);
  const stay = new Set(positions.map((position) => roots[position]));
  return new Set(messages.flatMap((_, index) => (stay.has(roots[index]) ? [index] : [])));
}

/** The number of messages that a compaction could take out: system messages, pins and the last user message stay. */
export function countLooseMessages(
  messages: readonly Message[],
  pinned: readonly number[],
): number {
  const fixed = joinedWith(messages, [messages.findLastIndex(startsTurn), ...pinned]);
  return messages.filter(
    (message, index) => message.role !== "system" && !isSummary(message) && !fixed.has(index),
  ).length;
}

/** The group of each message, as one position: calls and their results are in the same group. */
function rootsOf(messages: readonly Message[], joined?: Joined): number[] {
  const parents = messages.map((_, index) => index);
  const rootOf = (index: number): number => {
    let root = index;
    while (parents[root] !== root) root = parents[root] ?? root;
    for (let at = index; at !== root; ) {
      const next = parents[at] ?? root;
      parents[at] = root;
      at = next;
    }
    return root;
  };
  for (const [one, other] of pairsOf(messages, joined)) parents[rootOf(other)] = rootOf(one);
  return messages.map((_, index) => rootOf(index));
}

type Joined = NonNullable<RebuildConstraints["joined"]>;

/**
 * Which messages stay and leave together, by position: those that hold a call and its result, and those that are `joined`.
 * Ids may be used again later, so a result belongs to the nearest call of its id before it.
 *
 * @throws SessionError `INVALID_PARAMS` for a position that the history does not have
 */
export function pairsOf(messages: readonly Message[], joined: Joined = []): Joined {
  const wrong = joined.flat().find((position) => !(position in messages));
  if (wrong !== undefined) {
    const message = `joined names position ${wrong}; the history has ${messages.length} messages, from 0.`;
    throw new SessionError("INVALID_PARAMS", { message });
  }
  const callers = new Map<string, number>();
  const pairs = messages.flatMap((message, index) => {
    for (const { id } of toolUses(message)) callers.set(id, index);
    const calls = toolResults(message).map((result) => callers.get(result.tool_use_id));
    return [...new Set(calls)].flatMap((call) =>
      call === undefined ? [] : [[call, index] as const],
    );
  });
  return [...pairs, ...joined];
}
