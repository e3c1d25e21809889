import type { EventEnvelope } from "./event.ts";
import { contentText } from "./message.ts";

/** Events at the start of a session, of which one has its first prompt. */
export const FIRST_EVENTS = 20;

/** The prompt that a session began with, of its first events. `undefined` when they have none. */
export function firstPromptOf(
  events: readonly Pick<EventEnvelope, "payload">[],
): string | undefined {
  for (const { payload } of events) {
    if (payload.type === "run_started") return payload.prompt;
    if (payload.type === "message_added" && payload.message.role === "user")
      return contentText(payload.message.content);
  }
  return undefined;
}
