import type { DurableEvent } from "./event.ts";
import { isSummary, type Message } from "./message.ts";

export type Turn = readonly Message[];

/**
 * Splits a history into its turns and what comes before the first one.
 *
 * A turn is a user message and everything that answers it, up to the next user
 * message:
 *
 *     S   C   U A T A   U A   U A T        C: the summary of a compaction
 *     preamble└ turn ┘  └ ─┘  └ ──┘
 *
 * A summary is never a turn. This is the only definition of a turn: to count turns, call it or
 * `startsTurn`.
 */
export function splitTurns(messages: readonly Message[]): {
  readonly preamble: readonly Message[];
  readonly turns: readonly Turn[];
} {
  const starts = messages.flatMap((message, index) => (startsTurn(message) ? [index] : []));
  const preamble = messages.slice(0, starts[0] ?? messages.length);
  const turns = starts.map((start, index) => messages.slice(start, starts[index + 1]));
  return { preamble, turns };
}

export function startsTurn(message: Message): boolean {
  return message.role === "user" && !isSummary(message);
}

/** Whether a turn begins with the event. The same rule as for messages. */
export function beginsTurn(event: DurableEvent): boolean {
  return (
    event.type === "run_started" || (event.type === "message_added" && startsTurn(event.message))
  );
}
