import type { StoredEvent } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { HistoryChanges } from "../core/history-changes.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import type { LearnedFrom, MessageTrace } from "../core/operations/history.ts";
import type { CheckedRequest } from "../core/operations.ts";
import type { ReadLog } from "../core/session-state.ts";
import { messageWeight } from "../core/tokens.ts";
import { requireMessage } from "./find-message.ts";
import { changesIn, lastOf, turnsAt } from "./log-index.ts";
import { FollowedMessage } from "./message-fates.ts";
import type { ServiceCore } from "./service-core.ts";
import { memoryOf } from "./service-options.ts";

/** Events that are looked at, the last ones, for those that showed the message again. */
const RECALLS_MAX = 1000;

interface Span {
  readonly from: number;
  readonly to: number;
}

/** A message of the log, and what was made of it. */
export async function readMessage(
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

/** What the project learned from events of a session, and the rules made of that. */
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
