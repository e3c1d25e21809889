import { SessionError } from "../core/errors.ts";
import type { CompactionCompleted, DurableEvent, StateBefore, StoredEvent } from "../core/event.ts";
import { isUnreadable } from "../core/event-shape.ts";
import type { EventStore, Redaction } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import { newId } from "../core/ids.ts";
import { jsonText } from "../core/json-values.ts";
import { FORGOTTEN } from "../core/message.ts";
import { MessageAssembler } from "../core/message-assembler.ts";
import type { SessionState } from "../core/session-state.ts";
import type { SessionStore } from "../core/session-store.ts";
import type { AgeLimits } from "../core/stores.ts";
import { emptiedJson, forgottenMessage } from "./forget-message.ts";
import { cleanedPlaces, NOT_CLEANED } from "./receipt.ts";

/** The days that something is kept. Without a number it stays until you delete it. */
export interface KeepDays {
  /** Archived sessions, since their last change. */
  readonly archived?: number;
  /** The words of messages, in log and memory, since a compaction took them out of the window. */
  readonly compacted?: number;
}

interface RetentionDeps {
  readonly events: EventStore;
  readonly sessions: Pick<SessionStore, "list">;
  /** Deletes a session for good. */
  delete(sessionId: string): Promise<void>;
  /** Runs `work` while no turn runs in the session, in any process. */
  withSession<T>(sessionId: string, work: (state: SessionState) => Promise<T>): Promise<T>;
}

const DAY_MS = 86_400_000;
/** The log position up to which compacted messages were emptied. */
const CHECKPOINT = "retention";
/** Sessions of one list, events of one page of the log, and events that one transaction changes. */
const SESSIONS = 20;
const PAGE = 256;
const STEP = 500;

/**
 * Deletes sessions and messages older than the settings allow, in small transactions. After a kill, the next call
 * does the rest. What was learned stays: facts, corrections, rules, standing instructions, tasks.
 *
 * Each call reads only the part of the log that has become old since the last one.
 */
export class Retention {
  readonly #keep: KeepDays;
  readonly #deps: RetentionDeps;

  constructor(keep: KeepDays, deps: RetentionDeps) {
    this.#keep = keep;
    this.#deps = deps;
  }

  /** The age limits as of now. */
  get limits(): AgeLimits {
    const { archived, compacted } = this.#keep;
    const before = (days: number) => Date.now() - days * DAY_MS;
    return {
      ...(archived === undefined ? {} : { archivedMs: before(archived) }),
      ...(compacted === undefined ? {} : { logged: { ms: before(compacted), behind: CHECKPOINT } }),
    };
  }

  async deleteOld(): Promise<void> {
    const { archivedMs, logged } = this.limits;
    if (archivedMs !== undefined) await this.#deleteArchived(archivedMs);
    if (logged) await this.#emptyCompacted(logged.ms);
  }

  async #deleteArchived(before: number): Promise<void> {
    const { sessions } = this.#deps;
    for (let busy = 0; ; ) {
      const found = await sessions.list({ archivedBefore: before, limit: SESSIONS, offset: busy });
      if (found.length === 0) return;
      for (const { id } of found) {
        if (!(await unlessBusy(() => this.#deps.delete(id)))) busy += 1;
      }
    }
  }

  async #emptyCompacted(before: number): Promise<void> {
    const { events } = this.#deps;
    let done = await events.checkpoint(CHECKPOINT);
    // A session that cannot be read keeps no other waiting. It is looked at again until it is repaired.
    let unreadableFrom: number | undefined;
    const save = () => events.saveCheckpoint(CHECKPOINT, unreadableFrom ?? done);
    for (;;) {
      const page = await events.readAll(done, PAGE);
      if (page.length === 0) return;
      for (const { position, sessionId, stored } of page) {
        if (stored.timestamp_ms > before) return await save();
        const emptied = await this.#emptyBefore(sessionId, stored);
        if (emptied === "busy") return await save();
        if (emptied === "unreadable") unreadableFrom ??= done;
        done = position;
      }
      await save();
    }
  }

  /** Empties the messages that this compaction discarded, if the event is one. */
  async #emptyBefore(
    sessionId: string,
    { seq, event }: StoredEvent,
  ): Promise<"done" | "busy" | "unreadable"> {
    if (event.type !== "compaction_completed" || event.discarded.length === 0) return "done";
    try {
      const isDone = await unlessBusy(() =>
        this.#deps.withSession(sessionId, (state) => this.#empty(state, seq, event)),
      );
      return isDone ? "done" : "busy";
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return "unreadable";
    }
  }

