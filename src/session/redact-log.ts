import type { StoredEvent } from "../core/event.ts";
import type { EventStore, Redaction } from "../core/event-store.ts";
import { newId } from "../core/ids.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { SessionState } from "../core/session-state.ts";
import type { SessionStore } from "../core/session-store.ts";
import type { Source } from "./forgotten-sources.ts";
import { LogRedactor, type WhatGoes } from "./log-redactor.ts";
import { loneNames, withoutNames } from "./lone-names.ts";

/** Takes texts out of one session's log, and lets its state follow. */
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
  const redactor = new LogRedactor(source, what);
  for await (const stored of log()) {
    const event = withoutNames(redactor.redact(stored), names);
    if (event !== stored.event) redactions.push({ seq: stored.seq, event });
    redacted.apply({ ...stored, event });
  }
  if (redactions.length === 0) return;
  // First: what a snapshot repeats of the log would stay in it if this were killed in between.
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

async function* redactedLog(
  log: AsyncIterable<StoredEvent>,
  source: Source,
  what: WhatGoes,
): AsyncIterable<StoredEvent> {
  const redactor = new LogRedactor(source, what);
  for await (const stored of log) yield { ...stored, event: redactor.redact(stored) };
}

/** A session as it is read, and the last snapshot that can be taken of it: none has open calls. */
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
