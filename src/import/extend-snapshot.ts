import type { Message } from "../core/message.ts";
import { indexableText } from "../core/message.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { messageWeight, tokensOfWeight } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";

/** A message that is one event at the end of the log. */
export interface AppendedMessage {
  readonly message: Message;
  /** It is the summary of a compaction of the agent. */
  readonly isCompaction: boolean;
  readonly timestampMs: number;
}

/**
 * The snapshot of a session after more messages. Other than `SessionState`, it needs none of the
 * messages before, so that a session of a gigabyte is imported in little memory.
 */
export function extendSnapshot(
  before: SessionSnapshot,
  added: readonly AppendedMessage[],
): SessionSnapshot {
  if (added.length === 0) return before;
  const from = before.seq + 1;
  const to = before.seq + added.length;
  const last = before.history.at(-1);
  const goesOn = last !== undefined && last.to === before.seq;
  const run = goesOn
    ? { ...last, to }
    : { from, to, ordinal: before.message_count, turns_before: before.turns };
  const texts = added.flatMap(({ message }) => textOfModel(message));
  const weight = added.reduce((sum, { message }) => sum + messageWeight(message), 0);
  const compactions = added.filter(({ isCompaction }) => isCompaction).length;
  return {
    ...before,
    // Without a number, whoever opens the session counts them.
    ...(before.recorded_compactions === undefined
      ? {}
      : { recorded_compactions: before.recorded_compactions + compactions }),
    seq: to,
    updated_at_ms: Math.max(before.updated_at_ms, ...added.map((one) => one.timestampMs)),
    turns: before.turns + added.filter(({ message }) => startsTurn(message)).length,
    message_count: before.message_count + added.length,
    last_assistant_text: texts.at(-1) ?? before.last_assistant_text,
    history_tokens: before.history_tokens + tokensOfWeight(weight, added.length),
    history: [...(goesOn ? before.history.slice(0, -1) : before.history), run],
  };
}

function textOfModel(message: Message): readonly string[] {
  const isModels = message.role === "assistant" || message.role === "block_assistant";
  const text = isModels ? indexableText(message) : "";
  return text === "" ? [] : [text];
}