  async #empty(
    state: SessionState,
    compactedAt: number,
    compaction: CompactionCompleted,
  ): Promise<void> {
    const { discarded } = compaction;
    const { events } = this.#deps;
    let lastSeq = state.seq;
    let messages: number[] = [];
    let redactions: Redaction[] = [];
    const commit = async () => {
      if (redactions.length === 0) return;
      lastSeq = await events.redact(state.id, lastSeq, redactions, {
        event_id: newId(),
        timestamp_ms: Date.now(),
        event: {
          type: "text_forgotten",
          by: "retention",
          messages,
          events: redactions.map(({ seq }) => seq),
          cleaned: cleanedPlaces(redactions, [], new Set([compactedAt])),
          not_cleaned: NOT_CLEANED.map(({ place }) => place),
        },
      });
      messages = [];
      redactions = [];
    };
    const empty = (seq: number, before: DurableEvent, event: DurableEvent) => {
      if (jsonText(event) !== jsonText(before)) redactions.push({ seq, event });
    };
    // An undone compaction has nothing to empty.
    const isShown = new Set(state.history.flatMap(({ id, from }) => seqs(from, id)));
    const assembler = new MessageAssembler();
    const first = Math.min(...discarded.map(({ from }) => from));
    let goes = true;
    for await (const stored of events.read(state.id, first - 1, compactedAt - 1)) {
      const isDiscarded =
        !isShown.has(stored.seq) &&
        discarded.some(({ from, to }) => stored.seq >= from && stored.seq <= to);
      const logged = assembler.push(stored);
      // An event between two messages belongs to the first of them: the end of a run repeats the answer.
      if (isDiscarded || logged) goes = isDiscarded;
      if (!goes) continue;
      if (logged) messages.push(logged.id);
      empty(stored.seq, stored.event, emptiedEvent(stored, state));
      if (redactions.length === STEP) await commit();
    }
    empty(compactedAt, compaction, withoutQuotesBefore(compaction, state));
    await commit();
    await state.catchUp((after, to) => events.read(state.id, after, to));
  }
}

function seqs(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** The event without its words. What is in force beyond its message stays. */
function emptiedEvent({ seq, event }: StoredEvent, state: SessionState): DurableEvent {
  switch (event.type) {
    case "message_added":
      return { ...event, message: forgottenMessage(event.message, "everything") };
    case "run_started": {
      const { content: _, ...rest } = event;
      return { ...rest, prompt: FORGOTTEN };
    }
    case "run_completed":
    case "tool_execution_completed":
      return { ...event, result: FORGOTTEN };
    case "reasoning_complete":
    case "text_complete":
      // The provider's signature of the old text would not fit the marker.
      return { type: event.type, content: FORGOTTEN };
    case "tool_call_requested": {
      const { meta: _, ...call } = event;
      return { ...call, args: emptiedJson(call.args) };
    }
    case "tool_approval_requested":
      return { ...event, args: emptiedJson(event.args), goal: FORGOTTEN };
    case "memory_recalled": {
      if (state.recalled.shown.some((each) => each.event === seq)) return event;
      return { ...event, records: event.records.map((each) => ({ ...each, text: FORGOTTEN })) };
    }
    case "messages_brought_back":
      return {
        ...event,
        messages: event.messages.map(({ images, ...each }) =>
          state.broughtBack.has(each.message)
            ? { ...each, ...given({ images }) }
            : { ...each, text: FORGOTTEN },
        ),
      };
    case "tool_output_pruned": {
      const { before: _, ...rest } = event;
      return rest;
    }
    case "compaction_completed": {
      const { report: _, before: __, ...rest } = event;
      return rest.summary === null ? rest : { ...rest, summary: FORGOTTEN };
    }
    default:
      return event;
  }
}

/** A compaction took away what was quoted in the window before it, but for pinned messages. Its summary stays in the window. */
function withoutQuotesBefore(
  event: CompactionCompleted,
  { broughtBack }: SessionState,
): CompactionCompleted {
  const { recalled = [], brought_back: brought = [], ...before } = event.before ?? {};
  const kept = brought.filter(({ message }) => broughtBack.has(message));
  if (!event.before || recalled.length + brought.length === kept.length) return event;
  return { ...event, before: { ...(before as StateBefore), brought_back: kept } };
}

/** Returns false when a turn runs in the session. One that is gone needs no work. */
async function unlessBusy(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
  } catch (error) {
    if (!SessionError.is(error)) throw error;
    if (error.code === "SESSION_BUSY") return false;
    if (error.code !== "SESSION_NOT_FOUND") throw error;
  }
  return true;
}
