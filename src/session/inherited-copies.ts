import type { EventStore } from "../core/event-store.ts";
import type { SaidIn } from "../core/kept-state.ts";
import type { MemoryEntry, MemoryStore } from "../core/memory-store.ts";
import { OWN_AGENT } from "../core/session-source.ts";
import type { SessionStore } from "../core/session-store.ts";

/** A hit of a search in memory or in a log. */
interface Found {
  readonly sessionId: string;
  readonly content: string;
  readonly time?: string;
  readonly role?: string;
  readonly kind?: string;
}

/**
 * A fork says again what was said before it began. Of messages with the same words of the same time, the best one stays.
 * A statement that was learned from a message has its words too, and stays beside it.
 */
export function saidOnce<Hit extends Found>(hits: readonly Hit[]): readonly Hit[] {
  const sessions = new Map<string, string>();
  return hits.filter(({ sessionId, content, time, role, kind = "message" }) => {
    if (time === undefined || kind !== "message") return true;
    const said = JSON.stringify([time, role, content]);
    const first = sessions.get(said) ?? sessionId;
    sessions.set(said, first);
    return first === sessionId;
  });
}

/** Leaves out the entries of forks that memory also has of the session in which they were said. */
export async function withoutInherited<Entry extends MemoryEntry>(
  entries: readonly Entry[],
  memory: Pick<MemoryStore, "read">,
  { events, sessions }: { readonly events: EventStore; readonly sessions: SessionStore },
): Promise<readonly Entry[]> {
  const sources = await sessions.sources([...new Set(entries.map(({ sessionId }) => sessionId))]);
  const originals = new Map<string, string>();
  for (const { id, sessionId, source } of entries) {
    const { agent, parent } = sources.get(sessionId) ?? {};
    if (!source || agent !== OWN_AGENT || parent?.relation !== "fork") continue;
    const said = await inheritedAt(sessionId, source.to, events);
    if (said) originals.set(id, `${said.session}:${said.message}`);
  }
  if (originals.size === 0) return entries;
  const known = await memory.read([...new Set(originals.values())]);
  const there = new Set(known.map(({ id }) => id));
  return entries.filter(({ id }) => !there.has(originals.get(id) ?? ""));
}

async function inheritedAt(
  sessionId: string,
  seq: number,
  events: EventStore,
): Promise<SaidIn | undefined> {
  for await (const { event } of events.read(sessionId, seq - 1, seq)) {
    if (event.type === "message_added") return event.inherited;
  }
  return undefined;
}
