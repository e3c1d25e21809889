import type { RebuildConstraints, RebuildResult, Shortened } from "../core/compactor.ts";
import { jsonText } from "../core/json-values.ts";
import { isSummary, type Message, SUMMARY_PREFIX } from "../core/message.ts";
import {
  amount,
  anything,
  flag,
  group,
  is,
  listOf,
  object,
  positions,
  record,
  requireArgument,
  requireOptions,
  text,
} from "../core/options.ts";
import { withShortenedOutput } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";
import { PAIRS } from "./compact-history-options.ts";
import { jsonTextBytes } from "./cut-text.ts";
import { type MeasuredHistory, measureHistory, pairsOf } from "./measure-history.ts";
import { fixedGroups, weightBelow, weightOfFixed } from "./plan-rebuild.ts";
import { withShortened } from "./prune-tool-output.ts";

/** The ways in which a rebuilt history can be wrong, each with its sentence. */
const VIOLATIONS = {
  not_a_partition: "retained and discarded messages are not exactly the source, in its order",
  bad_summary: "what was put in is not one summary in the place of the first message that left",
  summary_too_long: "the summary is longer than it may be",
  system_message_left: "a system message left that none has superseded",
  last_user_message_left: "the last user message left",
  pin_left: "a pinned message left",
  pair_parted: "a tool call was parted from its result",
  old_summary_stayed: "a previous summary stayed",
  bad_shortening: "a message was changed in another way than by shortening its tool output",
  not_smaller: "the history did not get smaller",
  not_below_target: "the history is not below its target, although it could be",
  starts_without_user: "the history no longer starts with a user message",
} as const satisfies Record<string, string>;

export type Violation = keyof typeof VIOLATIONS;

export function describeViolation(violation: Violation): string {
  return VIOLATIONS[violation];
}

const list = listOf(anything);
const RESULT = object({
  messages: listOf(record),
  discarded: listOf(record),
  discardedAt: list,
  shortened: list,
});

const CONSTRAINTS = group({
  pinned: positions,
  targetTokens: amount,
  force: flag,
  superseded: positions,
  wordsTokens: amount,
  bare: flag,
  model: text,
  opaqueTokens: is("a map from positions to tokens", (value) => value instanceof Map),
  joined: PAIRS,
  turns: listOf(amount),
});

/**
 * Names the violations of a rebuilt history. A sound one has no violations. The result of every
 * compactor is checked before anything is stored.
 */
export function checkRebuild(
  source: readonly Message[],
  result: RebuildResult,
  constraints: RebuildConstraints = {},
): Violation[] {
  requireArgument("the source of checkRebuild", listOf(record), source);
  requireArgument("the result of checkRebuild", RESULT, result);
  requireOptions("checkRebuild", CONSTRAINTS, constraints);
  return checkMeasured(source, result, constraints, measureHistory(source, constraints));
}

/** `checkRebuild` for a history that was measured `before`. */
export function checkMeasured(
  source: readonly Message[],
  result: RebuildResult,
  constraints: RebuildConstraints,
  before: MeasuredHistory,
): Violation[] {
  const left = new Set(result.discardedAt);
  const inserted = insertedMessages(source, result, left);
  if (!inserted) return ["not_a_partition"];
  const weight = weightAfter(before, result);
  const changed = left.size > 0 || result.shortened.length > 0;
  const pinned = [...(constraints.pinned ?? [])];
  const isOldSummary = (index: number) => isSummary(source[index] as Message);
  const broken: Record<Violation, boolean> = {
    not_a_partition: false,
    bad_summary: !isProperSummary(inserted, left.size > 0),
    summary_too_long: inserted.some(
      (message) => summaryBytes(message) > Math.max(0, result.summaryBytesMax),
    ),
    system_message_left: [...left].some(
      (index) => source[index]?.role === "system" && !constraints.superseded?.has(index),
    ),
    last_user_message_left: left.has(before.lastUser),
    pin_left: pinned.some((index) => left.has(index) && !isOldSummary(index)),
    pair_parted: pairsOf(source, constraints.joined).some(
      ([one, other]) => left.has(one) !== left.has(other),
    ),
    old_summary_stayed:
      left.size > 0 && source.some((message, index) => isSummary(message) && !left.has(index)),
    bad_shortening: result.shortened.some(
      (shortened) => pinned.includes(shortened.index) || !isRepeatable(source, shortened),
    ),
    not_smaller: changed && weight >= before.weight,
    not_below_target: missesTarget(before, weight, constraints),
    starts_without_user: startsOtherwise(before, left, inserted.length > 0, pinned),
  };
  return (Object.keys(broken) as Violation[]).filter((name) => broken[name]);
}

