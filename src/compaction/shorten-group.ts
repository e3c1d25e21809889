import type { Shortened } from "../core/compactor.ts";
import { given } from "../core/fields.ts";
import { type Message, type ToolResult, toolResults } from "../core/message.ts";
import { isShortened, utf8Bytes, withShortenedOutput } from "../core/tokens.ts";
import { textWeight } from "../text/text-weight.ts";
import type { Group, MeasuredHistory } from "./measure-history.ts";

/** How output is shortened. */
export interface Shortening {
  readonly keptBytes: number;
  /** Other output is left alone. */
  isFor(output: string): boolean;
}

/** The part that stays is enough to recognise the call and how it ended. */
export const TO_ITS_ENDS: Shortening = {
  keptBytes: 256,
  isFor: (output) => isLonger(output, LARGE_BYTES),
};

/** Only the note stays, of output that is longer than it. */
export const TO_A_LINE: Shortening = {
  keptBytes: 0,
  isFor: (output) => isLonger(output, NOTE_BYTES),
};

/** Only the note stays, of output that is large, or of which only the ends are left. Smaller output leaves with a summary. */
export const LARGE_TO_A_LINE: Shortening = {
  keptBytes: 0,
  isFor: (output) => TO_ITS_ENDS.isFor(output) || (TO_A_LINE.isFor(output) && isShortened(output)),
};

const LARGE_BYTES = 1024;

/** The most that the note in a shortened output takes. */
const NOTE_BYTES = 128;

/** A shorter rest of an output is useless to a model. */
const NEWEST_OUTPUT_KEPT_BYTES_MIN = 64;

/** A group with less tool output in it. */
export interface ShortenedGroup {
  readonly weight: number;
  readonly shortened: readonly Shortened[];
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
    const isFor = (output: string) => isLonger(output, keptBytes + NOTE_BYTES);
    const way = { keptBytes, isFor };
    const result = shortenGroup(history, group, () => way);
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

function resultsOf({ messages }: MeasuredHistory, group: Group): readonly ToolResult[] {
  return group.members.flatMap((index) => {
    const message = messages[index];
    return message ? toolResults(message) : [];
  });
}

/** The group with each output as short as `wayOf` says. */
export function shortenGroup(
  { messages, weights, weigh, turns }: MeasuredHistory,
  group: Group,
  wayOf: (result: ToolResult) => Shortening | undefined,
): ShortenedGroup {
  let weight = group.weight;
  const shortened: Shortened[] = [];
  for (const index of group.members) {
    const original = messages[index];
    if (original?.role !== "tool_results") continue;
    const kept = new Map<string, number>();
    for (const result of original.results) {
      const { tool_use_id, content } = result;
      const way = wayOf(result);
      if (way?.isFor(content)) kept.set(tool_use_id, way.keptBytes);
    }
    if (kept.size === 0) continue;
    const outputs = Array.from(kept, ([toolUseId, keptBytes]) => {
      return { toolUseId, keptBytes, ...given({ turn: turns[index] }) };
    });
    const replacement = outputs.reduce<Message>(withShortenedOutput, original);
    weight += weigh(replacement, index) - (weights[index] ?? 0);
    shortened.push({ index, original, replacement, outputs });
  }
  return { weight, shortened };
}

function isLonger(text: string, bytes: number): boolean {
  return text.length > bytes || utf8Bytes(text) > bytes;
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
