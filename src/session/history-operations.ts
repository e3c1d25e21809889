import { SessionError } from "../core/errors.ts";
import type { DiscardedSpan, StoredEvent } from "../core/event.ts";
import { given } from "../core/fields.ts";
import type { InheritedSummary } from "../core/kept-state.ts";
import type { KnowledgeEntry } from "../core/knowledge.ts";
import { isSummary, wordsOf } from "../core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import type { BringBackOperations } from "../core/operations/bring-back.ts";
import type { ForkOperations } from "../core/operations/forks.ts";
import type { HistoryOperations, LearnedFrom, MessageTrace } from "../core/operations/history.ts";
import type { SourceMessage, SourceOperations, SourcesView } from "../core/operations/sources.ts";
import type { CheckedRequest } from "../core/operations.ts";
import { HistoryChanges } from "../core/session-history.ts";
import type { ReadLog } from "../core/session-state.ts";
import { headWithin, messageWeight } from "../core/tokens.ts";
import { findMessage, messagesAround, requireMessage } from "./find-message.ts";
import { forkSession } from "./fork-session.ts";
import { findCompaction, readCompaction, readLog, roleOf } from "./history-views.ts";
import { changesIn, lastOf, turnsAt } from "./log-index.ts";
import { FollowedMessage } from "./message-fates.ts";
import type { Part, ServiceCore, ToolsOf } from "./service-core.ts";
import { memoryOf } from "./service-options.ts";
import { allowRecall, bringBack, refuseRecall, undoCompaction } from "./taking-back.ts";

/** Shows a history, takes back what compactions did to it, and goes on from a place in it. */
export function historyOperations(
  core: ServiceCore,
  toolsOf: ToolsOf,
): Part<
  | keyof HistoryOperations
  | keyof ForkOperations
  | keyof BringBackOperations
  | keyof SourceOperations
> {
  return {
    undoCompaction: (request) => undoCompaction(core, toolsOf, request),
    readCompaction: (request) => readCompaction(core, request),
    readMessage: (request) => readMessage(core, request),
    readLog: (request) => readLog(core, request),
    forkSession: (request) => forkSession(core, request),
    bringBack: (request) => bringBack(core, toolsOf, request),
    readSources: (request) => readSources(core, request),
    refuseRecall: (request) => refuseRecall(core, request),
    allowRecall: (request) => allowRecall(core, request),
  };
}

/** Events that are looked at, the last ones, for those that showed the message again. */
const RECALLS_MAX = 1000;

interface Span {
  readonly from: number;
  readonly to: number;
}

/** A message of the log, and what was made of it. */
async function readMessage(
  core: ServiceCore,
  { sessionId, message: id }: CheckedRequest<"readMessage">,
): Promise<MessageTrace> {
  const { state: now } = await core.live.open(sessionId);
  const { settings, working } = now;
  const { events } = core.options.stores;
  const read: ReadLog = (after, to) => events.read(sessionId, after, to);
  const memoryId = `${sessionId}:${id}`;
  const logged = await requireMessage(read, id);
  const since = { sessionId, afterSeq: id, toSeq: now.seq };
  const followed = new FollowedMessage(logged, settings.memory);
  const changes = new HistoryChanges();
  for (const stored of await changesIn(events, since)) {
    changes.note(stored);
    followed.note(stored);
  }
  const inForce = new Set(changes.inForce());
  const recalls = await lastOf(events, ["memory_recalled"], since, RECALLS_MAX);
  const returns = await lastOf(events, ["messages_brought_back"], since, RECALLS_MAX);
  const span = await spanOf(read, logged);
  const shownNow = now.history.find((entry) => entry.id === id);
  const weight = messageWeight(logged.message, settings.model);
  const entries = (await memoryOf(core.options)?.read([memoryId])) ?? [];
  const { inherited: said } = logged;
  return {
    id,
    turn: Math.max(0, (await turnsAt(events, sessionId, id)) - 1),
    time: new Date(logged.timestampMs).toISOString(),
    message: logged.message,
    ...given({ origin: logged.origin }),
    tokens: Math.ceil(weight / 4),
    now: !shownNow ? "left" : shownNow.weight === weight ? "whole" : "shortened",
    pinned: working.isPinned(id),
    memoryId: entries.length > 0 ? memoryId : null,
    compactions: followed.fates.map((each) => ({ ...each, inForce: inForce.has(each.event) })),
    recalledBy: recalls.filter((each) => isRecalledBy(each, memoryId)).map(seqOf),
    broughtBackBy: returns.filter((each) => isBroughtBackBy(each, id)).map(seqOf),
    learned: await learnedFrom(core, said?.session ?? sessionId, span),
    ...(said ? { copyOf: { sessionId: said.session, message: said.message } } : {}),
  };
}

function isRecalledBy({ event }: StoredEvent, memoryId: string): boolean {
  return event.type === "memory_recalled" && event.records.some(({ id }) => id === memoryId);
}

function isBroughtBackBy({ event }: StoredEvent, id: number): boolean {
  return (
    event.type === "messages_brought_back" && event.messages.some(({ message }) => message === id)
  );
}

function seqOf({ seq }: StoredEvent): number {
  return seq;
}

/** The events of the message, and what followed before the next one: the questions and answers about its calls. */
async function spanOf(read: ReadLog, { id, from, inherited }: LoggedMessage): Promise<Span> {
  if (inherited) return { from: inherited.message, to: inherited.message };
  const assembler = new MessageAssembler();
  for await (const stored of read(from - 1)) {
    const next = assembler.push(stored);
    if (next && next.id > id) return { from, to: next.from - 1 };
  }
  return { from, to: Number.POSITIVE_INFINITY };
}

/** The statements that the project learned from events of a session, and the rules made of them. */
async function learnedFrom(
  { project }: ServiceCore,
  session: string,
  span: Span,
): Promise<readonly LearnedFrom[]> {
  const all = (await project?.all()) ?? [];
  const isFrom = ({ from, to }: Span) => from <= span.to && span.from <= to;
  const direct = all.filter(
    ({ sessionId, source }) => sessionId === session && source !== undefined && isFrom(source),
  );
  const ids = new Set(direct.map(({ id }) => id));
  const rules = all.filter(
    ({ id, sources = [] }) => !ids.has(id) && sources.some((each) => ids.has(each)),
  );
  return [...direct, ...rules].map(({ id, kind, content }) => ({ id, kind, content }));
}

const MESSAGES_DEFAULT = 50;
/** UTF-8 bytes of a message in the list. */
const SHOWN_BYTES = 400;

/** The messages that something rests on. */
async function readSources(
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
