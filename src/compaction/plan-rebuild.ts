import {
  type CompactionConfig,
  isCrowded,
  type RebuildConstraints,
  type Shortened,
} from "../core/compactor.ts";
import { isSummary, type Message, summaryMessage } from "../core/message.ts";
import { jsonBytes, messageWeight } from "../core/tokens.ts";
import { type Group, type MeasuredHistory, measureHistory } from "./measure-history.ts";
import {
  newestOutputs,
  outputWeight,
  type ShortenedGroup,
  shortenGroup,
  shortenToFit,
  TO_ITS_ENDS,
} from "./shorten-group.ts";

/** The steps of a rebuild, decided before a summary is written. */
export interface RebuildPlan {
  /** Ascending positions. */
  readonly discardedAt: readonly number[];
  readonly shortened: readonly Shortened[];
  /** Bytes of JSON, and quarter tokens, that the summary's text may take; 0 when it has no place. */
  readonly summaryBytesMax: number;
}

/** The largest weight (see `MeasuredHistory`) of a history that is below `targetTokens`. */
export function weightBelow(targetTokens: number): number {
  return Math.ceil(targetTokens) * 4 - 1;
}

/**
 * The part of the target that a summary may take, that the newest tool output
 * takes unshortened, and that a cut inside a turn leaves free.
 */
export const SHARE = 1 / 4;

/**
 * The part of the target that recent turns, the summary and all that always stays may take together when no
 * number of turns was given. A history that grows from there to the threshold is seven tenths of it on average.
 */
const RECENT_PART = 2 / 5;

/**
 * The part of the target, without what always stays, that the turns of the default budget may take. Where they take more,
 * fewer stay, down to the last: else the next compaction, which costs another summary, would soon be due.
 */
const BUDGET_PART = 2 / 5;

/** The part of a target out of reach that has to be won for anything to leave. */
const LEAST_PART = 1 / 20;

/** A summary that is cut shorter than this says nothing. */
export const USEFUL_SUMMARY_BYTES = 128;

/** The size of a summary message without its text, as a weight and in bytes. */
const SUMMARY_WEIGHT = messageWeight(summaryMessage("")) + 1;
const SUMMARY_BYTES = jsonBytes(summaryMessage("")) + 1;

/**
 * Decides what stays. In this order, until the history is below the target with
 * room for a summary:
 *
 *     1  the recent turns that the budget asks for,   S ·········· U A  U A T  U A T A T
 *        or more where it is only a default
 *     2  fewer of them, down to the last              S ····················· U A T A T
 *     3  the last with its old tool output shortened  S ····················· U A t A T
 *     4  of the last, its user message and the newest
 *        groups, the very newest shortened to fit     S ····················· U ··· A T
 *     5  its user message alone                       S ····················· U ·······
 *
 * System messages and pins stay through all of this. The summary takes what is
 * left, up to its share, and has no place when that is next to nothing.
 *
 * No step keeps more messages than `windowSize`, if it is set. When only the number of
 * messages is too large, only that counts: step 1 then keeps as many turns as the window
 * has room for.
 */
export function planRebuild(
  messages: readonly Message[],
  config: CompactionConfig,
  constraints: RebuildConstraints & { readonly keepsMoreTurns?: boolean },
): RebuildPlan {
  const targetTokens = constraints.targetTokens ?? config.autoCompactThreshold;
  const below = weightBelow(targetTokens);
  const history = measureHistory(messages, constraints);
  const over = history.weight > below;
  const fixed = fixedGroups(history, constraints.pinned);
  if (constraints.bare) {
    return { discardedAt: leaving(history, fixed), shortened: [], summaryBytesMax: 0 };
  }
  const loose = looseMessages(history, fixed);
  const messagesMax = config.windowSize ?? Infinity;
  const asked =
    constraints.force === true &&
    (history.turnCount > config.recentTurnBudget || loose > messagesMax);
  if (!over && !asked && !isCrowded(loose, config)) return NOTHING;
  const budget = over || asked ? config.recentTurnBudget : history.turnCount;

  const fixedWeight = weightOfFixed(history, fixed);
  const attainable = fixedWeight <= below;
  const { wordsTokens = 0 } = constraints;
  const summaryTokens = Math.min(config.maxSummaryTokens, Math.floor(targetTokens * SHARE));
  const reserve = 4 * (summaryTokens + wordsTokens);
  const summaryWeight = reserve < USEFUL_SUMMARY_BYTES ? 0 : SUMMARY_WEIGHT + reserve;
  const share = Math.floor(below * SHARE);
  const isDefault = over && constraints.keepsMoreTurns === true;
  const room: Room = {
    // A target that cannot be reached is no reason to forget everything: there is room then for
    // a summary and for what is newest, so that an agent in the middle of its work gets on.
    max: attainable ? below : fixedWeight + summaryWeight + share,
    messages: messagesMax,
    fixed: fixedWeight,
    summary: summaryWeight,
    share,
    recent: isDefault ? Math.floor(below * RECENT_PART) : 0,
    turns: isDefault ? fixedWeight + (below - fixedWeight) * BUDGET_PART : Infinity,
  };

  const kept = keepTurns(history, fixed, room, budget) ?? keepGroups(history, fixed, room, budget);
  const { shortened } = kept;
  const discardedAt = leaving(history, kept.groups);
  // No message of the conversation would leave.
  if (discardedAt.every((index) => isSummary(messages[index] as Message))) {
    const summaries = discardedAt.reduce((sum, index) => sum + (history.weights[index] ?? 0), 0);
    const withThem = kept.weight + summaries <= room.max;
    if (!over) return NOTHING;
    if (shortened.length > 0 && (withThem || !attainable)) {
      return { discardedAt: [], shortened, summaryBytesMax: 0 };
    }
    // Replacing a summary alone helps only when the summary makes the history too large.
    if (withThem || !attainable) return NOTHING;
  }

  // The fixed messages are too large, and little else could leave.
  if (!attainable && history.weight - kept.weight < below * LEAST_PART) return NOTHING;
  const left = room.max - kept.weight - SUMMARY_WEIGHT;
  const price = summaryPrice(history, discardedAt, shortened, wordsTokens);
  const bytes = summaryWeight === 0 ? 0 : Math.min(left, reserve, price);
  const summaryBytesMax = bytes < USEFUL_SUMMARY_BYTES ? 0 : Math.floor(bytes);
  // Without a need for room, a turn must not be lost without a trace.
  if (!over && summaryBytesMax === 0) return NOTHING;
  return { discardedAt, shortened, summaryBytesMax };
}

