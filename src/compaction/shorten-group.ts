import type { Shortened } from "../core/compactor.ts";
import { type ToolResult, toolResults } from "../core/message.ts";
import { utf8Bytes, withShortenedOutput } from "../core/tokens.ts";
import { textWeight } from "../text/text-weight.ts";
import type { Group, MeasuredHistory } from "./measure-history.ts";

/** Shorter output is left alone: the note on the missing text would be as long as the text. */
const OUTPUT_WORTH_SHORTENING_BYTES = 1024;

/** Bytes that stay of an old output: enough to recognise the call and how it ended. */
const OLD_OUTPUT_KEPT_BYTES = 256;

/** A shorter rest of an output is useless to a model. */
const NEWEST_OUTPUT_KEPT_BYTES_MIN = 64;

/** A group with less tool output in it. */
export interface ShortenedGroup {
  readonly weight: number;
  readonly shortened: readonly Shortened[];
}

/** The group with every long enough output cut down to the size of an old one. */
export function shortenOldOutput(history: MeasuredHistory, group: Group): ShortenedGroup {
  return shorten(history, group, OUTPUT_WORTH_SHORTENING_BYTES, OLD_OUTPUT_KEPT_BYTES);
}

/**
 * The group with its longest outputs cut to the same length, as long as makes
 * it fit `weightMax`; `undefined` when no length does that still says something.
 */
export function shortenToFit(
  history: MeasuredHistory,
  group: Group,
  weightMax: number,
): ShortenedGroup | undefined {
  const outputs = resultsOf(history, group).map(({ content }) => content);
  const raw = outputs.map(utf8Bytes);
  const rawTotal = raw.reduce((sum, bytes) => sum + bytes, 0);
  const weightTotal = outputs.reduce((sum, output) => sum + textWeight(output), 0);
  const room = weightMax - (group.weight - weightTotal) - outputs.length * NOTE_BYTES;
  let keptBytes = waterLevel(raw, (room * rawTotal) / Math.max(1, weightTotal));
  // The kept text may weigh more per byte than the removed text, so the first level can be too high.
  while (keptBytes >= NEWEST_OUTPUT_KEPT_BYTES_MIN) {
    const result = shorten(history, group, keptBytes + NOTE_BYTES, keptBytes);
    if (result.weight <= weightMax) return result;
    keptBytes = Math.floor(keptBytes * 0.7);
  }
  return undefined;
}

/**
 * A function that says whether a group's output is spared, when called from the newest group to the oldest:
 * the newest output is spared, and more until their weight reaches `weightMax`.
 */
export function newestOutputs(
  history: MeasuredHistory,
  weightMax: number,
): (group: Group) => boolean {
  let weight = 0;
  let sparing = true;
  return (group) => {
    if (!sparing) return false;
    const more = outputWeight(history, group);
    sparing = weight === 0 || weight + more <= weightMax;
    weight += more;
    return sparing;
  };
}

/** The weight of the tool output in a group. */
export function outputWeight(history: MeasuredHistory, group: Group): number {
  return resultsOf(history, group).reduce((sum, result) => sum + textWeight(result.content), 0);
}

/** The most that the note in a shortened output takes. */
const NOTE_BYTES = 128;

function resultsOf({ messages }: MeasuredHistory, group: Group): readonly ToolResult[] {
  return group.members.flatMap((index) => {
    const message = messages[index];
    return message ? toolResults(message) : [];
  });
}

function shorten(
  { messages, weights, weigh }: MeasuredHistory,
  group: Group,
  longerThan: number,
  keptBytes: number,
): ShortenedGroup {
  let weight = group.weight;
  const shortened: Shortened[] = [];
  for (const index of group.members) {
    const original = messages[index];
    if (original?.role !== "tool_results") continue;
    const long = original.results.filter(
      ({ content }) => content.length > longerThan || utf8Bytes(content) > longerThan,
    );
    if (long.length === 0) continue;
    const ids = new Set(long.map((result) => result.tool_use_id));
    const outputs = [...ids].map((toolUseId) => ({ toolUseId, keptBytes }));
    const replacement = outputs.reduce(
      (message, output) => withShortenedOutput(message, output.toolUseId, output.keptBytes),
      original as (typeof messages)[number],
    );
    weight += weigh(replacement, index) - (weights[index] ?? 0);
    shortened.push({ index, original, replacement, outputs });
  }
  return { weight, shortened };
}

/** The level L at which the sum of min(size, L) is `room`. */
function waterLevel(sizes: readonly number[], room: number): number {
  const ascending = [...sizes].sort((a, b) => a - b);
  let left = room;
  for (const [index, size] of ascending.entries()) {
    const level = Math.floor(left / (ascending.length - index));
    if (level < size) return level;
    left -= size;
  }
  return ascending.at(-1) ?? 0;
}
