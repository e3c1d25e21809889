import type { HistoryEntry } from "../core/history-entry.ts";

/** System messages whose first characters are the same, except for digits, are of one kind. */
const KIND_CHARACTERS = 24;

/**
 * Positions of system messages that have been superseded. Those that the session
 * began with never are. Of those that came with later turns:
 *
 *     S  U A  Stime 9:00  U A  Srule  U A  Stime 9:05  U A
 *             └ superseded: a later one begins alike, or is the same
 *
 * When the others still take more than `tokensMax`, the oldest of them count as
 * superseded too, except those of the newest turn that has any.
 */
export function supersededMessages(
  history: readonly HistoryEntry[],
  tokensMax: number,
): readonly number[] {
  const system = history.flatMap((entry, position) =>
    entry.message.role === "system"
      ? [{ entry, position, kind: kindOf(entry.message.content) }]
      : [],
  );
  const newestTurn = system.at(-1)?.entry.turn ?? -1;
  const later = system.filter(({ entry }) => entry.turn >= 0);
  const last = new Map(later.map(({ kind, position }) => [kind, position]));
  const isReplaced = ({ kind, position }: (typeof later)[number]) => last.get(kind) !== position;
  const superseded = new Set(later.filter(isReplaced).map(({ position }) => position));
  let weight = system
    .filter(({ position }) => !superseded.has(position))
    .reduce((sum, { entry }) => sum + entry.weight, 0);
  for (const { entry, position } of later) {
    if (weight <= tokensMax * 4) break;
    if (superseded.has(position) || entry.turn === newestTurn) continue;
    superseded.add(position);
    weight -= entry.weight;
  }
  return [...superseded].sort((a, b) => a - b);
}

function kindOf(content: string): string {
  return content.trim().replace(/\d+/g, "0").slice(0, KIND_CHARACTERS).toLowerCase();
}