/** A summary may take this share of the discarded messages. A smaller gain is not worth a model's call. */
export const PRICE_PART = 2 / 3;

/**
 * The longest summary that is worth its call: two thirds of the weight of the discarded
 * text, and fewer bytes than that text has. The words of people in it are carried on, and cost no call.
 */
export function summaryPrice(
  { messages, weights }: MeasuredHistory,
  discardedAt: readonly number[],
  shortened: readonly Shortened[],
  wordsTokens = 0,
): number {
  const weight = discardedAt.reduce((sum, index) => sum + (weights[index] ?? 0), 0);
  const sizeOf = (message: Message | undefined) => jsonBytes(message) + 1;
  const bytes =
    discardedAt.reduce((sum, index) => sum + sizeOf(messages[index]), 0) +
    shortened.reduce((sum, { original, replacement }) => {
      return sum + jsonBytes(original) - jsonBytes(replacement);
    }, 0);
  const worth = weight * PRICE_PART - SUMMARY_WEIGHT;
  const words = Math.min(4 * wordsTokens, carriedBytesMax(worth));
  return Math.min(worth + words * (1 - PRICE_PART), bytes - 1 - SUMMARY_BYTES);
}

/** The weight of the longest summary of messages that is worth its call, when it carries nothing on. */
export function worthOf(discarded: readonly Message[]): number {
  const weight = discarded.reduce((sum, message) => sum + messageWeight(message) + 1, 0);
  return weight * PRICE_PART - SUMMARY_WEIGHT;
}

/** The part of its room that a summary keeps for what is not carried on. */
const SUMMARY_PART = 1 / 10;

/** Bytes of a summary that are its own, however many words of people it carries on. */
export function ownBytes(bytes: number): number {
  return Math.max(Math.floor(bytes * SUMMARY_PART), USEFUL_SUMMARY_BYTES);
}

/** Bytes that people's words may take in a summary that is worth so much: a third of them comes on top. */
export function carriedBytesMax(worth: number): number {
  return Math.max(0, Math.floor((worth - ownBytes(worth)) / PRICE_PART));
}

const NOTHING: RebuildPlan = { discardedAt: [], shortened: [], summaryBytesMax: 0 };

/** The limits of a plan. All are weights, except `messages`. */
interface Room {
  /** The rebuilt history. */
  readonly max: number;
  /** Messages that stay, besides the fixed ones. */
  readonly messages: number;
  /** The fixed messages, which always stay. */
  readonly fixed: number;
  /** The longest summary. */
  readonly summary: number;
  /** The rebuilt history with more turns than the budget asks for. */
  readonly recent: number;
  /** The turns of the default budget, if there are several, and all that always stays. */
  readonly turns: number;
  /** The newest tool output that is not shortened, and the room that a cut inside a turn leaves free. */
  readonly share: number;
}

interface Kept {
  readonly groups: ReadonlySet<number>;
  readonly shortened: readonly Shortened[];
  /** The weight of everything that stays, without the summary. */
  readonly weight: number;
}

/** Groups that stay whatever happens: those of pinned messages, and the last user message. */
export function fixedGroups(
  { groupOf, lastUser }: MeasuredHistory,
  pinned: ReadonlySet<number> = new Set(),
): ReadonlySet<number> {
  const groups = [lastUser, ...pinned].map((index) => groupOf[index] ?? -1);
  return new Set(groups.filter((group) => group >= 0));
}

/** Weight of a history of system messages and `fixed` alone. */
export function weightOfFixed(history: MeasuredHistory, fixed: ReadonlySet<number>): number {
  let weight = 1;
  history.messages.forEach((message, index) => {
    if (staysAsSystem(message, history.groupOf[index])) weight += history.weights[index] ?? 0;
  });
  for (const group of fixed) weight += history.groups[group]?.weight ?? 0;
  return weight;
}

