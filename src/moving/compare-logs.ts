import { createHash, type Hash } from "node:crypto";
import type { StoredEvent } from "../core/event.ts";
import type { EventStore, PositionedEvent } from "../core/event-store.ts";

const PAGE = 500;

export interface LogComparison {
  /** Sessions whose events are not the same in both logs. */
  readonly different: readonly string[];
  /** For each asked position, the position of the same event in the other log; 0 for none. */
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
    // What has grown there may have forgotten a text there.
    return isSame && (grown.has(sessionId) || sameDigest(copy.texts, source.texts))
      ? []
      : sessionId;
  });
  return { different, positions: marks.map((mark) => (mark ? (places.get(mark) ?? 0) : 0)) };
}

/** Of the events of a session. */
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
