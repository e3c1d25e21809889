import type { DurableEvent, StoredEvent } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import { textsOf } from "./forget-event.ts";
import type { ForgottenPhrases } from "./forgotten-phrases.ts";
import { logRedactor, type WhatGoes } from "./redact-log.ts";
import { NO_SOURCE, type Sources } from "./sources.ts";

const PAGE = 500;

interface Copies {
  /** Sessions whose logs have copies. */
  readonly sessions: ReadonlySet<string>;
  /** Other messages that say the same, by the ids that their memory entries have or would have. */
  readonly messages: ReadonlySet<string>;
}

/** Reads all logs for copies of what goes, and for other messages that say one of `said`. */
export async function findCopies(
  what: WhatGoes,
  said: ForgottenPhrases,
  sources: Sources,
  events: EventStore,
): Promise<Copies> {
  const sessions = new Set<string>();
  const messages = new Set<string>();
  const redactors = new Map<string, (stored: StoredEvent) => DurableEvent>();
  /** Sessions whose current message says it. The message is not complete yet. */
  const saying = new Set<string>();
  for (let position = 0; ; ) {
    const page = await events.readAll(position, PAGE);
    for (const { sessionId, stored } of page) {
      const source = sources.get(sessionId) ?? NO_SOURCE;
      const redact = redactors.get(sessionId) ?? logRedactor(source, what);
      redactors.set(sessionId, redact);
      const { seq, event } = stored;
      const rest = redact(stored);
      if (source.events.has(seq)) continue;
      if (rest !== event) sessions.add(sessionId);
      if (event.type === "turn_started") saying.delete(sessionId);
      if (says(rest, said)) saying.add(sessionId);
      if (COMPLETING.includes(event.type) && saying.delete(sessionId)) {
        messages.add(`${sessionId}:${seq}`);
      }
    }
    const last = page.at(-1);
    if (!last) return { sessions, messages };
    position = last.position;
  }
}

/** Events that complete a message of a person or a model. */
const COMPLETING: readonly DurableEvent["type"][] = [
  "run_started",
  "message_added",
  "turn_completed",
];

function says(event: DurableEvent, phrases: ForgottenPhrases): boolean {
  if (event.type === "tool_execution_completed") return false;
  return textsOf(event).some((text) => phrases.isIn(text));
}
