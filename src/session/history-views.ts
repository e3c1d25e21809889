import { SessionError } from "../core/errors.ts";
import {
  type CompactionCompleted,
  type EventEnvelope,
  envelope,
  eventBytes,
  type StoredEvent,
} from "../core/event.ts";
import type { InheritedSummary } from "../core/fork.ts";
import { HistoryChanges } from "../core/history-changes.ts";
import { type HistoryEntry, isOwnSummary } from "../core/history-entry.ts";
import { type Message, wordsOf } from "../core/message.ts";
import type {
  CompactedMessage,
  CompactionView,
  LogPage,
  LogSpan,
} from "../core/operations/history.ts";
import type { CheckedRequest } from "../core/operations.ts";
import { type ReadLog, SessionState } from "../core/session-state.ts";
import { headWithin } from "../core/tokens.ts";
import { fatesBy } from "./message-fates.ts";
import type { ServiceCore } from "./service-core.ts";

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
  const summaries = new Map<number, SummarySources>();
  let found: StoredEvent | undefined;
  let inherited: InheritedSummary | undefined;
  for await (const stored of read(0, now.seq)) {
    changes.note(stored);
    const { type } = stored.event;
    if (type === "history_inherited") inherited = stored.event.summary;
    if (type === "compaction_completed") summaries.set(stored.seq, sourcesOf(stored.event));
    const isChange = type === "compaction_completed" || type === "tool_output_pruned";
    if (isChange && (event === undefined || stored.seq === event)) found = stored;
  }
  if (!found) throw noCompaction(event);
  const { seq } = found;
  const earlier = changes.inForce(seq).flatMap((each) => summaries.get(each) ?? []);
  const begins = earlier.findLastIndex(({ isWritten }) => !isWritten) + 1;
  const added = summaries.get(seq);
  const rests = [...earlier.slice(begins), ...(added ? [added] : [])];
  const state = await SessionState.fold(sessionId, read, seq - 1);
  const before = state.history;
  state.apply(found);
  const fates = fatesBy(found, state.history, now.settings.memory);
  const said = before.filter((entry) => !isOwnSummary(entry));
  const replaced = before.find(isOwnSummary)?.id ?? null;
  return {
    ...figuresOf(found),
    inForce: changes.inForce().includes(seq),
    sources: rests.flatMap(({ spans }) => spans),
    ...(inherited && added && begins === 0
      ? { inherits: { sessionId: inherited.session, event: inherited.event } }
      : {}),
    replaces: found.event.type === "compaction_completed" ? replaced : null,
    messageCount: said.length,
    messages: said.slice(offset, offset + limit).map((entry) => ({
      ...shown(entry),
      ...fates(entry),
    })),
  };
}

/** What a summary adds to those that the summary before it rests on. */
interface SummarySources {
  readonly spans: readonly LogSpan[];
  /** Whether there is a summary. Without one, the next summary does not rest on those before it. */
  readonly isWritten: boolean;
}

function sourcesOf({ discarded, summary }: CompactionCompleted): SummarySources {
  return { spans: discarded.map(({ from, to }) => ({ from, to })), isWritten: summary !== null };
}

function noCompaction(event: number | undefined): SessionError {
  return new SessionError("NOT_POSSIBLE", {
    message:
      event === undefined
        ? "There was no compaction in this session."
        : `Event ${event} of this session is no compaction.`,
    hint: "`rkat sessions events` shows the log.",
  });
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

export function roleOf(message: Message): CompactedMessage["role"] {
  if (message.role === "tool_results") return "tool";
  if (message.role === "system" || message.role === "user") return message.role;
  return "assistant";
}
