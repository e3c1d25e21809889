import { createHash, type Hash } from "node:crypto";
import { SessionError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import { unreadableEvent } from "../core/event-shape.ts";
import type { EventStore, PositionedEvent, Redaction } from "../core/event-store.ts";

const PAGE = 500;

/** Callbacks of a log copy. */
export interface LogCopyListener {
  /** Events that the other log has now, old and new, in order. */
  copied?(page: readonly PositionedEvent[]): Promise<void>;
  /** Texts are about to be removed from events that the other log has. */
  forgetting?(sessionId: string, event: StoredEvent["event"]): Promise<void>;
}

/**
 * Copies a log to the end of another one, in its order. What is there stays as it is, so a copy that
 * was stopped goes on where it was.
 */
export class LogCopy {
  readonly #from: EventStore;
  readonly #to: EventStore;
  readonly #listener: LogCopyListener;
  /** The last event that both logs have, by session. */
  readonly #shared = new Map<string, number>();
  #position = 0;
  #events = 0;

  constructor(from: EventStore, to: EventStore, listener: LogCopyListener = {}) {
    this.#from = from;
    this.#to = to;
    this.#listener = listener;
  }

  /** The position up to which the log was copied. */
  get position(): number {
    return this.#position;
  }

  /** How many events the copied part has. */
  get events(): number {
    return this.#events;
  }

  get sessionIds(): readonly string[] {
    return [...this.#shared.keys()];
  }

  /**
   * Copies the events appended since the last call. Returns how many events were new to the other log.
   *
   * @throws SessionError `SESSION_CONFLICT` when a session has other events there
   */
  async run(signal?: AbortSignal): Promise<number> {
    let added = 0;
    for (;;) {
      signal?.throwIfAborted();
      const page = await this.#from.readAll(this.#position, PAGE);
      const last = page.at(-1);
      if (!last) {
        for (const [sessionId, seq] of this.#shared) await this.#requireEnd(sessionId, seq);
        return added;
      }
      for (const run of runsOfSessions(page)) added += await this.#append(run);
      await this.#listener.copied?.(page);
      this.#position = last.position;
      this.#events += page.length;
    }
  }

  async #append({ sessionId, events }: SessionRun): Promise<number> {
    const shared = this.#shared.get(sessionId) ?? (await this.#sharedWith(sessionId));
    const fresh = events.filter(({ seq }) => seq > shared);
    requireNoGap(shared, fresh);
    let lastSeq = shared;
    let batch: StoredEvent[] = [];
    const flush = async () => {
      if (batch.length > 0)
        lastSeq = await this.#to.append(sessionId, lastSeq, batch.map(newEvent));
      batch = [];
    };
    for (const stored of fresh) {
      if (stored.event.type !== "text_forgotten") {
        batch.push(stored);
        continue;
      }
      await flush();
      await this.#listener.forgetting?.(sessionId, stored.event);
      const redactions = await this.#present(sessionId, stored.event.events, lastSeq);
      lastSeq = await this.#to.redact(sessionId, lastSeq, redactions, newEvent(stored));
    }
    await flush();
    this.#shared.set(sessionId, lastSeq);
    return fresh.length;
  }

  /** `readAll` leaves out what cannot be read, also at the end of a session. */
  async #requireEnd(sessionId: string, seq: number): Promise<void> {
    await eventAt(this.#from, sessionId, seq + 1);
  }

  /** The events as they are now. */
  async #present(
    sessionId: string,
    seqs: readonly number[],
    lastSeq: number,
  ): Promise<readonly Redaction[]> {
    const redactions: Redaction[] = [];
    for (const seq of seqs.filter((each) => each <= lastSeq)) {
      for await (const { event } of this.#from.read(sessionId, seq - 1, seq)) {
        redactions.push({ seq, event });
      }
    }
    return redactions;
  }

  async #sharedWith(sessionId: string): Promise<number> {
    const there = await this.#to.lastSeq(sessionId);
    const both = Math.min(there, await this.#from.lastSeq(sessionId));
    if (both > 0) {
      const [one, other] = await Promise.all([
        eventAt(this.#from, sessionId, both),
        eventAt(this.#to, sessionId, both),
      ]);
      if (one && one.event_id !== other?.event_id) throw differs(sessionId);
    }
    return there;
  }
}

/**
 * An event that is left out would give its number to the next one.
 *
 * @throws SessionError `SESSION_STORE_ERROR` for an event that cannot be read
 */
function requireNoGap(lastSeq: number, fresh: readonly StoredEvent[]): void {
  const gap = fresh.findIndex(({ seq }, index) => seq !== lastSeq + 1 + index);
  if (gap >= 0) throw unreadableEvent(lastSeq + 1 + gap);
}

interface SessionRun {
  readonly sessionId: string;
  readonly events: readonly StoredEvent[];
}

/** Events of one session that follow each other. */
function runsOfSessions(page: readonly PositionedEvent[]): readonly SessionRun[] {
  const runs: { sessionId: string; events: StoredEvent[] }[] = [];
  for (const { sessionId, stored } of page) {
    const last = runs.at(-1);
    if (last?.sessionId === sessionId) last.events.push(stored);
    else runs.push({ sessionId, events: [stored] });
  }
  return runs;
}

function newEvent({ event_id, timestamp_ms, event }: StoredEvent) {
  return { event_id, timestamp_ms, event };
}

async function eventAt(
  log: EventStore,
  sessionId: string,
  seq: number,
): Promise<StoredEvent | undefined> {
  for await (const stored of log.read(sessionId, seq - 1, seq)) return stored;
  return undefined;
}

/** A session that both stores have, and that is not the same. */
function differs(sessionId: string): SessionError {
  return new SessionError("SESSION_CONFLICT", {
    message: `The session "${sessionId}" has other events in the other store: it was continued in both.`,
    hint: "Delete it in one of the two stores, then move again.",
  });
}

interface LogComparison {
  /** Sessions whose events are not the same in both logs. */
  readonly different: readonly string[];
  /** The position in the other log of each asked event; 0 for none. */
  readonly positions: readonly number[];
}

/**
 * Compares the events of a log up to a position with those of its copy. A session that has grown in the
 * copy has to begin with them.
 */
export async function compareLogs(
  from: EventStore,
  to: EventStore,
  end: number,
  asked: readonly number[],
  signal?: AbortSignal,
): Promise<LogComparison> {
  const sessions = new Map<string, Fingerprint>();
  const marks: (string | undefined)[] = asked.map(() => undefined);
  for await (const { position, sessionId, stored } of eventsOf(from, signal)) {
    if (position > end) break;
    add(sessions, sessionId, stored);
    for (const [index, limit] of asked.entries()) {
      if (position <= limit) marks[index] = `${stored.seq} ${sessionId}`;
    }
  }
  const copies = new Map<string, Fingerprint>();
  const grown = new Set<string>();
  const places = new Map<string, number>(marks.flatMap((mark) => (mark ? [[mark, 0]] : [])));
  for await (const { position, sessionId, stored } of eventsOf(to, signal)) {
    const source = sessions.get(sessionId);
    if (!source) continue;
    const mark = `${stored.seq} ${sessionId}`;
    if (places.has(mark)) places.set(mark, position);
    if (stored.seq <= source.events) add(copies, sessionId, stored);
    else grown.add(sessionId);
  }
  const different = [...sessions].flatMap(([sessionId, source]) => {
    const copy = copies.get(sessionId);
    const isSame = copy?.events === source.events && sameDigest(copy.ids, source.ids);
    // A session that grew in the copy may have forgotten a text there.
    return isSame && (grown.has(sessionId) || sameDigest(copy.texts, source.texts))
      ? []
      : sessionId;
  });
  return { different, positions: marks.map((mark) => (mark ? (places.get(mark) ?? 0) : 0)) };
}

/** A fingerprint of the events of a session. */
interface Fingerprint {
  events: number;
  readonly ids: Hash;
  readonly texts: Hash;
}

function add(
  sessions: Map<string, Fingerprint>,
  sessionId: string,
  { event_id, timestamp_ms, event }: StoredEvent,
): void {
  const known = sessions.get(sessionId) ?? {
    events: 0,
    ids: createHash("sha256"),
    texts: createHash("sha256"),
  };
  known.events += 1;
  known.ids.update(`${event_id}\n`);
  known.texts.update(`${timestamp_ms} ${JSON.stringify(event)}\n`);
  sessions.set(sessionId, known);
}

function sameDigest(one: Hash, other: Hash): boolean {
  return one.copy().digest("base64") === other.copy().digest("base64");
}

async function* eventsOf(
  log: EventStore,
  signal: AbortSignal | undefined,
): AsyncIterable<PositionedEvent> {
  for (let position = 0; ; ) {
    signal?.throwIfAborted();
    const page = await log.readAll(position, PAGE);
    const last = page.at(-1);
    if (!last) return;
    yield* page;
    position = last.position;
  }
}
