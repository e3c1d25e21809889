import { SessionError } from "../core/errors.ts";
import {
  type CompactionCompleted,
  type EventEnvelope,
  envelope,
  eventBytes,
  type StoredEvent,
} from "../core/event.ts";
import { given } from "../core/fields.ts";
import { type HistoryEntry, isOwnSummary } from "../core/history-entry.ts";
import type { InheritedSummary } from "../core/kept-state.ts";
import { isSummary, type Message, wordsOf } from "../core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import type { CompactedMessage, CompactionView, LogPage } from "../core/operations/history.ts";
import type { CheckedRequest } from "../core/operations.ts";
import { HistoryChanges, SessionHistory } from "../core/session-history.ts";
import { headWithin, messageWeight } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";
import { changesIn, type EventIndex, turnsAt } from "./log-index.ts";
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
  const { events } = core.options.stores;
  const { model, memory } = now.settings;
  const found = await findCompaction(core, { sessionId, event });
  const { seq, changes, fold } = found;
  const history = await historyBefore(events, { sessionId, model, seq, changes, fold });
  const before = history.entries;
  history.change(found, model);
  const fates = fatesBy(found, history.entries, memory);
  const said = before.filter((entry) => !isOwnSummary(entry));
  const replaced = before.find(isOwnSummary)?.id ?? null;
  return {
    ...figuresOf(found),
    inForce: fold.inForce().includes(seq),
    sources: found.rests.flatMap(({ discarded }) =>
      discarded.map(({ from, to }) => ({ from, to })),
    ),
    ...given({ inherits: found.inherits }),
    replaces: found.event.type === "compaction_completed" ? replaced : null,
    messageCount: said.length,
    messages: said.slice(offset, offset + limit).map((entry) => ({
      ...shown(entry),
      ...fates(entry),
    })),
  };
}

/** A compaction or a pruning among all that changed the history. */
interface FoundCompaction extends StoredEvent {
  readonly changes: readonly StoredEvent[];
  readonly fold: HistoryChanges;
  /** The compactions that its summary rests on, itself the last. None for a pruning. */
  readonly rests: readonly CompactionCompleted[];
  /** The summary of another session that it rests on as well. */
  readonly inherits: { readonly sessionId: string; readonly event: number } | undefined;
}

/**
 * A compaction of a session, or the last one, with what its summary rests on. It reads what changed the history.
 *
 * @throws SessionError `NOT_POSSIBLE`
 */
export async function findCompaction(
  { live, options }: ServiceCore,
  { sessionId, event }: { readonly sessionId: string; readonly event?: number | undefined },
): Promise<FoundCompaction> {
  const { seq: toSeq } = (await live.open(sessionId)).state;
  const changes = await changesIn(options.stores.events, { sessionId, afterSeq: 0, toSeq });
  const fold = new HistoryChanges();
  for (const stored of changes) fold.note(stored);
  const compactions = new Map<number, CompactionCompleted>();
  for (const { seq, event: each } of changes) {
    if (each.type === "compaction_completed") compactions.set(seq, each);
  }
  const found = changes.findLast(
    ({ seq, event: { type } }) =>
      (type === "compaction_completed" || type === "tool_output_pruned") &&
      (event === undefined || seq === event),
  );
  if (!found) throw noCompaction(event);
  const earlier = fold.inForce(found.seq).flatMap((each) => compactions.get(each) ?? []);
  // Without a summary, the next one does not rest on those before it.
  const begins = earlier.findLastIndex(({ summary }) => summary === null) + 1;
  const added = compactions.get(found.seq);
  const inherited = added && begins === 0 ? inheritedBy(changes) : undefined;
  return {
    ...found,
    changes,
    fold,
    rests: [...earlier.slice(begins), ...(added ? [added] : [])],
    inherits: inherited && { sessionId: inherited.session, event: inherited.event },
  };
}

function inheritedBy(changes: readonly StoredEvent[]): InheritedSummary | undefined {
  for (const { event } of changes) if (event.type === "history_inherited") return event.summary;
  return undefined;
}

