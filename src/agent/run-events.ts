import { errorText, type SessionError } from "../core/errors.ts";
import type { DurableEvent, Origin } from "../core/event.ts";
import { contentText, type Message, type ToolUse, type UserMessage } from "../core/message.ts";
import type { SessionState } from "../core/session-state.ts";
import { toolFailure } from "./execute-tool.ts";

/** What a run is asked. */
export interface Prompt {
  readonly content: UserMessage["content"];
  readonly origin?: Origin;
  /** Messages that come before it. */
  readonly context: readonly Message[];
}

/** What a run begins with. */
export function openingEvents(
  sessionId: string,
  { content, origin, context }: Prompt,
): DurableEvent[] {
  return [
    ...context.map((message) => ({ type: "message_added", message }) as const),
    {
      type: "run_started",
      session_id: sessionId,
      prompt: contentText(content),
      ...(typeof content === "string" ? {} : { content }),
      ...(origin ? { origin } : {}),
    },
  ];
}

/** Calls that have no result and wait for nobody. */
export function interruptedCalls({ openCalls, waiting }: SessionState): readonly ToolUse[] {
  return openCalls.filter((call) => !waiting.get(call.id));
}

/** Results for calls that never got their own, because of `why`. */
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
