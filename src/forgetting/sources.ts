import type { DurableEvent, Origin, StoredEvent } from "../core/event.ts";
import type { EventStore } from "../core/event-store.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import type { MemoryEntry, MemoryStore } from "../core/memory-store.ts";
import { contentText, indexableText, isForgotten, toolResults } from "../core/message.ts";
import { MessageAssembler } from "../core/message-assembler.ts";
import { refusalIn } from "../core/refusal.ts";
import { withoutName } from "../core/speaker-name.ts";
import { preferencesIn } from "../knowledge/lasting-wishes.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { textsOf } from "./forget-event.ts";
import type { Extent } from "./forget-message.ts";
import { ForgottenPhrases } from "./forgotten-phrases.ts";

export type ForgetTarget = { readonly ids: readonly string[] } | { readonly sessionId: string };

/** A memory entry, or a message that has none yet and is named by the id that its entry would have. */
export type Forgettable = Pick<MemoryEntry, "id" | "content" | "sessionId" | "source" | "earlier">;

/** The events and extents to forget in one session's log. */
export interface Source {
  readonly events: ReadonlyMap<number, Extent>;
  /** Ids of messages that go as a whole, and of messages that lose a part. */
  readonly messages: readonly number[];
  readonly shortened: readonly number[];
  /** The texts as the log has them: block by block, with secrets. */
  readonly texts: readonly string[];
  /** Tool results among `texts`, from a session that is deleted as a whole. Their names are not looked for. */
  readonly outputs: readonly string[];
}

export const NO_SOURCE: Source = {
  events: new Map(),
  messages: [],
  shortened: [],
  texts: [],
  outputs: [],
};

/** The sources by session id. A session is listed even when its log no longer has the text. */
export type Sources = ReadonlyMap<string, Source>;

const PAGE = 500;

/** The entries and messages that a request names. */
export async function forgettable(
  what: ForgetTarget,
  { memory, events }: { readonly memory: MemoryStore | undefined; readonly events: EventStore },
): Promise<readonly Forgettable[]> {
  if ("sessionId" in what) {
    const { sessionId } = what;
    const entries = memory ? await Array.fromAsync(entriesOfSession(sessionId, memory)) : [];
    const known = new Set(entries.map(({ id }) => id));
    const messages = await Array.fromAsync(messagesOfSession(sessionId, events));
    return [...entries, ...messages.filter(({ id }) => !known.has(id))];
  }
  const ids = [...new Set(what.ids)];
  const entries = (await memory?.read(ids)) ?? [];
  const known = new Set(entries.map(({ id }) => id));
  const missing = ids.filter((id) => !known.has(id));
  const messages = await Promise.all(missing.map((id) => messageOf(id, events)));
  return [...entries, ...messages.filter((message) => message !== undefined)];
}

async function* entriesOfSession(
  sessionId: string,
  memory: MemoryStore,
): AsyncIterable<Forgettable> {
  for (let after: string | undefined; ; ) {
    const place = after === undefined ? {} : { after };
    const page = await memory.list({ sessionId, limit: PAGE, ...place });
    yield* page;
    after = page.at(-1)?.id;
    if (after === undefined) return;
  }
}

async function* messagesOfSession(
  sessionId: string,
  events: Pick<EventStore, "read">,
  toSeq?: number,
): AsyncIterable<Forgettable> {
  const assembler = new MessageAssembler();
  for await (const stored of events.read(sessionId, 0, toSeq)) {
    const logged = assembler.push(stored);
    if (!logged) continue;
    const { id, from, message } = logged;
    const outputs = toolResults(message).map(({ content }) => content);
    const content = [indexableText(message), ...outputs].join("\n").trim();
    if (content === "" || isForgotten(content)) continue;
    yield { id: `${sessionId}:${id}`, content, sessionId, source: { from, to: id } };
  }
}

export async function messageOf(
  id: string,
  events: Pick<EventStore, "read">,
): Promise<Forgettable | undefined> {
  const [, sessionId = "", place = ""] = /^(.+):(\d+)$/s.exec(id) ?? [];
  for await (const message of messagesOfSession(sessionId, events, Number(place))) {
    if (message.id === id) return message;
  }
  return undefined;
}

interface Found {
  readonly events: Map<number, Extent>;
  readonly messages: number[];
  readonly shortened: number[];
  readonly texts: string[];
  readonly outputs: string[];
}

