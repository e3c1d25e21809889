import { SessionError } from "../core/errors.ts";
import {
  type CompactionCompleted,
  type EventEnvelope,
  envelope,
  eventBytes,
  type StoredEvent,
} from "../core/event.ts";
import { given } from "../core/fields.ts";
import { HistoryChanges } from "../core/history-changes.ts";
import { type HistoryEntry, isOwnSummary } from "../core/history-entry.ts";
import type { InheritedSummary } from "../core/kept-state.ts";
import { type Message, wordsOf } from "../core/message.ts";
import type { CompactedMessage, CompactionView, LogPage } from "../core/operations/history.ts";
import type { CheckedRequest } from "../core/operations.ts";
import { headWithin } from "../core/tokens.ts";
import { historyBefore } from "./earlier-history.ts";
import { changesIn } from "./log-index.ts";
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
