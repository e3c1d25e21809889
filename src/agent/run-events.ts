import { errorText, type SessionError } from "../core/errors.ts";
import {
  type DurableEvent,
  type GivenInstructions,
  isUsersWord,
  type Origin,
  type TransientEvent,
} from "../core/event.ts";
import { given } from "../core/fields.ts";
import { contentText, type Message, type ToolUse, type UserMessage } from "../core/message.ts";
import type { SessionState } from "../core/session-state.ts";
import { toolFailure } from "./tool-set.ts";

/** The prompt of a run. */
export interface Prompt {
  readonly content: UserMessage["content"];
  readonly origin?: Origin;
  /** Messages that come before it. */
  readonly context: readonly Message[];
  readonly instructions: GivenInstructions;
}

/** The first events of a run. */
export function openingEvents(
  sessionId: string,
  { content, origin, context, instructions }: Prompt,
): DurableEvent[] {
  return [
    ...context.map((message): DurableEvent => {
      // At most the prompt was typed by the user. No knowledge is learned from the rest of a request.
      const others = message.role === "user" && !isUsersWord(origin) ? given({ origin }) : {};
      return { type: "message_added", message, ...others };
    }),
    {
      type: "run_started",
      session_id: sessionId,
      prompt: contentText(content),
      ...(typeof content === "string" ? {} : { content }),
      ...(origin ? { origin } : {}),
      ...instructions,
    },
  ];
}

/** Calls without a result that do not wait for approval. */
export function interruptedCalls({ openCalls, waiting }: SessionState): readonly ToolUse[] {
  return openCalls.filter((call) => !waiting.get(call.id));
}

/** Error results for calls without one. `why` says what happened. */
export function closingEvents(calls: readonly ToolUse[], why: string): DurableEvent[] {
  const { content } = toolFailure("interrupted", why);
  return calls.map((call) => completed(call, content, true, 0));
}

export function completed(
  { id, name }: ToolUse,
  result: string,
  is_error: boolean,
  duration_ms: number,
): DurableEvent {
  return { type: "tool_execution_completed", id, name, result, is_error, duration_ms };
}

export function runFailed(sessionId: string, failure: SessionError): DurableEvent {
  return {
    type: "run_failed",
    session_id: sessionId,
    error: errorText(failure),
    code: failure.code,
  };
}

/** The agent's view of a session: its state, and its log to append to. */
export interface TurnLog {
  readonly state: SessionState;
  /** Appends events, all or none, then updates the state and notifies the listeners. */
  commit(events: readonly DurableEvent[]): Promise<void>;
  /** Appends the events that `decide` returns for the current state. */
  update(decide: (state: SessionState) => readonly DurableEvent[]): Promise<void>;
  /** Sends the listeners an event that is not stored. */
  stream(event: TransientEvent): void;
}
