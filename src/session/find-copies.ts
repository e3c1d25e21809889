import type { DurableEvent } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import { textsOf } from "../memory/forget-event.ts";
import type { TellingTexts } from "../memory/telling-texts.ts";
import { NO_SOURCE, type Sources } from "./forgotten-sources.ts";
import { LogRedactor, type WhatGoes } from "./log-redactor.ts";

const PAGE = 500;

interface Copies {
  /** Sessions whose logs have copies. */
  readonly sessions: ReadonlySet<string>;
  /** Messages that say it of their own, by the ids that their entries have or would have. */
  readonly messages: ReadonlySet<string>;
}

/** Reads all logs for texts, but not where they come from; `said` is what messages are looked at for. */
export async function findCopies(
  what: WhatGoes,
  said: TellingTexts,
  sources: Sources,
  events: EventStore,
): Promise<Copies> {
  const sessions = new Set<string>();
  const messages = new Set<string>();
  const redactors = new Map<string, LogRedactor>();
  /** Sessions in the middle of a message that says it. */
  const saying = new Set<string>();
  for (let position = 0; ; ) {
    const page = await events.readAll(position, PAGE);
    for (const { sessionId, stored } of page) {
      const source = sources.get(sessionId) ?? NO_SOURCE;
      const redactor = redactors.get(sessionId) ?? new LogRedactor(source, what);
      redactors.set(sessionId, redactor);
      const { seq, event } = stored;
      const rest = redactor.redact(stored);
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

/** Events that end a message of a person or a model. */
const COMPLETING: readonly DurableEvent["type"][] = [
  "run_started",
  "message_added",
  "turn_completed",
];

function says(event: DurableEvent, texts: TellingTexts): boolean {
  if (event.type === "tool_execution_completed") return false;
  return textsOf(event).some((text) => texts.isIn(text));
}