/**
 * The messages of the result that the source did not have; `undefined` when
 * retained and discarded messages are not the source. They stand where the first
 * message left, or they are no part of an order at all.
 */
function insertedMessages(
  source: readonly Message[],
  { messages, discarded, discardedAt, shortened }: RebuildResult,
  left: ReadonlySet<number>,
): Message[] | undefined {
  const ascends = discardedAt.every(
    (index, place) => Number.isInteger(index) && index > (discardedAt[place - 1] ?? -1),
  );
  const same =
    discarded.length === discardedAt.length &&
    discardedAt.every(
      (index, place) => index < source.length && discarded[place] === source[index],
    );
  if (!ascends || !same) return undefined;
  const stayed = withShortened(source, shortened).filter((_, index) => !left.has(index));
  const extra = messages.length - stayed.length;
  const place = discardedAt[0] ?? 0;
  const rest = [...messages.slice(0, place), ...messages.slice(place + Math.max(0, extra))];
  const isSource =
    extra >= 0 &&
    rest.length === stayed.length &&
    rest.every((message, index) => message === stayed[index]);
  return isSource ? messages.slice(place, place + extra) : undefined;
}

/** Most messages are the source's own, so their weights are known. */
function weightAfter(
  { messages, weights, weigh }: MeasuredHistory,
  { messages: after, shortened }: RebuildResult,
): number {
  const known = new Map(messages.map((message, index) => [message, weights[index]]));
  for (const { index, replacement } of shortened) known.set(replacement, weigh(replacement, index));
  return after.reduce((sum, message) => sum + (known.get(message) ?? weigh(message)), 1);
}

function isProperSummary(inserted: readonly Message[], hasPlace: boolean): boolean {
  return (
    inserted.length === 0 ||
    (hasPlace && inserted.length === 1 && inserted.every((message) => summaryBytes(message) >= 0))
  );
}

/** Bytes of a summary's text in JSON; -1 when the message is no summary as the log would repeat it. */
function summaryBytes(message: Message): number {
  if (message.role !== "user" || !isSummary(message)) return -1;
  const { content } = message;
  if (typeof content !== "string" || !content.startsWith(SUMMARY_PREFIX)) return -1;
  return jsonTextBytes(content.slice(SUMMARY_PREFIX.length));
}

/** Whether the log, which keeps the outputs' lengths only, will make the same message of it. */
function isRepeatable(source: readonly Message[], shortened: Shortened): boolean {
  const { index, original, replacement, outputs } = shortened;
  const repeated = outputs.reduce<Message>(withShortenedOutput, original);
  return source[index] === original && jsonText(repeated) === jsonText(replacement);
}

function missesTarget(
  before: MeasuredHistory,
  weight: number,
  { targetTokens, pinned }: RebuildConstraints,
): boolean {
  if (targetTokens === undefined) return false;
  const below = weightBelow(targetTokens);
  return weight > below && weightOfFixed(before, fixedGroups(before, pinned)) <= below;
}

/**
 * Providers want a user message first. A pin that has nothing before it any
 * more is the exception, and a call whose result came in a later turn.
 */
function startsOtherwise(
  { messages, groups, groupOf }: MeasuredHistory,
  left: ReadonlySet<number>,
  hasSummary: boolean,
  pinned: readonly number[],
): boolean {
  const isSpoken = (index: number) => messages[index]?.role !== "system";
  const spoken = messages.flatMap((_, index) => (isSpoken(index) ? [index] : []));
  const startsWithTurn = spoken.slice(0, 1).some((index) => startsTurn(messages[index] as Message));
  const first = spoken.find((index) => !left.has(index) || hasSummary) ?? -1;
  if (!startsWithTurn || first < 0 || left.has(first) || messages[first]?.role === "user") {
    return false;
  }
  const members = groups[groupOf[first] ?? -1]?.members ?? [];
  const spansTurns = messages.slice(members[0], members.at(-1)).some(startsTurn);
  return !spansTurns && !members.some((index) => pinned.includes(index));
}
