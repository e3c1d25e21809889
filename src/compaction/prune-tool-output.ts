import type { Shortened } from "../core/compactor.ts";
import type { Message } from "../core/message.ts";
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
import { newestOutputs, outputWeight, shortenOldOutput, shortenToFit } from "./shorten-group.ts";

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
 * done with.
 *
 * Spared are the newest group of results, more of the newest up to a quarter of
 * the target, outputs up to 1 KiB, and pins. A newest group that is too large for
 * any history is cut to fit one whose rest is small: so that huge results, one
 * after the other, do not cost a summary each.
 *
 *     old output    T T T  T   ─►  t t t  T          no model
 *     one too many  t t t  TTT ─►  t t t  TT         no model
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
  const isSpared = newestOutputs(history, below * SHARE);
  const shortened: Shortened[] = [];
  let { weight } = history;
  for (const [index, group] of [...history.groups.entries()].reverse()) {
    if (isSpared(group) || fixed.has(index)) continue;
    const form = shortenOldOutput(history, group);
    weight += form.weight - group.weight;
    shortened.push(...form.shortened);
  }
  if (weight > below * HEADROOM) {
    const cut = cutNewest(history, fixed, weight, below);
    if (!cut) return [];
    shortened.push(...cut);
  }
  return shortened.sort((a, b) => a.index - b.index);
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
  weight: number,
  below: number,
): readonly Shortened[] | undefined {
  const at = history.groups.findLastIndex((group) => outputWeight(history, group) > 0);
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
