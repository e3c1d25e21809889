import type { Origin } from "../core/event.ts";
import { type Message, type StopReason, toolUses, type UserMessage } from "../core/message.ts";
import { startsTurn } from "../core/turn.ts";
import type { Recording } from "../transcripts/recording.ts";
import { joinResults, type RecordedAnswer } from "./join-results.ts";

/**
 * A recording, cut into what a session service is asked for:
 *
 *     S A    U A T A    S U A A    U      U A S
 *     seed   └ turn ┘   └ turn ┘   turn   └ turn
 *
 * A system message belongs to the turn that it comes before; the very last to
 * the last turn.
 */
export interface ReplayPlan {
  /** What comes before the first user message. */
  readonly seed: readonly Message[];
  readonly turns: readonly ReplayTurn[];
  /** The names of all tools that the turns call. */
  readonly toolNames: readonly string[];
}

export interface ReplayTurn {
  /** System messages that come before the prompt. */
  readonly context: readonly Message[];
  readonly prompt: UserMessage["content"];
  readonly origin?: Origin;
  /** What the model says, one answer for each time that it is called. */
  readonly answers: readonly RecordedAnswer[];
}

export function planReplay(recording: Recording): ReplayPlan {
  const seed: Message[] = [];
  const turns: TurnInTheMaking[] = [];
  let context: Message[] = [];
  for (const entry of joinResults(recording.messages)) {
    const { message, origin } = entry;
    const turn = turns.at(-1);
    if ("results" in entry) {
      if (turn) turn.answers.push(entry);
      else seed.push(...messagesOf(entry));
    } else if (message.role === "user" && (turn || startsTurn(message))) {
      const prompt = message.content;
      turns.push({ context, prompt, answers: [], ...(origin ? { origin } : {}) });
      context = [];
    } else {
      (turn ? context : seed).push(message);
    }
  }
  turns.at(-1)?.context.push(...context);
  const calls = turns.flatMap(({ answers }) => answers.flatMap(({ message }) => toolUses(message)));
  return {
    seed,
    turns: turns.map((turn) => ({ ...turn, answers: turn.answers.map(withStopReason) })),
    toolNames: [...new Set(calls.map((call) => call.name))],
  };
}

interface TurnInTheMaking extends ReplayTurn {
  readonly context: Message[];
  readonly answers: RecordedAnswer[];
}

/** Reasons to stop that end a turn; with any other the recording goes on. */
const ENDS: readonly StopReason[] = ["end_turn", "max_tokens", "stop_sequence", "content_filter"];

function withStopReason(
  answer: RecordedAnswer,
  index: number,
  answers: readonly RecordedAnswer[],
): RecordedAnswer {
  const { stop_reason } = answer.message;
  const last = index === answers.length - 1;
  const stays = last && ENDS.includes(stop_reason);
  const reason =
    answer.results.size > 0 ? "tool_use" : !last ? "pause_turn" : stays ? stop_reason : "end_turn";
  return { ...answer, message: { ...answer.message, stop_reason: reason } };
}

function messagesOf(answer: RecordedAnswer): readonly Message[] {
  if (answer.results.size === 0) return [answer.message];
  const results = toolUses(answer.message).flatMap(({ id }) => {
    const output = answer.results.get(id);
    return output ? [{ tool_use_id: id, ...output }] : [];
  });
  return [answer.message, { role: "tool_results", results }];
}