/** Only a system message that has been superseded is in a group. */
function staysAsSystem({ role }: Message, group = -1): boolean {
  return role === "system" && group < 0;
}

/** Messages in groups that are not fixed. */
export function looseMessages({ groups }: MeasuredHistory, fixed: ReadonlySet<number>): number {
  return groups.reduce(
    (sum, { members }, group) => sum + (fixed.has(group) ? 0 : members.length),
    0,
  );
}

function leaving(
  { messages, groupOf }: MeasuredHistory,
  stays: ReadonlySet<number>,
): readonly number[] {
  return messages.flatMap((message, index) =>
    staysAsSystem(message, groupOf[index]) || stays.has(groupOf[index] ?? -1) ? [] : [index],
  );
}

/** Steps 1 and 2: as many whole turns as the budget and the room allow; `undefined` for none. */
function keepTurns(
  { groups, turnCount }: MeasuredHistory,
  fixed: ReadonlySet<number>,
  room: Room,
  budget: number,
): Kept | undefined {
  // Groups by turn. Messages before the first turn count as a turn of their own.
  const weights = Array.from({ length: turnCount + 1 }, () => 0);
  const counts = [...weights];
  groups.forEach(({ turn, weight, members }, group) => {
    if (fixed.has(group)) return;
    weights[turn + 1] = (weights[turn + 1] ?? 0) + weight;
    counts[turn + 1] = (counts[turn + 1] ?? 0) + members.length;
  });
  const asked = turnCount <= budget ? -1 : turnCount - budget;
  const first = room.recent > 0 ? -1 : asked;
  let weight = sumFrom(weights, first + 1) + room.fixed;
  let messages = sumFrom(counts, first + 1);
  for (let from = first; from < turnCount || from === -1; from += 1) {
    const isLast = from === turnCount - 1;
    const max = from < asked ? Math.min(room.recent, room.max) : room.max;
    const fits = weight + room.summary <= max && (isLast || weight <= room.turns);
    if (fits && messages <= room.messages) {
      const stay = groups.flatMap(({ turn }, group) => (turn >= from ? [group] : []));
      return { groups: new Set([...fixed, ...stay]), shortened: [], weight };
    }
    weight -= weights[from + 1] ?? 0;
    messages -= counts[from + 1] ?? 0;
  }
  return undefined;
}

function sumFrom(numbers: readonly number[], start: number): number {
  return numbers.slice(start).reduce((sum, each) => sum + each, 0);
}

/** Steps 3 to 5: as much of the last turn as the room allows. */
function keepGroups(
  history: MeasuredHistory,
  fixed: ReadonlySet<number>,
  room: Room,
  budget: number,
): Kept {
  const { groups, turnCount } = history;
  const loose = groups.flatMap((_, group) => (fixed.has(group) ? [] : [group]));
  const last = loose.filter((group) => groups[group]?.turn === turnCount - 1);
  const fits = budget === 0 && turnCount > 0 ? [] : newestThatFit(history, last.reverse(), room);
  const whole = fits.length === last.length && last.length < loose.length;
  // A cut leaves a share free, so that the next one is not needed at once.
  const limit = room.max - room.share;
  const stay = whole ? fits : fits.filter(({ weight, newest }) => newest || weight <= limit);
  return {
    groups: new Set([...fixed, ...stay.map(({ group }) => group)]),
    shortened: stay.flatMap(({ shortened }) => shortened).sort((a, b) => a.index - b.index),
    weight: (stay.at(-1)?.weight ?? room.fixed + room.summary) - room.summary,
  };
}

interface FittingGroup {
  readonly group: number;
  readonly shortened: readonly Shortened[];
  /** The weight of the history down to this group, with a summary. */
  readonly weight: number;
  /** It is the newest that has tool output, or newer still. */
  readonly newest: boolean;
}

function newestThatFit(
  history: MeasuredHistory,
  newestFirst: readonly number[],
  room: Room,
): FittingGroup[] {
  const fits: FittingGroup[] = [];
  const isSpared = newestOutputs(history, room.share);
  let weight = room.fixed + room.summary;
  let messages = 0;
  let newest = true;
  for (const group of newestFirst) {
    const whole = history.groups[group] as Group;
    const hasOutput = outputWeight(history, whole) > 0;
    const spared = isSpared(whole);
    let form: ShortenedGroup | undefined = { weight: whole.weight, shortened: [] };
    if (hasOutput && !spared) form = shortenGroup(history, whole, () => TO_ITS_ENDS);
    if (weight + form.weight > room.max && hasOutput && newest) {
      form = shortenToFit(history, whole, room.max - weight);
    }
    if (!form || weight + form.weight > room.max) break;
    messages += whole.members.length;
    // Calls side by side may have more results than the window has messages.
    if (messages > room.messages && fits.length > 0) break;
    weight += form.weight;
    fits.push({ group, shortened: form.shortened, weight, newest });
    if (hasOutput) newest = false;
  }
  return fits;
}
