import { contentText, isSummary, toolResults, toolUses } from "../core/message.ts";
import { instructionsIn } from "../knowledge/instructions-in.ts";
import type { Unit } from "./units.ts";

/** The part of a compacted history that messages with standing instructions may take. */
const INSTRUCTIONS_PART = 1 / 10;

/**
 * Positions of what has to stay besides the last user message: user messages right before it or at the
 * end, calls that still wait for a result, and user messages with standing instructions.
 */
export function pinnedUnits(units: readonly Unit[], targetTokens: number): readonly number[] {
  const pins = new Set([...lastUsers(units), ...openCalls(units)]);
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

/** The last user message, and those in a row with it: a user may have said several things at once. */
function lastUsers(units: readonly Unit[]): readonly number[] {
  const last = units.findLastIndex(isUser);
  const before = units.findLastIndex((unit, index) => index < last && !isUser(unit));
  return units.flatMap((_, index) => (index > before && index <= last ? [index] : []));
}

/** Calls since the last user message without a result. Someone is asked for approval, or a tool runs. */
function openCalls(units: readonly Unit[]): readonly number[] {
  const results = new Set(
    units.flatMap(({ pieces }) =>
      pieces.flatMap((piece) => toolResults(piece).map(({ tool_use_id }) => tool_use_id)),
    ),
  );
  const last = units.findLastIndex(isUser);
  return units.flatMap(({ pieces }, index) =>
    index > last && pieces.flatMap(toolUses).some(({ id }) => !results.has(id)) ? [index] : [],
  );
}

function hasInstructions(unit: Unit): boolean {
  const [message] = unit.pieces;
  if (message?.role !== "user" || isSummary(message)) return false;
  return instructionsIn(contentText(message.content)).length > 0;
}
