import type { CompactionCompleted, StoredEvent } from "../core/event.ts";
import type { HistoryChanges } from "../core/history-changes.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import { isSummary } from "../core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../core/message-assembler.ts";
import { SessionHistory } from "../core/session-history.ts";
import { messageWeight } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";
import { type EventIndex, turnsAt } from "./log-index.ts";

/** Events with which a fork begins before its copies, at the most. */
const OPENING_EVENTS = 10;

interface EarlierHistory {
  readonly sessionId: string;
  readonly model: string;
  /** The history before this event. */
  readonly seq: number;
  /** What changed the history, oldest first, and which of it is undone. */
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
