import { errorText, type SessionError } from "../core/errors.ts";
import {
  type DurableEvent,
  type GivenInstructions,
  isUsersWord,
  type Origin,
} from "../core/event.ts";
import { given } from "../core/fields.ts";
import { contentText, type Message, type ToolUse, type UserMessage } from "../core/message.ts";
import type { SessionState } from "../core/session-state.ts";
import { toolFailure } from "./execute-tool.ts";

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
      // The user typed the prompt at most. What else is in a request does not teach.
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
