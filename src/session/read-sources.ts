import { SessionError } from "../core/errors.ts";
import type { DiscardedSpan } from "../core/event.ts";
import type { InheritedSummary } from "../core/fork.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import { isSummary, wordsOf } from "../core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import type { SourceMessage, SourcesView } from "../core/operations/sources.ts";
import type { CheckedRequest } from "../core/operations.ts";
import type { ReadLog } from "../core/session-state.ts";
import { headWithin } from "../core/tokens.ts";
import { findMessage, messagesAround } from "./find-message.ts";
import { findCompaction, roleOf } from "./history-views.ts";
import type { ServiceCore } from "./service-core.ts";
import { memoryOf } from "./service-options.ts";

const MESSAGES_DEFAULT = 50;
/** UTF-8 bytes of a message in the list. */
const SHOWN_BYTES = 400;

/** The messages that something rests on. */
export async function readSources(
  core: ServiceCore,
  {
    id,
    sessionId = "",
    event,
    limit = MESSAGES_DEFAULT,
    offset = 0,
  }: CheckedRequest<"readSources">,
): Promise<SourcesView> {
  const found =
    id === undefined ? await ofSummary(core, sessionId, event) : await ofEntry(core, id);
  const { sections, ...rest } = found;
  const messages: SourceMessage[] = [];
  let before = 0;
  for (const { count, read } of sections) {
    const skipped = Math.max(0, offset - before);
    before += count;
    const wanted = limit - messages.length;
    if (skipped >= count || wanted <= 0) continue;
    messages.push(...(await read()).slice(skipped, skipped + wanted));
  }
  return { ...rest, messageCount: before, messages };
}

/** Messages that something rests on, in order. They are read when a page has some of them. */
interface Section {
  readonly count: number;
  read(): Promise<readonly SourceMessage[]>;
}

interface Sources extends Omit<SourcesView, "messageCount" | "messages"> {
  readonly sections: readonly Section[];
}

function sectionOf(messages: readonly SourceMessage[]): Section {
  return { count: messages.length, read: async () => messages };
}

async function ofEntry(core: ServiceCore, id: string): Promise<Sources> {
  await core.projected();
  const [learned] = (await core.project?.store.read([id])) ?? [];
  if (learned) return await ofKnowledge(core, learned);
  const [entry] = (await memoryOf(core.options)?.read([id])) ?? [];
  const said = await messageNamed(core, id);
  const content = entry?.content ?? (said ? wordsOf(said.message) : undefined);
  if (content === undefined) {
    throw new SessionError("KNOWLEDGE_NOT_FOUND", {
      message: `Neither memory nor a log has "${id}".`,
      hint: "`rkat memory search` and `rkat knowledge list` show ids.",
    });
  }
  const sections = [sectionOf(said ? [shown(said)] : [])];
  return { kind: said ? "message" : "added", content, madeFrom: [], sections };
}

/** A rule rests on what its statements rest on. */
async function ofKnowledge(core: ServiceCore, entry: KnowledgeEntry): Promise<Sources> {
  const { kind, content, sources = [] } = entry;
  const from = (await core.project?.store.read([...sources])) ?? [];
  const messages: SourceMessage[] = [];
  const known = new Set<string>();
  for (const each of kind === "rule" ? from : [entry]) {
    for (const message of await messagesOf(core, each)) {
      const name = `${message.sessionId}:${message.id}`;
      if (!known.has(name)) messages.push(message);
      known.add(name);
    }
  }
  const madeFrom = from.map((each) => ({ id: each.id, kind: each.kind, content: each.content }));
  return { kind, content, madeFrom, sections: [sectionOf(messages)] };
}

async function messagesOf(
  { options }: ServiceCore,
  { sessionId, source }: KnowledgeEntry,
): Promise<readonly SourceMessage[]> {
  if (sessionId === undefined || source === undefined) return [];
  const read: ReadLog = (after, to) => options.stores.events.read(sessionId, after, to);
  const found = await messagesAround(read, source);
  return found.map((message) => shown({ ...message, sessionId }));
}

interface Said extends LoggedMessage {
  readonly sessionId: string;
}

/** The message that an entry of memory is of: its id is `<session>:<message>`. A copy leads to its original. */
async function messageNamed({ options }: ServiceCore, id: string): Promise<Said | undefined> {
  const [, sessionId = "", place = ""] = /^(.+):(\d{1,15})$/s.exec(id) ?? [];
  if (place === "") return undefined;
  const at = async (session: string, message: number) => {
    const read: ReadLog = (after, to) => options.stores.events.read(session, after, to);
    const found = await findMessage(read, message);
    return found && { ...found, sessionId: session };
  };
  const found = await at(sessionId, Number(place));
  if (!found?.inherited) return found;
  return (await at(found.inherited.session, found.inherited.message)) ?? found;
}

/** A summary rests on what its compaction took out, and on what the summaries before it rest on. */
async function ofSummary(
  core: ServiceCore,
  sessionId: string,
  event: number | undefined,
): Promise<Sources> {
  const own = event === undefined ? undefined : await inheritedAt(core, sessionId, event);
  if (own) {
    const sections = await ofInherited(core, { sessionId: own.session, event: own.event });
    return { kind: "summary", content: own.text, madeFrom: [], sections };
  }
  const found = await findCompaction(core, { sessionId, event });
  const { rests, inherits } = found;
  const before = inherits ? await ofInherited(core, inherits) : [];
  const sections = rests.map(({ discarded, discarded_messages }): Section => {
    const read = () => messagesIn(core, sessionId, discarded);
    return { count: discarded_messages, read };
  });
  const content = (found.event.type === "compaction_completed" && found.event.summary) || "";
  return { kind: "summary", content, madeFrom: [], sections: [...before, ...sections] };
}

/** The summary that a fork began with, if it is in this event. */
async function inheritedAt(
  { live, options }: ServiceCore,
  sessionId: string,
  seq: number,
): Promise<InheritedSummary | undefined> {
  await live.open(sessionId);
  for await (const { event } of options.stores.events.read(sessionId, seq - 1, seq)) {
    if (event.type === "history_inherited") return event.summary;
  }
  return undefined;
}

/** Nothing when the session was deleted. */
async function ofInherited(
  core: ServiceCore,
  { sessionId, event }: { readonly sessionId: string; readonly event: number },
): Promise<readonly Section[]> {
  if ((await core.options.stores.events.lastSeq(sessionId)) === 0) return [];
  return (await ofSummary(core, sessionId, event)).sections;
}

async function messagesIn(
  { options }: ServiceCore,
  sessionId: string,
  spans: readonly DiscardedSpan[],
): Promise<readonly SourceMessage[]> {
  const messages: SourceMessage[] = [];
  for (const { from, to } of spans) {
    const assembler = new MessageAssembler();
    for await (const stored of options.stores.events.read(sessionId, from - 1, to)) {
      const message = assembler.push(stored);
      if (message && !isSummary(message.message)) messages.push(shown({ ...message, sessionId }));
    }
  }
  return messages;
}

function shown({ sessionId, id, timestampMs, origin, message }: Said): SourceMessage {
  return {
    sessionId,
    id,
    time: origin?.time ?? new Date(timestampMs).toISOString(),
    role: roleOf(message),
    text: headWithin(wordsOf(message).replaceAll(/\s+/g, " ").trim(), SHOWN_BYTES),
  };
}
