import type { DurableEvent, HistoryInherited, NewEvent, StoredEvent } from "../core/event.ts";
import { given } from "../core/fields.ts";
import type { InheritedSummary } from "../core/fork.ts";
import { isOwnSummary } from "../core/history-entry.ts";
import { newId } from "../core/ids.ts";
import { MessageAssembler } from "../core/message-assembler.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import type { ReadLog, SessionState } from "../core/session-state.ts";

/** Events with which a session begins before its messages. */
const OPENING_EVENTS = 10;

/**
 * The first events of a fork: what the other session began with, its messages in the window, whole, and what its model
 * sees besides them.
 *
 *     session_created  skills_resolved  knowledge_applied  message_added …  history_inherited
 *                                                          └ copies, with the times of the originals
 *
 * It reads no more of the other log than the window has.
 */
export async function inheritedEvents(
  created: Extract<DurableEvent, { type: "session_created" }>,
  state: SessionState,
  read: ReadLog,
): Promise<readonly NewEvent[]> {
  const now = Date.now();
  const opening: DurableEvent[] = [created];
  for await (const { event } of read(0, OPENING_EVENTS)) {
    if (event.type === "skills_resolved" || event.type === "knowledge_applied") opening.push(event);
  }
  const events = opening.map((event) => newEvent(event, now));
  const snapshot = state.snapshot();
  /** The ids of the copies. */
  const copies = new Map<number, number>();
  for await (const { id, copy } of windowMessages(state.id, snapshot, read)) {
    events.push(copy);
    copies.set(id, events.length);
  }
  const summary = await summaryOf(state, snapshot, read);
  events.push(newEvent(inherited(state, snapshot, copies, summary), now));
  return events;
}

function newEvent(event: DurableEvent, timestamp_ms: number): NewEvent {
  return { event_id: newId(), timestamp_ms, event };
}

/** The messages of the history as they were said, each with the event of its copy. */
async function* windowMessages(
  sessionId: string,
  { history }: SessionSnapshot,
  read: ReadLog,
): AsyncGenerator<{ readonly id: number; readonly copy: NewEvent }> {
  const assembler = new MessageAssembler();
  for (const { from, to } of history) {
    for await (const stored of read(from - 1, to)) {
      const logged = assembler.push(stored);
      if (!logged) continue;
      const { id, message, origin, timestampMs } = logged;
      const said = logged.inherited ?? { session: sessionId, message: id };
      const memory = "memory" in stored.event ? stored.event.memory : undefined;
      const copy = { type: "message_added", message, ...given({ origin, memory }) } as const;
      yield { id, copy: newEvent({ ...copy, inherited: said }, timestampMs) };
    }
  }
}

/** The summary in the history, with the session whose log has it first. */
async function summaryOf(
  { id: session }: SessionState,
  { summary: place }: SessionSnapshot,
  read: ReadLog,
): Promise<InheritedSummary | undefined> {
  if (!place) return undefined;
  for await (const { event, seq } of read(place.seq - 1, place.seq)) {
    const found = summaryIn({ event, seq }, session);
    return found && { ...found, index: place.index };
  }
  return undefined;
}

function summaryIn(
  { event, seq }: Pick<StoredEvent, "event" | "seq">,
  session: string,
): InheritedSummary | undefined {
  if (event.type === "history_inherited") return event.summary;
  if (event.type !== "compaction_completed" || event.summary === null) return undefined;
  return { session, event: seq, text: event.summary, index: 0 };
}

function inherited(
  state: SessionState,
  { pruned, recalled = [], brought_back: brought = [], token_counts, ...kept }: SessionSnapshot,
  copies: ReadonlyMap<number, number>,
  summary: InheritedSummary | undefined,
): HistoryInherited {
  const { working } = state;
  const shown = working.shown;
  return {
    type: "history_inherited",
    from: { session: state.id, event: state.seq },
    ...given({ summary }),
    pruned: pruned.map((item) => ({ ...item, message: copies.get(item.message) ?? 0 })),
    ...(recalled.length === 0
      ? {}
      : { recalled: recalled.map((one) => ({ ...one, before: copies.get(one.before) ?? 0 })) }),
    ...(brought.length === 0
      ? {}
      : {
          brought_back: brought.map((one) => ({
            ...one,
            // The message is in the other log only.
            message: copies.get(one.message) ?? 0,
            after: copyBefore(one.after, state, copies),
          })),
        }),
    ...given({ recall_refused: kept.recall_refused }),
    pins: working.pins.flatMap((pin) => copies.get(pin) ?? []),
    task: working.task,
    shown_task: shown ? { ...shown, after: copyBefore(shown.after, state, copies) } : null,
    denied: working.denied,
    instructions: working.instructions.map((one) => ({
      ...one,
      message: copies.get(one.message) ?? 0,
    })),
    instructions_left_out: (kept.instructions_left_out ?? []).flatMap((id) => copies.get(id) ?? []),
    token_factors: token_counts?.factors ?? {},
  };
}

/** The copy of the last message of the history up to an id; 0 when there is none. A summary comes after all copies. */
function copyBefore(
  id: number,
  { history }: SessionState,
  copies: ReadonlyMap<number, number>,
): number {
  const before = history.findLast((entry) => entry.id <= id && !isOwnSummary(entry));
  return before ? (copies.get(before.id) ?? 0) : 0;
}
