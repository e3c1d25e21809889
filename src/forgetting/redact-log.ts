import { anchorsIn } from "../compaction/anchors.ts";
import type { DurableEvent, StoredEvent } from "../core/event.ts";
import type { EventStore, Redaction } from "../core/event-store.ts";
import { newId } from "../core/ids.ts";
import { FORGOTTEN } from "../core/message.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { SessionState } from "../core/session-state.ts";
import type { SessionStore } from "../core/session-store.ts";
import { withoutRules } from "../knowledge/knowledge-addendum.ts";
import { forgottenEvent, withoutCopies } from "./forget-event.ts";
import type { ForgottenPhrases } from "./forgotten-phrases.ts";
import type { Source } from "./sources.ts";

/** What to remove from the logs. */
export interface WhatGoes {
  readonly phrases: ForgottenPhrases;
  /** Ids of rules that may stand in the system prompts of sessions. */
  readonly rules: ReadonlySet<string>;
}

/** Removes texts from one session's log, and updates its state. */
export async function redactLog(
  state: SessionState,
  source: Source,
  what: WhatGoes,
  {
    events,
    sessions,
  }: { readonly events: EventStore; readonly sessions: Pick<SessionStore, "save"> },
): Promise<void> {
  const log = () => events.read(state.id, 0);
  const names = await loneNames(source.texts, redactedLog(log(), source, what));
  const redactions: Redaction[] = [];
  const redacted = new Snapshots(state.id);
  const redact = logRedactor(source, what);
  for await (const stored of log()) {
    const event = withoutNames(redact(stored), names);
    if (event !== stored.event) redactions.push({ seq: stored.seq, event });
    redacted.apply({ ...stored, event });
  }
  if (redactions.length === 0) return;
  // The snapshot first: it repeats parts of the log, and a kill in between must not leave them there.
  await sessions.save(redacted.last);
  const { messages, shortened } = source;
  await events.redact(state.id, state.seq, redactions, {
    event_id: newId(),
    timestamp_ms: Date.now(),
    event: {
      type: "text_forgotten",
      messages,
      ...(shortened.length > 0 ? { shortened } : {}),
      events: redactions.map(({ seq }) => seq),
    },
  });
  await state.catchUp((after, to) => events.read(state.id, after, to));
}

/**
 * Returns a function that takes the events of one session in order, and returns each without what
 * goes. An event that loses nothing comes back as the same object.
 */
export function logRedactor(
  source: Source,
  { phrases, rules }: WhatGoes,
): (stored: StoredEvent) => DurableEvent {
  /** The rules in the session's system prompt, in order. */
  let applied: readonly string[] = [];
  return ({ seq, event }) => {
    if (event.type === "knowledge_applied") applied = event.rules;
    const extent = source.events.get(seq);
    const rest = extent ? forgottenEvent(event, extent, phrases) : event;
    return withoutCopies(withoutToldRules(rest, applied, rules), phrases);
  };
}

function withoutToldRules(
  event: DurableEvent,
  applied: readonly string[],
  gone: ReadonlySet<string>,
): DurableEvent {
  if (event.type !== "message_added" || event.message.role !== "system") return event;
  const { content } = event.message;
  const rest = withoutRules(content, applied, gone);
  return rest === content ? event : { ...event, message: { role: "system", content: rest } };
}

async function* redactedLog(
  log: AsyncIterable<StoredEvent>,
  source: Source,
  what: WhatGoes,
): AsyncIterable<StoredEvent> {
  const redact = logRedactor(source, what);
  for await (const stored of log) yield { ...stored, event: redact(stored) };
}

/**
 * Names and numbers that occur only in the forgotten texts of a session. A summary that mentions
 * one took it from there. `log` is the session's log without what goes.
 */
async function loneNames(
  forgotten: readonly string[],
  log: AsyncIterable<StoredEvent>,
): Promise<readonly string[]> {
  const names = new Set(forgotten.flatMap((text) => anchorsIn(text)).map(({ text }) => text));
  if (names.size === 0) return [];
  for await (const { event } of log) {
    if (event.type === "compaction_completed") continue;
    const json = JSON.stringify(event);
    for (const name of names)
      if (json.includes(JSON.stringify(name).slice(1, -1))) names.delete(name);
  }
  // Longest first: a path goes before the file name at its end.
  return [...names].sort((one, other) => other.length - one.length);
}

/** A compaction's summary and report without these names. */
function withoutNames(event: DurableEvent, names: readonly string[]): DurableEvent {
  if (event.type !== "compaction_completed" || names.length === 0) return event;
  const summary = event.summary && names.reduce(withoutName, event.summary);
  const anchors = event.report?.anchors;
  const named = anchors?.names.filter((name) => !names.includes(name)) ?? [];
  if (summary === event.summary && named.length === (anchors?.names.length ?? 0)) return event;
  return {
    ...event,
    summary,
    ...(event.report && anchors
      ? { report: { ...event.report, anchors: { ...anchors, names: named } } }
      : {}),
  };
}

function withoutName(text: string, name: string): string {
  return text.replaceAll(name, (found, at: number) =>
    /\w/.test(`${text[at - 1] ?? " "}${text[at + found.length] ?? " "}`) ? found : FORGOTTEN,
  );
}

/** Folds a log, and keeps the last snapshot that may be taken of it: one without open calls. */
class Snapshots {
  readonly #state: SessionState;
  #before: SessionSnapshot;

  constructor(sessionId: string) {
    this.#state = new SessionState(sessionId);
    this.#before = this.#state.snapshot();
  }

  apply(stored: StoredEvent): void {
    const begins = stored.event.type === "turn_started" && this.#state.openCalls.length === 0;
    if (begins) this.#before = this.#state.snapshot();
    this.#state.apply(stored);
  }

  get last(): SessionSnapshot {
    return this.#state.openCalls.length === 0 ? this.#state.snapshot() : this.#before;
  }
}
