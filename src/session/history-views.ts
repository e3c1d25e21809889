import { SessionError } from "../core/errors.ts";
import { type EventEnvelope, envelope, eventBytes, type StoredEvent } from "../core/event.ts";
import { HistoryChanges } from "../core/history-changes.ts";
import { type HistoryEntry, isOwnSummary } from "../core/history-entry.ts";
import type { Message } from "../core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import type {
  CompactedMessage,
  CompactionView,
  LogPage,
  LogSpan,
  MessageTrace,
  TracedCompaction,
} from "../core/operations/history.ts";
import type { CheckedRequest } from "../core/operations.ts";
import { type ReadLog, SessionState } from "../core/session-state.ts";
import { headWithin, messageWeight } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";
import { fatesBy, wordsOf } from "./message-fates.ts";
import type { ServiceCore } from "./service-core.ts";
import { memoryOf } from "./service-options.ts";

const EVENTS_DEFAULT = 100;
/** A page ends after about so many bytes. */
const PAGE_BYTES = 1_000_000;
const MESSAGES_DEFAULT = 200;
/** UTF-8 bytes of a message in a list. */
const SHOWN_BYTES = 200;

/** A page of a session's log. */
export async function readLog(
  { live, options }: ServiceCore,
  { sessionId, afterSeq, beforeSeq, limit = EVENTS_DEFAULT }: CheckedRequest<"readLog">,
): Promise<LogPage> {
  const { events } = options.stores;
  const { seq: lastSeq } = (await live.open(sessionId)).state;
  const end = Math.min(beforeSeq ?? lastSeq + 1, lastSeq + 1);
  const [from, to] =
    afterSeq === undefined
      ? [Math.max(0, end - 1 - limit), end - 1]
      : [afterSeq, Math.min(end - 1, afterSeq + limit)];
  const page: EventEnvelope[] = [];
  let bytes = 0;
  for await (const stored of events.read(sessionId, from, to)) {
    const size = eventBytes(stored.event);
    if (afterSeq !== undefined && page.length > 0 && bytes + size > PAGE_BYTES) break;
    page.push(envelope(sessionId, stored));
    bytes += size;
    // Backwards, the page keeps its end.
    while (page.length > 1 && bytes > PAGE_BYTES) bytes -= eventBytes(page.shift()?.payload);
  }
  const first = page[0]?.seq ?? from + 1;
  const last = page.at(-1)?.seq ?? to;
  return { events: page, lastSeq, before: first > 1, after: last < lastSeq };
}

/** A compaction, with the fate of each message. */
export async function readCompaction(
  core: ServiceCore,
  { sessionId, event, limit = MESSAGES_DEFAULT, offset = 0 }: CheckedRequest<"readCompaction">,
): Promise<CompactionView> {
  const { state: now } = await core.live.open(sessionId);
  const changes = new HistoryChanges();
  const read: ReadLog = (after, to) => core.options.stores.events.read(sessionId, after, to);
  const sources = new Map<number, readonly LogSpan[]>();
  let found: CompactionView | undefined;
  for await (const { stored, before, state } of replayed(sessionId, read, now.seq)) {
    changes.note(stored);
    if (stored.event.type === "compaction_undone") continue;
    const summary = before.find(isOwnSummary);
    const earlier = summary ? (sources.get(summary.id) ?? []) : [];
    const spans = "discarded" in stored.event ? stored.event.discarded.map(spanOf) : [];
    sources.set(stored.seq, [...earlier, ...spans]);
    if (event !== undefined && stored.seq !== event) continue;
    const fates = fatesBy(stored, state.history, state.settings.memory);
    const said = before.filter((entry) => !isOwnSummary(entry));
    found = {
      ...figuresOf(stored),
      inForce: true,
      sources: [...earlier, ...spans],
      replaces: summary && stored.event.type === "compaction_completed" ? summary.id : null,
      messageCount: said.length,
      messages: said.slice(offset, offset + limit).map((entry) => ({
        ...shown(entry),
        ...fates(entry),
      })),
    };
  }
  if (found) return { ...found, inForce: changes.inForce.includes(found.event) };
  throw new SessionError("NOT_POSSIBLE", {
    message:
      event === undefined
        ? "There was no compaction in this session."
        : `Event ${event} of this session is no compaction.`,
    hint: "`rkat sessions events` shows the log.",
  });
}

