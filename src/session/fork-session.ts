import { SessionError } from "../core/errors.ts";
import type {
  DurableEvent,
  HistoryInherited,
  NewEvent,
  SessionForked,
  StoredEvent,
} from "../core/event.ts";
import { given } from "../core/fields.ts";
import { isOwnSummary } from "../core/history-entry.ts";
import { newId } from "../core/ids.ts";
import type { ImportBatch } from "../core/import-store.ts";
import type { InheritedSummary } from "../core/kept-state.ts";
import { MessageAssembler } from "../core/message-assembler.ts";
import type { ForkedSession } from "../core/operations/forks.ts";
import type { CheckedRequest } from "../core/operations.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { OWN_AGENT } from "../core/session-source.ts";
import { type ReadLog, SessionState } from "../core/session-state.ts";
import { LiveSession } from "./live-sessions.ts";
import { type EventIndex, recentChanges } from "./log-index.ts";
import type { ServiceCore } from "./service-core.ts";

/**
 * Begins a session with the history of another one. Both logs say so, in one commit, so that a kill leaves both or
 * neither.
 */
export async function forkSession(
  { work, live, options }: ServiceCore,
  { sessionId, event: asked }: CheckedRequest<"forkSession">,
): Promise<ForkedSession> {
  const { events, sessions } = options.stores;
  const read: ReadLog = (after, to) => events.read(sessionId, after, to);
  return await work.run(sessionId, { archivedToo: true }, async (session) => {
    const { seq } = session.state;
    const event = asked ?? seq;
    if (event > seq)
      throw notPossible(
        `The log of the session ends at event ${seq}.`,
        "Name a message by its id: `rkat sessions show SESSION` lists each with it (@17).",
      );
    const saved = await sessions.load(sessionId);
    // The session as the store has it: the session in this process may have what its log must not.
    const now = saved
      ? await SessionState.restore(saved, read)
      : await SessionState.fold(sessionId, read);
    const then = event === seq ? now : await earlierState(now, event, { events, read });
    requireAnswered(then, asked);
    const id = newId();
    // Not later than the fork, so that the session used last is the fork.
    const timestamp_ms = Date.now();
    const begins = await inheritedEvents(createdFrom(then, id, options), then, read);
    const fork = new SessionState(id);
    for (const [index, each] of begins.entries()) {
      fork.apply({ ...each, seq: index + 1, schema_version: 1 });
    }
    const told: SessionForked = { type: "session_forked", fork: id, event };
    const noted = { event_id: newId(), timestamp_ms, event: told };
    now.apply({ ...noted, seq: seq + 1, schema_version: 1 });
    // No snapshot is taken while calls wait: the last one stays.
    const parent = now.openCalls.length > 0 && saved ? saved : now.snapshot();
    await commitAll(options.stores, [
      { sessionId: id, lastSeq: 0, events: begins, snapshot: fork.snapshot(), ids: [] },
      { sessionId, lastSeq: seq, events: [noted], snapshot: parent, ids: [] },
    ]);
    await session.state.catchUp(read);
    live.add(new LiveSession(fork, events));
    const { history, historyTokens } = fork;
    return { sessionId: id, event, messages: history.length, historyTokens };
  });
}

/** The session after an earlier event. It reads what the model saw then, and the log since the compaction before. */
async function earlierState(
  now: SessionState,
  toSeq: number,
  { events, read }: { readonly events: EventIndex; readonly read: ReadLog },
): Promise<SessionState> {
  let since: number | undefined;
  for await (const changes of recentChanges(events, { sessionId: now.id, afterSeq: 0, toSeq })) {
    since = changes.inForce().at(-1);
    if (since !== undefined) break;
  }
  return await now.earlier(toSeq, since, read);
}

/**
 * Appends to logs, and saves the snapshots that belong to them, in one commit. Stores without `imports` commit one after
 * the other: a kill may leave a fork that the other session does not name, or a log without its snapshot.
 */
export async function commitAll(
  { events, sessions, imports }: ServiceCore["options"]["stores"],
  batches: readonly ImportBatch[],
): Promise<void> {
  if (imports) return void (await imports.commit(batches));
  for (const { sessionId, lastSeq, events: added, snapshot } of batches) {
    await events.append(sessionId, lastSeq, added);
    await sessions.save(snapshot);
  }
}

/** The settings of the other session. What it was allowed to do, it alone is. */
function createdFrom(
  { id: parent, seq: event, settings }: SessionState,
  id: string,
  { heldIn, project }: ServiceCore["options"],
) {
  const held = heldIn?.() ?? given({ project });
  const forkOf = { id: parent, relation: "fork", event } as const;
  const source = { agent: OWN_AGENT, native_id: id, ...held, parent: forkOf };
  return {
    type: "session_created",
    session_id: id,
    settings: { ...settings, source },
  } as const;
}

/** A history must not end with calls that have no results. */
function requireAnswered({ openCalls, history, seq }: SessionState, asked: number | undefined) {
  if (openCalls.length === 0) return;
  if (asked === undefined) throw new SessionError("APPROVAL_REQUIRED");
  const { id: calls = seq, from = seq } = history.at(-1) ?? {};
  throw notPossible(
    `The calls of message ${calls} have no results at event ${seq}.`,
    `Fork at event ${from - 1}, before them, or at the message with their results.`,
  );
}

function notPossible(message: string, hint?: string): SessionError {
  return new SessionError("NOT_POSSIBLE", { message, ...given({ hint }) });
}

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
async function inheritedEvents(
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
  { pruned, brought_back: brought = [], token_counts, ...kept }: SessionSnapshot,
  copies: ReadonlyMap<number, number>,
  summary: InheritedSummary | undefined,
): HistoryInherited {
  const { working } = state;
  const { recalled = [] } = state.recalled.kept;
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
