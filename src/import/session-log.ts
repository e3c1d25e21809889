import type { DurableEvent, NewEvent, SessionSettings } from "../core/event.ts";
import type { PositionedEvent } from "../core/event-store.ts";
import { newId } from "../core/ids.ts";
import type { ImportBatch } from "../core/import-store.ts";
import { indexableText, type Message } from "../core/message.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { SessionState } from "../core/session-state.ts";
import { messageWeight, tokensOfWeight } from "../core/tokens.ts";
import { startsTurn } from "../core/turn.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { type ImportedSession, printedId } from "../transcripts/imported.ts";
import type { BatchOptions } from "./group-commit.ts";
import type { ImportStores, StoringOptions, TitledSession } from "./import-stores.ts";
import {
  idsOf,
  isPrompt,
  type MessageAdded,
  type ReadMessage,
  titleIn,
  withoutForgotten,
} from "./read-message.ts";

/** The most batches on their way to a store in another thread, or behind a network. */
export const UNDER_WAY_MAX = 3;

export interface AppendOptions extends BatchOptions {
  /** Called when the batch was handed to the store. */
  readonly onSent: () => void;
}

function redacted(title: string | undefined): string | undefined {
  return title ? redactSecrets(title) : undefined;
}

/** The log of a session, as this import last wrote it. */
export class SessionLog {
  readonly #session: ImportedSession;
  readonly #options: StoringOptions;
  /** Unset before the first batch, and when another program may have written. */
  #snapshot: SessionSnapshot | undefined;
  /** This import began the log, and is its only writer. */
  #isOwn = false;
  #isTitleForgotten = false;
  /** The first thing that a person typed in it, or in the session that it is a fork of. */
  #firstPrompt: ReadMessage | undefined;
  /** Another program has written to the log. From then on one batch is sent after the other. */
  isDisputed = false;
  /** The ids of the batches that were sent last: the store may not have known them when it was asked. */
  #sent: ReadonlySet<string>[] = [];

  constructor(session: ImportedSession, options: StoringOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Takes messages that were read, old and new. */
  note(read: readonly ReadMessage[]): void {
    this.#firstPrompt ??= read.find(isPrompt);
  }

  /** A fork begins with its parent's prompt, so its title is its first own prompt. */
  #title(fresh: readonly ReadMessage[]): string | undefined {
    const { title } = this.#session;
    const first = this.#firstPrompt;
    if (!first || title !== titleIn(first)) return title;
    if (fresh.some(({ parts }) => parts === first.parts)) return title;
    const own = fresh.find(isPrompt);
    return (own && titleIn(own)) ?? title;
  }

  /** Whether a title is how the session's first prompt begins, and no name of it. */
  isPrompts(title: string): boolean {
    return this.#firstPrompt !== undefined && title === redacted(titleIn(this.#firstPrompt));
  }

  /** The title that its program has for it now, if it was there before this import. */
  get newTitle(): string | undefined {
    const { title } = this.#session;
    return this.#isOwn || this.#isTitleForgotten ? undefined : redacted(title);
  }

  hasJust(id: string): boolean {
    return this.#sent.some((ids) => ids.has(id));
  }

  /** The messages with a marker in place of forgotten text. A message without forgotten text stays the same object. */
  async withoutForgotten(read: readonly ReadMessage[]): Promise<readonly ReadMessage[]> {
    const said = read.map(({ event }) => event.message);
    const { id, title } = this.#session;
    const { forgotten } = this.#options.stores;
    const printed = await withoutForgotten(said, printedId(id), forgotten);
    const kept = await withoutForgotten(printed, id, forgotten);
    return read.map((one, index) => {
      const { event } = one;
      const message = kept[index] ?? event.message;
      if (message === event.message) return one;
      const text = indexableText(event.message);
      if (title && text.includes(title)) this.#isTitleForgotten = true;
      return { ...one, event: { ...event, message }, forgotten: text };
    });
  }

  /** Returns the appended events, if their positions are known. */
  async append(
    fresh: readonly ReadMessage[],
    size: AppendOptions,
  ): Promise<readonly PositionedEvent[]> {
    const { tally, trial } = this.#options;
    const title = this.#title(fresh) ?? "";
    const events = fresh.map(({ event }) => event);
    const isTitleKept = fresh.every(({ forgotten = "" }) => !forgotten.includes(title));
    const titled = {
      ...this.#session,
      title: isTitleKept ? redacted(title) : undefined,
    };
    const ids = new Set(fresh.flatMap(({ parts }) => parts.flatMap(idsOf)));
    for (const id of ids) trial?.add(id);
    this.#sent = [...this.#sent.slice(-UNDER_WAY_MAX), ids];
    try {
      const stored = trial ? [] : await this.#commit(titled, events, [...ids], size);
      for (const { redacted } of fresh) for (const kind of redacted) tally.redacted(kind);
      return stored;
    } catch (error) {
      this.isDisputed = true;
      this.#snapshot = undefined;
      this.#sent = this.#sent.filter((sent) => sent !== ids);
      throw error;
    }
  }