function noCompaction(event: number | undefined): SessionError {
  return new SessionError("NOT_POSSIBLE", {
    message:
      event === undefined
        ? "There was no compaction in this session."
        : `Event ${event} of this session is no compaction.`,
    hint: "`rkat sessions events SESSION` shows the log.",
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

/** Events with which a fork begins before its copies, at the most. */
const OPENING_EVENTS = 10;

interface EarlierHistory {
  readonly sessionId: string;
  readonly model: string;
  /** The history before this event. */
  readonly seq: number;
  /** The changes of the history, oldest first, and which of them are undone. */
  readonly changes: readonly StoredEvent[];
  readonly fold: HistoryChanges;
}

/**
 * The history of a session as it was before an event. It reads the messages that were in it, and nothing of what had left
 * it by then:
 *
 *     log       ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪
 *     left        ─────── ───────── ──────           by the compactions that were in force
 *     read      ──       ─         ─      ────
 */
export async function historyBefore(
  events: EventIndex,
  { sessionId, model, seq, changes, fold }: EarlierHistory,
): Promise<SessionHistory> {
  const isUndone = fold.undoneBefore(seq);
  const inForce = changes.filter((each) => each.seq < seq && !isUndone(each.seq));
  const compactions = inForce.filter(isCompaction);
  const left = compactions.flatMap(({ event }) => event.discarded);
  const leftOut = new Set(inForce.flatMap(leftOutBy));
  const lastCompaction = compactions.at(-1)?.seq ?? 0;
  const all: HistoryEntry[] = [];
  for (const part of partsWithout(left, seq - 1)) {
    for await (const entry of entriesIn(events, { sessionId, model, ...part })) all.push(entry);
  }
  const said = all.filter(({ id }) => !leftOut.has(id));
  // A compaction also takes away what looks like a summary, which is in no span.
  const entries = said.filter(({ id, message }) => !isSummary(message) || id > lastCompaction);
  const history = new SessionHistory();
  for (const entry of entries) history.append(entry);
  for (const { event } of inForce) if ("pruned" in event) history.prune(event.pruned, model);
  const copies = firstCopy(events, sessionId);
  let summary: PlacedSummary | undefined;
  let since = 0;
  for (const each of inForce) {
    const gone = said.find(({ id, message }) => isSummary(message) && since < id && id < each.seq);
    summary = await summaryAfter(each, { summary, gone: gone?.id, copies });
    if (isCompaction(each)) since = each.seq;
  }
  if (!summary) return history;
  const { before, text, timestampMs } = summary;
  const index = entries.filter(({ id }) => id < before).length;
  history.insertSummary({ seq: summary.seq, index }, timestampMs, text);
  return history;
}

interface PlacedSummary {
  readonly seq: number;
  readonly timestampMs: number;
  readonly text: string;
  /** It stands before the messages from this id on. */
  readonly before: number;
}

async function summaryAfter(
  { seq, timestamp_ms: timestampMs, event }: StoredEvent,
  now: {
    readonly summary: PlacedSummary | undefined;
    /** The first message that looks like a summary, which a compaction takes away. */
    readonly gone: number | undefined;
    /** Reads the id of the first copy of a fork. */
    copies(): Promise<number>;
  },
): Promise<PlacedSummary | undefined> {
  if (event.type === "history_inherited") {
    if (!event.summary) return undefined;
    const { text, index } = event.summary;
    return { seq, timestampMs, text, before: Math.min(seq, (await now.copies()) + index) };
  }
  if (event.type !== "compaction_completed") return now.summary;
  if (event.summary === null) return undefined;
  const gone = [now.summary?.before, now.gone, ...event.discarded.map(({ from }) => from)];
  const places = gone.filter((place) => place !== undefined);
  const before = places.length === 0 ? 0 : Math.min(...places);
  return { seq, timestampMs, text: event.summary, before };
}

function firstCopy(events: EventIndex, sessionId: string): () => Promise<number> {
  return async () => {
    for await (const { seq, event } of events.read(sessionId, 0, OPENING_EVENTS)) {
      if (event.type === "message_added") return seq;
    }
    return 0;
  };
}

function isCompaction(
  stored: StoredEvent,
): stored is StoredEvent & { readonly event: CompactionCompleted } {
  return stored.event.type === "compaction_completed";
}

function leftOutBy({ event }: StoredEvent): readonly number[] {
  return event.type === "compaction_undone" ? (event.left_out ?? []) : [];
}

interface Part {
  readonly from: number;
  readonly to: number;
}

/** The parts of a log up to an event that are in none of some spans. */
function partsWithout(spans: readonly Part[], end: number): readonly Part[] {
  const parts: Part[] = [];
  let from = 1;
  for (const span of spans.toSorted((one, other) => one.from - other.from)) {
    if (span.from > from) parts.push({ from, to: Math.min(end, span.from - 1) });
    from = Math.max(from, span.to + 1);
  }
  if (from <= end) parts.push({ from, to: end });
  return parts;
}

async function* entriesIn(
  events: EventIndex,
  { sessionId, model, from, to }: Part & { readonly sessionId: string; readonly model: string },
): AsyncGenerator<HistoryEntry> {
  const assembler = new MessageAssembler();
  let turns: number | undefined = from === 1 ? 0 : undefined;
  for await (const stored of events.read(sessionId, from - 1, to)) {
    const logged = assembler.push(stored);
    if (!logged) continue;
    turns ??= await turnsAt(events, sessionId, from - 1);
    if (startsTurn(logged.message)) turns += 1;
    yield entryOf(logged, { turn: turns - 1, model });
  }
}

function entryOf(
  logged: LoggedMessage,
  { turn, model }: { readonly turn: number; readonly model: string },
): HistoryEntry {
  // Its place among all messages is not known, and only tells it from a summary.
  return { ...logged, ordinal: logged.id, turn, weight: messageWeight(logged.message, model) };
}
