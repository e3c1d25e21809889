import type { Origin } from "../core/event.ts";
import { type Message, type StopReason, toolUses, type UserMessage } from "../core/message.ts";
import { startsTurn } from "../core/turn.ts";
import type { Recording } from "../transcripts/recording.ts";
import { joinResults, type RecordedAnswer } from "./join-results.ts";

/**
 * A recording, split into the requests for a session service:
 *
 *     S A    U A T A    S U A A    U      U A S
 *     seed   └ turn ┘   └ turn ┘   turn   └ turn
 *
 * A system message belongs to the next turn. At the end of the recording it belongs
 * to the last turn. Summaries of the program that recorded it are left out.
 */
export interface ReplayPlan {
  /** The messages before the first user message. */
  readonly seed: readonly Message[];
  readonly turns: readonly ReplayTurn[];
  /** The names of all called tools. */
  readonly toolNames: readonly string[];
}

export interface ReplayTurn {
  /** System messages before the prompt. */
  readonly context: readonly Message[];
  readonly prompt: UserMessage["content"];
  readonly origin?: Origin;
  /** One for each model call. */
  readonly answers: readonly RecordedAnswer[];
}

export function planReplay(recording: Recording): ReplayPlan {
  const seed: Message[] = [];
  const turns: TurnInTheMaking[] = [];
  let context: Message[] = [];
  const said = recording.messages.filter(({ boundary }) => boundary !== "compaction");
  for (const entry of joinResults(said)) {
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

/** Stop reasons that end a turn. */
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
