import type { HistoryInherited, StoredEvent } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import { messageTexts } from "../core/message.ts";
import { type Forgettable, messageOf } from "./sources.ts";

/** A message that several sessions have, because they are forks, and those sessions. */
export interface Forked {
  /** Its copies in other sessions, and the original. */
  readonly copies: readonly Forgettable[];
  /** The sessions and all forks of theirs, each after the one that it is a fork of. */
  readonly sessions: readonly string[];
}

type Log = Pick<EventStore, "read" | "lastSeq">;

/**
 * Finds the same messages in forks. What was said in a session goes from all of them, whichever names it. A session that
 * is forgotten as a whole takes nothing along that was said before it began.
 */
export async function forkedMessages(
  found: readonly Forgettable[],
  wholeSession: string | undefined,
  events: Log,
): Promise<Forked> {
  const named = new Set(found.map(({ id }) => id));
  const originals = new Set<string>();
  const roots = new Set<string>();
  for (const { id, sessionId, source } of found) {
    roots.add(sessionId);
    const said = await inheritedBy(sessionId, source?.to ?? 0, events);
    if (said === undefined) originals.add(id);
    else if (sessionId !== wholeSession) {
      originals.add(`${said.session}:${said.message}`);
      roots.add(said.session);
    }
  }
  const sessions = await withForks(roots, events);
  const copies: Forgettable[] = [];
  for (const sessionId of sessions) {
    for await (const message of copiesIn(sessionId, originals, events)) {
      if (!named.has(message.id)) copies.push(message);
    }
  }
  return { copies: [...copies, ...(await originalsOf(originals, named, events))], sessions };
}

/** The sessions and their forks, with those of the forks. */
async function withForks(roots: ReadonlySet<string>, events: Log): Promise<readonly string[]> {
  const after = new Map<string, readonly string[]>();
  const look = async (sessionId: string): Promise<void> => {
    if (after.has(sessionId) || (await events.lastSeq(sessionId)) === 0) return;
    const forks: string[] = [];
    after.set(sessionId, forks);
    for await (const { event } of events.read(sessionId, 0)) {
      if (event.type === "session_forked") forks.push(event.fork);
    }
    for (const fork of forks) await look(fork);
  };
  for (const root of roots) await look(root);
  const ordered = new Set<string>();
  const place = (sessionId: string) => {
    if (!after.has(sessionId)) return;
    // A fork of two roots comes after the later one.
    ordered.delete(sessionId);
    ordered.add(sessionId);
    for (const fork of after.get(sessionId) ?? []) place(fork);
  };
  for (const root of roots) place(root);
  return [...ordered];
}

async function inheritedBy(sessionId: string, seq: number, events: Log) {
  // Entries that were added by hand are in no log.
  if (seq === 0) return undefined;
  for await (const { event } of events.read(sessionId, seq - 1, seq)) {
    if (event.type === "message_added") return event.inherited;
  }
  return undefined;
}

/** The messages that a fork began with, as far as they are copies of these. */
async function* copiesIn(
  sessionId: string,
  originals: ReadonlySet<string>,
  events: Log,
): AsyncGenerator<Forgettable> {
  for await (const { seq, event } of events.read(sessionId, 0)) {
    const isOpening = OPENING.has(event.type);
    if (!isOpening) return;
    if (event.type !== "message_added" || !event.inherited) continue;
    const { session, message } = event.inherited;
    if (originals.has(`${session}:${message}`)) yield messageAt(sessionId, seq, event.message);
  }
}

/** Events before the end of what a fork inherits. */
const OPENING: ReadonlySet<string> = new Set<StoredEvent["event"]["type"]>([
  "session_created",
  "skills_resolved",
  "knowledge_applied",
  "message_added",
]);

async function originalsOf(
  originals: ReadonlySet<string>,
  named: ReadonlySet<string>,
  events: Log,
): Promise<readonly Forgettable[]> {
  const missing = [...originals].filter((id) => !named.has(id));
  const found = await Promise.all(missing.map((id) => messageOf(id, events)));
  return found.filter((message) => message !== undefined);
}

function messageAt(
  sessionId: string,
  seq: number,
  message: Parameters<typeof messageTexts>[0],
): Forgettable {
  const content = messageTexts(message).join("\n");
  return { id: `${sessionId}:${seq}`, content, sessionId, source: { from: seq, to: seq } };
}

/** The events that a fork inherited, with the summary as the session that wrote it has it now. */
export async function withSummaryOfOrigin(
  event: HistoryInherited,
  events: Log,
): Promise<HistoryInherited> {
  const { summary } = event;
  if (!summary) return event;
  for await (const { event: wrote } of events.read(
    summary.session,
    summary.event - 1,
    summary.event,
  )) {
    if (wrote.type !== "compaction_completed" || wrote.summary === null) return event;
    if (wrote.summary === summary.text) return event;
    return { ...event, summary: { ...summary, text: wrote.summary } };
  }
  return event;
}
