import type { StoredEvent } from "../core/event.ts";
import type { EventStore, IndexedKind } from "../core/event-store.ts";
import { HistoryChanges } from "../core/session-history.ts";
import { beginsTurn } from "../core/turn.ts";

/** The methods of an event store that find events without reading the log up to them. */
export type EventIndex = Pick<EventStore, "read" | "readKinds" | "turnsAt">;

/** Events of one page. */
const PAGE = 100;
/** Changes of a history that are read before it is known how many are needed. */
const RECENT = 8;

/** Kinds of events that change a history as a whole. */
const CHANGES = [
  "compaction_completed",
  "tool_output_pruned",
  "compaction_undone",
  "history_inherited",
] as const satisfies readonly IndexedKind[];

/** A part of a session's log. */
interface LogPart {
  readonly sessionId: string;
  readonly afterSeq: number;
  readonly toSeq: number;
}

/** The changes of a history as a whole in a part of a log, oldest first. It reads nothing else of the log, and that in pages. */
export async function changesIn(
  events: EventIndex,
  part: LogPart,
): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = [];
  for await (const page of changesBackwards(events, part, PAGE)) found.unshift(...page);
  return found;
}

/** The newest changes of a history, and after that more and more of them. It reads no further than it is asked. */
export async function* recentChanges(
  events: EventIndex,
  part: LogPart,
): AsyncGenerator<HistoryChanges> {
  const found: StoredEvent[] = [];
  for await (const page of changesBackwards(events, part, RECENT)) {
    found.unshift(...page);
    const changes = new HistoryChanges();
    for (const stored of found) changes.note(stored);
    yield changes;
  }
}

async function* changesBackwards(
  events: EventIndex,
  { sessionId, afterSeq, toSeq }: LogPart,
  limit: number,
): AsyncGenerator<readonly StoredEvent[]> {
  for (let end = toSeq; ; ) {
    const page = await lastOf(events, CHANGES, { sessionId, afterSeq, toSeq: end }, limit);
    const [first] = page;
    if (first) yield page;
    if (!first || page.length < limit) return;
    end = first.seq - 1;
  }
}

/** The last events of some kinds in a part of a log, oldest first. */
export async function lastOf(
  events: EventIndex,
  kinds: readonly IndexedKind[],
  { sessionId, ...part }: LogPart,
  limit: number,
): Promise<readonly StoredEvent[]> {
  if (events.readKinds) return await events.readKinds(sessionId, kinds, { ...part, limit });
  const wanted: ReadonlySet<string> = new Set(kinds);
  const found: StoredEvent[] = [];
  for await (const stored of events.read(sessionId, part.afterSeq, part.toSeq)) {
    if (wanted.has(stored.event.type)) found.push(stored);
  }
  return found.slice(-limit);
}

/** How many turns of a session had begun by an event, that one included. */
export async function turnsAt(events: EventIndex, sessionId: string, seq: number): Promise<number> {
  if (events.turnsAt) return await events.turnsAt(sessionId, seq);
  let turns = 0;
  for await (const { event } of events.read(sessionId, 0, seq)) turns += Number(beginsTurn(event));
  return turns;
}

/** The event that begins a turn, from 0; undefined when the log ends before it. It halves the log until it has found it. */
export async function beginningOfTurn(
  events: EventIndex & Pick<EventStore, "lastSeq">,
  sessionId: string,
  turn: number,
): Promise<number | undefined> {
  const last = await events.lastSeq(sessionId);
  if ((await turnsAt(events, sessionId, last)) <= turn) return undefined;
  let [before, at] = [0, last];
  while (at - before > 1) {
    const middle = Math.floor((before + at) / 2);
    if ((await turnsAt(events, sessionId, middle)) > turn) at = middle;
    else before = middle;
  }
  return at;
}
