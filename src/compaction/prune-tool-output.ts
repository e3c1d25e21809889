import type { Shortened } from "../core/compactor.ts";
import type { Message } from "../core/message.ts";
import { type MeasuredHistory, measureHistory } from "./measure-history.ts";
import { fixedGroups, SHARE, weightBelow } from "./plan-rebuild.ts";
import { newestOutputs, shortenOldOutput } from "./shorten-group.ts";

/**
 * Part of the target that a pruned history stays below. Pruning rewrites the
 * middle of the history, which costs the provider's prompt cache; when it frees
 * less than this leaves free, it would soon have to be done again.
 */
const HEADROOM = 0.8;

/**
 * Shortens old tool output in a history that has reached its target: the first
 * step against a full window, since it needs no model and parts with nothing
 * that was said. Most of an agent's history is output that it has read and is
 * done with.
 *
 * Spared are the newest group of results, more of the newest up to a quarter of
 * the target, outputs up to 1 KiB, and pins. Returns nothing when that does not
 * bring the history well below the target: then it is a compaction's turn.
 */
export function pruneToolOutput(
  messages: readonly Message[],
  options: { readonly targetTokens: number; readonly pinned?: ReadonlySet<number> },
  history: MeasuredHistory = measureHistory(messages),
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
  return weight <= below * HEADROOM ? shortened.sort((a, b) => a.index - b.index) : [];
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
