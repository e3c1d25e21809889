import type { StoredEvent } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import { preferencesIn } from "../knowledge/preferences-in.ts";
import { type Extent, textsOf } from "../memory/forget-event.ts";
import { TellingTexts } from "../memory/telling-texts.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import type { Forgettable } from "./forgettable.ts";

/** What of a session's log shall be forgotten. */
export interface Source {
  readonly events: ReadonlyMap<number, Extent>;
  /** Messages of which nothing is left, and messages that lose a part. */
  readonly messages: readonly number[];
  readonly shortened: readonly number[];
  readonly texts: readonly string[];
}

export const NO_SOURCE: Source = { events: new Map(), messages: [], shortened: [], texts: [] };

/** By session; one is there also when its log says it no more. */
export type Sources = ReadonlyMap<string, Source>;

interface Found {
  readonly events: Map<number, Extent>;
  readonly messages: number[];
  readonly shortened: number[];
  /** It as the logs have it: with secrets, and block by block. */
  readonly texts: string[];
}

/** Where what shall be forgotten came from. */
export async function sourcesOf(
  entries: readonly Forgettable[],
  knowledge: readonly KnowledgeEntry[],
  events: EventStore,
): Promise<Sources> {
  const sources = new Map<string, Found>();
  const ofSession = async (sessionId: string) => {
    if ((await events.lastSeq(sessionId)) === 0) return undefined;
    const found = sources.get(sessionId) ?? {
      events: new Map(),
      messages: [],
      shortened: [],
      texts: [],
    };
    sources.set(sessionId, found);
    return found;
  };
  for (const entry of entries) {
    const found = entry.source && (await ofSession(entry.sessionId));
    if (found) await addMessage(found, entry, events);
  }
  for (const entry of knowledge) {
    const { sessionId } = entry;
    const found = sessionId === undefined ? undefined : await ofSession(sessionId);
    if (found) await addLesson(found, entry, events);
  }
  return sources;
}

async function addMessage(
  found: Found,
  { content, sessionId, source = { from: 0, to: 0 } }: Forgettable,
  events: EventStore,
): Promise<void> {
  const span = await Array.fromAsync(events.read(sessionId, source.from - 1, source.to));
  const said = span.flatMap(({ event }) => textsOf(event));
  // An entry that was added by hand may name events that say something else.
  if (!speaksOf(said.join("\n"), content)) return;
  found.messages.push(source.to);
  for (const { seq } of span) found.events.set(seq, "message");
  found.texts.push(...said);
}

/** Where something was learned: a tool's result, a denied call with all that is said of it, a sentence of a message. */
async function addLesson(
  found: Found,
  { kind, content, sessionId = "", source }: KnowledgeEntry,
  events: EventStore,
): Promise<void> {
  if (!source) return;
  const log =
    kind === "correction"
      ? events.read(sessionId, 0)
      : events.read(sessionId, source.from - 1, source.to);
  const span = await Array.fromAsync(log);
  if (kind !== "preference") {
    const told = kind === "correction" ? deniedCall(span, source) : span;
    for (const { seq, event } of told) {
      found.events.set(seq, "everything");
      if (kind === "fact") found.texts.push(...textsOf(event));
    }
    return;
  }
  for (const { seq, event } of span) {
    if (found.events.has(seq) || event.type !== "run_started") continue;
    found.events.set(seq, "texts");
    found.shortened.push(seq);
    const text = new TellingTexts([content]);
    const sentences = preferencesIn(event.prompt);
    const same = sentences.filter((sentence) => text.isIn(sentence));
    // An edited one says something else by now.
    found.texts.push(...(same.length > 0 ? same : sentences));
  }
}

/** The events of a call that was denied: the call, the question, the answer and what the model was told. */
function deniedCall(
  log: readonly StoredEvent[],
  { from, to }: { readonly from: number; readonly to: number },
): readonly StoredEvent[] {
  const asked = log.find(({ seq }) => seq === from);
  if (asked?.event.type !== "tool_approval_requested") return [];
  const { id } = asked.event;
  const call = log.findLast(
    ({ seq, event }) => seq < from && event.type === "tool_call_requested" && event.id === id,
  );
  const answer = log.find(({ seq }) => seq === to);
  const result = log.find(
    ({ seq, event }) => seq > to && event.type === "tool_execution_completed" && event.id === id,
  );
  return [call, asked, answer, result].filter((stored) => stored !== undefined);
}

function speaksOf(said: string, content: string): boolean {
  const text = new TellingTexts([content]);
  return [said, redactSecrets(said)].some(
    (one) => one === content || text.outOf(one, "part") !== one,
  );
}
