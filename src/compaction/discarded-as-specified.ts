import { isSummary, type Message } from "../core/message.ts";
import { startsTurn } from "../core/turn.ts";

/**
 * The specification's algorithm: which messages it discards. It keeps system messages and the last
 * `recentTurnBudget` turns, whatever their size. An older summary is never kept, and is no turn.
 */
export function discardedAsSpecified(
  messages: readonly Message[],
  recentTurnBudget: number,
): readonly number[] {
  const starts = messages.flatMap((message, index) => (startsTurn(message) ? [index] : []));
  const from =
    recentTurnBudget === 0 ? messages.length : (starts[starts.length - recentTurnBudget] ?? 0);
  return messages.flatMap((message, index) =>
    message.role !== "system" && (isSummary(message) || index < from) ? [index] : [],
  );
}