/** A message of the log, and what was made of it. */
export async function readMessage(
  core: ServiceCore,
  { sessionId, message: id }: CheckedRequest<"readMessage">,
): Promise<MessageTrace> {
  const { state: now } = await core.live.open(sessionId);
  const { events } = core.options.stores;
  const read: ReadLog = (after, to) => events.read(sessionId, after, to);
  const logged = await messageAt(id, read);
  if (!logged) {
    throw new SessionError("MESSAGE_NOT_IN_HISTORY", {
      message: `No message of this session has the id ${id}.`,
    });
  }
  const changes = new HistoryChanges();
  const compactions: Omit<TracedCompaction, "inForce">[] = [];
  for await (const { stored, before, state } of replayed(sessionId, read, now.seq)) {
    changes.note(stored);
    if (stored.event.type === "compaction_undone") continue;
    const entry = before.find((each) => each.id === id);
    if (!entry) continue;
    const { fate } = fatesBy(stored, state.history, state.settings.memory)(entry);
    compactions.push({ event: stored.seq, fate });
  }
  const recalledBy: number[] = [];
  for await (const { seq, event } of read(id)) {
    if (event.type !== "memory_recalled") continue;
    if (event.records.some((record) => record.id === `${sessionId}:${id}`)) recalledBy.push(seq);
  }
  const shownNow = now.history.find((entry) => entry.id === id);
  const inForce = new Set(changes.inForce);
  const weight = messageWeight(logged.message, now.settings.model);
  const memoryId = `${sessionId}:${id}`;
  const entries = (await memoryOf(core.options)?.read([memoryId])) ?? [];
  return {
    id,
    turn: logged.turn,
    time: new Date(logged.timestampMs).toISOString(),
    message: logged.message,
    ...(logged.origin ? { origin: logged.origin } : {}),
    tokens: Math.ceil(weight / 4),
    now: !shownNow ? "left" : shownNow.weight === weight ? "whole" : "shortened",
    pinned: now.working.isPinned(id),
    memoryId: entries.length > 0 ? memoryId : null,
    compactions: compactions.map((each) => ({ ...each, inForce: inForce.has(each.event) })),
    recalledBy,
  };
}

interface Change {
  readonly stored: StoredEvent;
  /** The history before it. */
  readonly before: readonly HistoryEntry[];
  /** The state after it. */
  readonly state: SessionState;
}

/** The compactions and prunings of a log, and what undid them, with the histories before and after. */
async function* replayed(id: string, read: ReadLog, toSeq: number): AsyncGenerator<Change> {
  const state = new SessionState(id);
  for await (const stored of read(0, toSeq)) {
    const before = state.history;
    const { type } = stored.event;
    const isChange = type === "compaction_completed" || type === "tool_output_pruned";
    await state.follow(stored, read);
    if (isChange || type === "compaction_undone") yield { stored, before, state };
  }
}

async function messageAt(
  id: number,
  read: ReadLog,
): Promise<(LoggedMessage & { readonly turn: number }) | undefined> {
  const assembler = new MessageAssembler();
  let turns = 0;
  for await (const stored of read(0, id)) {
    const logged = assembler.push(stored);
    if (logged && startsTurn(logged.message)) turns += 1;
    if (logged?.id === id) return { ...logged, turn: Math.max(0, turns - 1) };
  }
  return undefined;
}

function figuresOf({ seq, timestamp_ms, event }: StoredEvent) {
  const isWhole = event.type === "compaction_completed";
  const tokens = "tokens_before" in event ? event : { tokens_before: 0, tokens_after: 0 };
  return {
    event: seq,
    kind: isWhole ? ("compacted" as const) : ("pruned" as const),
    time: new Date(timestamp_ms).toISOString(),
    tokensBefore: tokens.tokens_before,
    tokensAfter: tokens.tokens_after,
    summary: isWhole ? event.summary : null,
  };
}

function spanOf({ from, to }: LogSpan): LogSpan {
  return { from, to };
}

function shown({
  id,
  turn,
  message,
  weight,
}: HistoryEntry): Omit<CompactedMessage, "fate" | "names"> {
  const text = headWithin(wordsOf(message).replaceAll(/\s+/g, " ").trim(), SHOWN_BYTES);
  return {
    id,
    turn: Math.max(0, turn),
    role: roleOf(message),
    text,
    tokens: Math.ceil(weight / 4),
  };
}

function roleOf(message: Message): CompactedMessage["role"] {
  if (message.role === "tool_results") return "tool";
  if (message.role === "system" || message.role === "user") return message.role;
  return "assistant";
}
