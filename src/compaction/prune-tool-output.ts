import type { Shortened } from "../core/compactor.ts";
import { canonicalJson } from "../core/json-values.ts";
import {
  type Message,
  type ToolResult,
  type ToolUse,
  toolResults,
  toolUses,
} from "../core/message.ts";
import {
  amount,
  group,
  listOf,
  positions,
  reading,
  record,
  requireArgument,
  requireOptions,
} from "../core/options.ts";
import type { Change } from "./expected-cost.ts";
import { type MeasuredHistory, measureHistory } from "./measure-history.ts";
import { fixedGroups, SHARE, weightBelow, weightOfFixed } from "./plan-rebuild.ts";
import {
  LARGE_TO_A_LINE,
  newestOutputs,
  outputWeight,
  type ShortenedGroup,
  type Shortening,
  shortenGroup,
  shortenToFit,
  TO_A_LINE,
  TO_ITS_ENDS,
} from "./shorten-group.ts";

/**
 * Part of the target that a pruned history stays below. Pruning rewrites the
 * middle of the history, which costs the provider's prompt cache; when it frees
 * less than this leaves free, it would soon have to be done again.
 */
const HEADROOM = 0.8;

/** When this share of the target is freed, it is enough that the history is below the target. */
const FREED = 1 - HEADROOM;

/** The newest output is cut, instead of the rest summarised, when the rest takes at most this share. */
const REST_PART = 0.4;

export interface PruneOptions {
  readonly targetTokens: number;
  /** Positions of messages that stay as they are. */
  readonly pinned?: ReadonlySet<number>;
}

const OPTIONS = group({ targetTokens: amount, pinned: positions }, ["targetTokens"]);

/**
 * Shortens old tool output in a history that has reached its target: the first
 * step against a full window, since it needs no model and parts with nothing
 * that was said. Most of an agent's history is output that it has read and is
 * done with. It goes only as far as it has to:
 *
 *     1  what the same call has read again later      T T T  T   ─►  · T T  T
 *     2  old output, of which both ends stay                     ─►  · t t  T
 *     3  old output, of which a note stays                       ─►  · · ·  T
 *     4  the newest, where the rest is small          t t t  TTT ─►  t t t  TT
 *
 * Spared are pins, the newest group of results, and in steps 2 and 3 more of the newest up to a quarter of
 * the target, and outputs up to 1 KiB. A newest group that is too large for any history is cut to fit one
 * whose rest is small: so that huge results, one after the other, do not cost a summary each.
 *
 * Returns nothing when that does not free enough: then it is a compaction's turn.
 */
export function pruneToolOutput(
  messages: readonly Message[],
  options: PruneOptions,
): readonly Shortened[] {
  requireArgument("the messages of pruneToolOutput", listOf(record), messages);
  requireOptions("pruneToolOutput", OPTIONS, options);
  return reading("pruneToolOutput", () => pruneMeasured(measureHistory(messages), options));
}

/** `pruneToolOutput` for a history that was measured before. */
export function pruneMeasured(
  history: MeasuredHistory,
  options: PruneOptions,
): readonly Shortened[] {
  const below = weightBelow(options.targetTokens);
  if (history.weight <= below) return [];
  const fixed = fixedGroups(history, options.pinned);
  const newest = history.groups.findLastIndex((group) => outputWeight(history, group) > 0);
  const isNew = newestOutputs(history, below * SHARE);
  const isOld = history.groups
    .toReversed()
    .map((group) => !isNew(group))
    .reverse();
  const repeated = repeatedResults(history.messages);
  let pruned: ShortenedGroup = { weight: history.weight, shortened: [] };
  for (const old of [undefined, TO_ITS_ENDS, LARGE_TO_A_LINE]) {
    pruned = prunedBy(history, (result, group) => {
      if (fixed.has(group) || group === newest) return undefined;
      if (repeated.has(result)) return TO_A_LINE;
      return isOld[group] ? old : undefined;
    });
    if (pruned.weight <= below * HEADROOM) return pruned.shortened;
  }
  const cut = cutNewest(history, fixed, { at: newest, weight: pruned.weight, below });
  return cut ? [...pruned.shortened, ...cut].sort((a, b) => a.index - b.index) : [];
}

/** The history with each output as short as `wayOf` says. */
function prunedBy(
  history: MeasuredHistory,
  wayOf: (result: ToolResult, group: number) => Shortening | undefined,
): ShortenedGroup {
  let { weight } = history;
  const shortened = history.groups.flatMap((group, index) => {
    const form = shortenGroup(history, group, (result) => wayOf(result, index));
    weight += form.weight - group.weight;
    return form.shortened;
  });
  return { weight, shortened: shortened.sort((a, b) => a.index - b.index) };
}

/** Results of calls that were made again later, with the same arguments and a result that is no error. */
function repeatedResults(messages: readonly Message[]): ReadonlySet<ToolResult> {
  const calls = new Map<string, ToolUse>();
  const newest = new Map<string, ToolResult>();
  const repeated = new Set<ToolResult>();
  for (const message of messages) {
    for (const call of toolUses(message)) calls.set(call.id, call);
    for (const result of toolResults(message)) {
      const { name, args } = calls.get(result.tool_use_id) ?? {};
      const given = canonicalJson(args ?? {});
      // Without arguments, a call may give something else each time: the next of a list.
      if (given === "{}" || result.is_error) continue;
      const before = newest.get(`${name} ${given}`);
      if (before) repeated.add(before);
      newest.set(`${name} ${given}`, result);
    }
  }
  return repeated;
}

/** The change of a history by shortened tool output, which is in its order. */
export function pruning(
  { weights, weight, weigh }: MeasuredHistory,
  shortened: readonly Shortened[],
): Change {
  const freed = shortened.reduce((sum, { index, replacement }) => {
    return sum + (weights[index] ?? 0) - weigh(replacement, index);
  }, 0);
  const before = weights.slice(0, shortened[0]?.index).reduce((sum, each) => sum + each, 0);
  const after = weight - freed;
  return {
    tokensBefore: weight / 4,
    tokensAfter: after / 4,
    rewritten: (after - before) / 4,
    summary: 0,
  };
}

/**
 * Cuts the newest output when it alone takes most of the room and the rest is small.
 * Cuts nothing while it fits and enough was freed. Undefined when a compaction would do better.
 */
function cutNewest(
  history: MeasuredHistory,
  fixed: ReadonlySet<number>,
  { at, weight, below }: { readonly at: number; readonly weight: number; readonly below: number },
): readonly Shortened[] | undefined {
  const newest = history.groups[at];
  if (!newest || fixed.has(at)) return undefined;
  const rest = weight - newest.weight;
  if (rest > below * REST_PART) return undefined;
  if (weight <= below && history.weight - weight >= below * FREED) return [];
  const fitsAlone = weightOfFixed(history, fixed) + newest.weight <= below * (1 - SHARE);
  if (fitsAlone) return undefined;
  return shortenToFit(history, newest, below * HEADROOM - rest)?.shortened;
}

/** The history with less tool output in it. */
export function withShortened(
  messages: readonly Message[],
  shortened: readonly Shortened[],
): Message[] {
  const result = [...messages];
  for (const { index, replacement } of shortened) result[index] = replacement;
  return result;
}