  async #commit(
    titled: TitledSession,
    events: readonly MessageAdded[],
    ids: readonly string[],
    { onSent, ...size }: AppendOptions,
  ): Promise<readonly PositionedEvent[]> {
    const { stores, group, settingsOf, timeMs } = this.#options;
    const { id } = titled;
    const known = this.#snapshot;
    this.#snapshot = undefined;
    const lastSeq = known?.seq ?? (await stores.events.lastSeq(id));
    if (!known) this.#isOwn = lastSeq === 0;
    const isTimeless = ![titled.startedAt, ...events.map(({ origin }) => origin?.time)].some(
      timeOf,
    );
    const startMs = timeOf(titled.startedAt) ?? timeOf(events[0]?.origin?.time) ?? timeMs;
    const created = () => ({
      type: "session_created" as const,
      session_id: id,
      settings: isTimeless ? withoutTime(settingsOf(titled)) : settingsOf(titled),
    });
    const opening: NewEvent[] = lastSeq > 0 ? [] : [stamped(created(), startMs)];
    const before = known ?? (await snapshotOf(id, lastSeq, opening, stores));
    const added = timed(events, Math.max(startMs, lastSeq > 0 ? before.updated_at_ms : startMs));
    const appended = added.map(({ event }) => ({
      message: event.message,
      isCompaction: event.imported?.boundary === "compaction",
      saidMs: timeOf(event.origin?.time) ?? 0,
    }));
    const snapshot = extendSnapshot(before, appended satisfies readonly AppendedMessage[]);
    const batch = { sessionId: id, lastSeq, events: [...opening, ...added], snapshot, ids };
    const committing = group.commit(batch, size);
    this.#snapshot = snapshot;
    onSent();
    const first = await committing;
    return first === undefined || !this.#isOwn ? [] : positioned(batch, first, before.turns);
  }
}

/** The events of a batch as the log has them. `turns` had begun before them. */
function positioned(
  { sessionId, lastSeq, events }: ImportBatch,
  first: number,
  turns: number,
): readonly PositionedEvent[] {
  let begun = turns;
  return events.map((added, index) => {
    const { event } = added;
    if (event.type === "message_added" && startsTurn(event.message)) begun += 1;
    const stored = { ...added, seq: lastSeq + 1 + index, schema_version: 1 as const };
    return { position: first + index, sessionId, stored, turns: begun };
  });
}

/** A session of which no time is known began before all others. Its messages have the time of the file. */
function withoutTime(settings: SessionSettings): SessionSettings {
  const { source } = settings;
  return source ? { ...settings, source: { ...source, started_at: NO_TIME } } : settings;
}

const NO_TIME = new Date(0).toISOString();

/** Events with the time at which each was said. One without a time has that of the one before. */
function timed(events: readonly MessageAdded[], startMs: number) {
  let lastMs = startMs;
  return events.map((event) => {
    lastMs = timeOf(event.origin?.time) ?? lastMs;
    return stamped(event, lastMs);
  });
}

export function stamped<Event extends DurableEvent>(event: Event, timestamp_ms: number) {
  return { event_id: newId(), timestamp_ms, event };
}

function timeOf(time: string | undefined): number | undefined {
  const ms = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}

/** The session as its log has it, and after `opening` if it is new. */
export async function snapshotOf(
  id: string,
  lastSeq: number,
  opening: readonly NewEvent[],
  { events, sessions }: ImportStores,
): Promise<SessionSnapshot> {
  const saved = lastSeq > 0 ? await sessions.load(id) : undefined;
  if (saved?.seq === lastSeq) return saved;
  const read = (after: number, to?: number) => events.read(id, after, to);
  const state = saved ? await SessionState.restore(saved, read) : new SessionState(id);
  await state.catchUp(read);
  for (const event of opening) {
    state.apply({ ...event, seq: state.seq + 1, schema_version: 1 });
  }
  return state.snapshot();
}

/** A message that is one event at the end of the log. */
interface AppendedMessage {
  readonly message: Message;
  /** It is the summary of a compaction of the agent. */
  readonly isCompaction: boolean;
  readonly saidMs: number;
}

/**
 * The snapshot of a session after more messages. Other than `SessionState`, it needs none of the
 * messages before, so that a session of a gigabyte is imported in little memory.
 */
function extendSnapshot(
  before: SessionSnapshot,
  added: readonly AppendedMessage[],
): SessionSnapshot {
  if (added.length === 0) return before;
  const from = before.seq + 1;
  const to = before.seq + added.length;
  const last = before.history.at(-1);
  const goesOn = last !== undefined && last.to === before.seq;
  const run = goesOn
    ? { ...last, to }
    : { from, to, ordinal: before.message_count, turns_before: before.turns };
  const texts = added.flatMap(({ message }) => textOfModel(message));
  const weight = added.reduce((sum, { message }) => sum + messageWeight(message), 0);
  const compactions = added.filter(({ isCompaction }) => isCompaction).length;
  return {
    ...before,
    // Without a number, the process that opens the session counts them.
    ...(before.recorded_compactions === undefined
      ? {}
      : { recorded_compactions: before.recorded_compactions + compactions }),
    seq: to,
    updated_at_ms: Math.max(before.updated_at_ms, ...added.map((one) => one.saidMs)),
    turns: before.turns + added.filter(({ message }) => startsTurn(message)).length,
    message_count: before.message_count + added.length,
    last_assistant_text: texts.at(-1) ?? before.last_assistant_text,
    history_tokens: before.history_tokens + tokensOfWeight(weight, added.length),
    history: [...(goesOn ? before.history.slice(0, -1) : before.history), run],
  };
}

function textOfModel(message: Message): readonly string[] {
  const isModels = message.role === "assistant" || message.role === "block_assistant";
  const text = isModels ? indexableText(message) : "";
  return text === "" ? [] : [text];
}