/** Finds the events that entries and knowledge came from. All events of `wholeSession` are removed. */
export async function sourcesOf(
  entries: readonly Forgettable[],
  knowledge: readonly KnowledgeEntry[],
  wholeSession: string | undefined,
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
      outputs: [],
    };
    sources.set(sessionId, found);
    return found;
  };
  const session = wholeSession === undefined ? undefined : await ofSession(wholeSession);
  if (session && wholeSession !== undefined) await addSession(session, wholeSession, events);
  for (const entry of entries) {
    if (entry.sessionId === wholeSession) continue;
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

/** Everything that was said in a session. Its system prompts stay: they were not said in it. */
async function addSession(found: Found, sessionId: string, events: EventStore): Promise<void> {
  const assembler = new MessageAssembler();
  for await (const stored of events.read(sessionId, 0)) {
    const { seq, event } = stored;
    const logged = assembler.push(stored);
    if (event.type === "message_added" && event.message.role === "system") continue;
    if (logged) found.messages.push(logged.id);
    found.events.set(seq, "everything");
    found.texts.push(...textsOf(event));
    found.outputs.push(...outputsOf(event));
  }
}

function isPrompt(event: DurableEvent): boolean {
  return event.type === "message_added" && event.message.role === "user";
}

/** The tool results in an event. */
function outputsOf(event: DurableEvent): readonly string[] {
  if (event.type === "tool_execution_completed") return [event.result];
  return event.type === "message_added"
    ? toolResults(event.message).map(({ content }) => content)
    : [];
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

/**
 * The events that something was learned from: a tool's result, a denied call with everything said
 * about it, or sentences of a message.
 */
async function addLesson(
  found: Found,
  { kind, content, sessionId = "", source, origin, reason = "" }: KnowledgeEntry,
  events: EventStore,
): Promise<void> {
  if (!source) return;
  const log =
    kind === "correction"
      ? events.read(sessionId, 0)
      : events.read(sessionId, source.from - 1, source.to);
  const span = await Array.fromAsync(log);
  if (origin === "imported") {
    // Other calls have their results in the same message. The reason may be the prompt after it.
    const said = span.find(({ seq }) => seq === source.to);
    const refused = said ? outputsOf(said.event).filter((output) => refusalIn(output)) : [];
    found.events.set(source.to, found.events.get(source.to) ?? "phrases");
    found.texts.push(...refused.filter((output) => output.includes(reason)));
    if (said && isPrompt(said.event)) found.texts.push(...textsOf(said.event));
    return;
  }
  if (kind !== "preference") {
    const told = kind === "correction" ? deniedCall(span, source) : span;
    for (const { seq, event } of told) {
      // An added message may have several results, and each is a fact.
      const results = event.type === "message_added" && kind === "fact" ? outputsOf(event) : [];
      const same = results.filter((result) => content.endsWith(redactSecrets(result.trim())));
      if (same.length === 0) found.events.set(seq, "everything");
      else if (!found.events.has(seq)) found.events.set(seq, "phrases");
      if (kind === "fact") found.texts.push(...(same.length > 0 ? same : textsOf(event)));
    }
    return;
  }
  for (const { seq, event } of span) {
    const prompt = promptOf(event);
    if (found.events.has(seq) || prompt === undefined) continue;
    found.events.set(seq, "phrases");
    found.shortened.push(seq);
    const text = new ForgottenPhrases([content]);
    const { origin: said } = event as { origin?: Origin };
    const sentences = preferencesIn(withoutName(prompt, said?.speaker));
    const same = sentences.filter((sentence) => text.isIn(sentence));
    // An edited preference has other words than the message: then all of the message's go.
    found.texts.push(...(same.length > 0 ? same : sentences));
  }
}

/** The user's text in an event. */
function promptOf(event: DurableEvent): string | undefined {
  if (event.type === "run_started") return event.prompt;
  if (event.type !== "message_added" || event.message.role !== "user") return undefined;
  return contentText(event.message.content);
}

/** The events of a denied call: the call, the request for approval, the answer, the result. */
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
  const text = new ForgottenPhrases([content]);
  return [said, redactSecrets(said)].some(
    (one) => one === content || text.removeFrom(one, "part") !== one,
  );
}
