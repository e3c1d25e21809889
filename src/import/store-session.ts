import { setImmediate as nextTurn } from "node:timers/promises";
import { SessionError } from "../core/errors.ts";
import type { DurableEvent, NewEvent, SessionSettings } from "../core/event.ts";
import type { PositionedEvent } from "../core/event-store.ts";
import type { ForgottenTexts } from "../core/forgotten-texts.ts";
import { newId } from "../core/ids.ts";
import type { ImportBatch, ImportStore } from "../core/import-store.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import { indexableText, isSummary } from "../core/message.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { SessionState } from "../core/session-state.ts";
import type { Stores } from "../core/stores.ts";
import { startsTurn } from "../core/turn.ts";
import { redactMessage } from "../secrets/redact-message.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import type { ImportedMessage, ImportedSession } from "../transcripts/imported.ts";
import { titleOf } from "../transcripts/json-fields.ts";
import { type AppendedMessage, extendSnapshot } from "./extend-snapshot.ts";
import type { BatchOptions, GroupCommit } from "./group-commit.ts";
import type { ImportTally } from "./import-report.ts";
import { groupParts, isPartOf, joinParts, type Parts } from "./join-parts.ts";
import { MemoryToolFilter } from "./memory-tools.ts";
import { withoutForgotten } from "./without-forgotten.ts";

/** Where imported sessions are stored. */
export interface ImportStores extends Pick<Stores, "events" | "sessions"> {
  readonly imports: ImportStore;
  /** Without it, an import can bring back what was forgotten. */
  readonly forgotten?: ForgottenTexts;
  /** Without it, the conversations are only in the log. */
  readonly memory?: MemoryStore;
}

/** A session whose title has no credential, and nothing that was forgotten. */
export type TitledSession = Omit<ImportedSession, "title"> & { readonly title: string | undefined };

export interface StoringOptions {
  readonly stores: ImportStores;
  readonly tally: ImportTally;
  /** What a session begins with, if it is new. */
  settingsOf(session: TitledSession): SessionSettings;
  /** Set for a trial, which stores nothing: the ids that it would have stored. */
  readonly trial?: Set<string>;
  /** What is stored with the next sessions. */
  readonly group: GroupCommit;
  /** The time of messages without one. */
  readonly timeMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called with the messages that were read, old and new. */
  readonly onRead: (messages: readonly Parts[]) => void;
  /** Called after each batch with the number of its messages, and with its events if their positions are known. */
  readonly onStored?: (messages: number, events: readonly PositionedEvent[]) => Promise<void>;
}

const BATCH_PARTS = 2000;
const BATCH_CHARACTERS = 1_000_000;

/** Two imports of the same file may run at the same time. */
const TRIES = 5;

/** So many batches may be on their way to a store in another thread, or behind a network. */
const UNDER_WAY_MAX = 3;

/**
 * Stores the messages of a session that are not stored yet, batch by batch, and the last ones with the group. Returns
 * the number of its messages, old and new.
 *
 *     read 1 │ read 2   │ read 3   │ …
 *            │ commit 1 │ commit 2 │      in the thread of the store, if it has one
 *
 * A batch is sent while the ones before it are being stored. It says after which event it comes, so when one of them
 * is refused, it is refused too. Each then waits for the one before it and tries again.
 */
export async function storeSession(
  session: ImportedSession,
  options: StoringOptions,
): Promise<number> {
  const { group } = options;
  await group.goTo(options.stores.imports);
  await remember(session, options);
  const filter = new MemoryToolFilter();
  const log = new SessionLog(session, options);
  let messages = 0;
  let batch: ImportedMessage[] = [];
  let characters = 0;
  let last: UnderWay = { sent: Promise.resolve(), stored: Promise.resolve() };
  const underWay = new Set<Promise<void>>();
  const store = async (onWaiting?: () => void) => {
    options.signal?.throwIfAborted();
    const groups = groupParts(batch);
    const size = { characters, onWaiting };
    batch = [];
    characters = 0;
    options.onRead(groups);
    const read = groups.map((parts) => readMessage(parts, filter));
    while (underWay.size >= UNDER_WAY_MAX) await Promise.race(underWay);
    messages += groups.length;
    const sent = Promise.withResolvers<void>();
    const stored = storeBatch(read, log, filter, options, size, {
      before: last,
      onSent: sent.resolve,
    });
    underWay.add(stored);
    // The next batch, or the end of the session, gets the error.
    stored.finally(() => underWay.delete(stored)).catch(() => {});
    last = { sent: Promise.race([sent.promise, stored]), stored };
    last.sent.catch(() => {});
    // A store in this thread is done by then.
    await nextTurn();
  };
  try {
    for await (const part of session.messages) {
      const isFull = batch.length >= BATCH_PARTS || characters >= BATCH_CHARACTERS;
      const before = batch.at(-1);
      // The parts of a message stay together.
      if (isFull && before && !isPartOf(part, before)) await store();
      batch.push(part);
      characters += charactersOf(part.message);
    }
    const waiting = Promise.withResolvers<void>();
    if (batch.length > 0) await store(waiting.resolve);
    await Promise.race([waiting.promise, last.stored]);
  } finally {
    group.follow(last.stored);
  }
  return messages;
}

/** A session of a subagent that an earlier import left out of memory comes into it when this one asks for it. */
async function remember(session: ImportedSession, options: StoringOptions): Promise<void> {
  const { stores, settingsOf, trial } = options;
  const { id } = session;
  if (trial || session.parent?.relation !== "subagent") return;
  if (!settingsOf({ ...session, title: undefined }).memory) return;
  for (let tries = 1; ; tries += 1) {
    const lastSeq = await stores.events.lastSeq(id);
    const before = lastSeq > 0 ? await snapshotOf(id, lastSeq, [], stores) : undefined;
    if (!before || before.settings.memory) return;
    const event: DurableEvent = { type: "session_remembered", session_id: id };
    const snapshot = {
      ...before,
      seq: lastSeq + 1,
      settings: { ...before.settings, memory: true },
    };
    const events = [stamped(event, before.updated_at_ms)];
    try {
      await stores.imports.commit([{ sessionId: id, lastSeq, events, snapshot, ids: [] }]);
      return;
    } catch (error) {
      if (!isConflict(error) || tries >= TRIES) throw error;
    }
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof SessionError && error.code === "SESSION_CONFLICT";
}

/** A batch on its way to the store. */
interface UnderWay {
  /** Resolves when the next one may be sent: this one was, or is stored. */
  readonly sent: Promise<void>;
  readonly stored: Promise<void>;
}

/** Stores what is not stored yet of some messages, behind the batch before them. */
async function storeBatch(
  read: readonly ReadMessage[],
  log: SessionLog,
  filter: MemoryToolFilter,
  { stores, tally, trial, group, onStored }: StoringOptions,
  size: BatchOptions,
  { before, onSent }: { readonly before: UnderWay; readonly onSent: () => void },
): Promise<void> {
  const ids = read.flatMap(({ parts }) => parts.flatMap(idsOf));
  log.note(read);
  for (let tries = 1; ; ) {
    const { isDisputed } = log;
    if (isDisputed) await before.stored;
    const [known, kept] = await Promise.all([
      stores.imports.known(ids),
      log.withoutForgotten(read),
    ]);
    await before.sent;
    if (log.isDisputed !== isDisputed) continue;
    const isThere = (id: string) => trial?.has(id) || group.hasMessage(id) || log.hasJust(id);
    const seen = new Set([...known, ...ids.filter(isThere)]);
    const unseen = kept.flatMap((message) => unseenOf(message, seen, filter));
    // A part of a message may be what was forgotten.
    const whole = new Set(kept);
    const isCut = unseen.some((message) => !whole.has(message));
    const fresh = isCut ? await log.withoutForgotten(unseen) : unseen;
    let stored: readonly PositionedEvent[] = [];
    try {
      const onWaiting = tries === 1 ? size.onWaiting : undefined;
      if (fresh.length > 0) stored = await log.append(fresh, { ...size, onWaiting, onSent });
    } catch (error) {
      if (!isConflict(error) || tries === TRIES) throw error;
      tries += 1;
      continue;
    }
    tally.added += fresh.length;
    tally.alreadyThere += read.length - fresh.length;
    await onStored?.(fresh.length, stored);
    return;
  }
}

/** A message, and the event that it becomes. */
interface ReadMessage {
  readonly parts: Parts;
  readonly event: MessageAdded;
  /** The session's title may repeat what was forgotten. */
  readonly forgotten?: string;
  /** The kinds of its credentials, which were replaced. */
  readonly redacted: readonly string[];
}

function readMessage(parts: Parts, filter: MemoryToolFilter): ReadMessage {
  const redacted: string[] = [];
  return { parts, event: eventOf(parts, filter, (kind) => redacted.push(kind)), redacted };
}

/**
 * The parts of a message that were not seen yet. Now they are. They have the time of the message's first part, as
 * they would if all had come at once.
 */
function unseenOf(
  message: ReadMessage,
  seen: Set<string>,
  filter: MemoryToolFilter,
): readonly ReadMessage[] {
  const { parts } = message;
  const unseen = parts.filter((part) => {
    const isNew = !idsOf(part).some((id) => seen.has(id));
    for (const id of idsOf(part)) seen.add(id);
    return isNew;
  });
  if (unseen.length === parts.length) return [message];
  const [first, ...rest] = unseen;
  return first ? [readMessage([{ ...first, origin: parts[0].origin }, ...rest], filter)] : [];
}

function idsOf({ sourceId, alias }: ImportedMessage): readonly string[] {
  return alias === undefined ? [sourceId] : [sourceId, alias];
}

/** What a person typed, and what a session may be called by. */
function isPrompt({ event: { message, origin, memory } }: ReadMessage): boolean {
  return (
    message.role === "user" && !isSummary(message) && origin?.author === "user" && memory !== false
  );
}

function titleIn({ parts }: ReadMessage): string | undefined {
  return titleOf(indexableText(parts[0].message));
}

interface AppendOptions extends BatchOptions {
  /** Called when the batch was handed to the store. */
  readonly onSent: () => void;
}

/** The log of a session, as this import last wrote it. */
class SessionLog {
  readonly #session: ImportedSession;
  readonly #options: StoringOptions;
  /** Unset before the first batch, and when another program may have written. */
  #snapshot: SessionSnapshot | undefined;
  /** This import began the log, and nobody else has written to it. */
  #isOwn = false;
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

  /** A fork begins with its parent's prompt. It is told from the parent by the first one of its own. */
  #title(fresh: readonly ReadMessage[]): string | undefined {
    const { title } = this.#session;
    const first = this.#firstPrompt;
    if (!first || title !== titleIn(first)) return title;
    if (fresh.some(({ parts }) => parts === first.parts)) return title;
    const own = fresh.find(isPrompt);
    return (own && titleIn(own)) ?? title;
  }

  hasJust(id: string): boolean {
    return this.#sent.some((ids) => ids.has(id));
  }

  /** The messages with a marker in the place of what was forgotten. One that has nothing of it stays the same object. */
  async withoutForgotten(read: readonly ReadMessage[]): Promise<readonly ReadMessage[]> {
    const said = read.map(({ event }) => event.message);
    const kept = await withoutForgotten(said, this.#session.id, this.#options.stores.forgotten);
    return read.map((one, index) => {
      const { event } = one;
      const message = kept[index] ?? event.message;
      if (message === event.message) return one;
      return { ...one, event: { ...event, message }, forgotten: indexableText(event.message) };
    });
  }

  /** Returns what was appended, if its positions are known. */
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
      title: isTitleKept && title ? redactSecrets(title) : undefined,
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
    const startMs = timeOf(titled.startedAt) ?? timeOf(events[0]?.origin?.time) ?? timeMs;
    const created = () => ({
      type: "session_created" as const,
      session_id: id,
      settings: settingsOf(titled),
    });
    const opening: NewEvent[] = lastSeq > 0 ? [] : [stamped(created(), startMs)];
    const before = known ?? (await snapshotOf(id, lastSeq, opening, stores));
    const added = timed(events, Math.max(startMs, lastSeq > 0 ? before.updated_at_ms : startMs));
    const appended = added.map(({ event, timestamp_ms }) => ({
      message: event.message,
      isCompaction: event.imported?.boundary === "compaction",
      timestampMs: timestamp_ms,
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

type MessageAdded = Extract<DurableEvent, { type: "message_added" }>;

function eventOf(
  parts: Parts,
  filter: MemoryToolFilter,
  onRedacted: (kind: string) => void,
): MessageAdded {
  const [{ origin, boundary }] = parts;
  const message = filter.without(joinParts(parts));
  const isForMemory = parts.some(({ memory }) => memory !== false);
  return {
    type: "message_added",
    message: redactMessage(message, onRedacted),
    origin,
    imported: { ids: parts.map(({ sourceId }) => sourceId), ...(boundary ? { boundary } : {}) },
    ...(isForMemory ? {} : { memory: false }),
  };
}

/** Events with the time at which each was said. One without a time has that of the one before. */
function timed(events: readonly MessageAdded[], startMs: number) {
  let lastMs = startMs;
  return events.map((event) => {
    lastMs = timeOf(event.origin?.time) ?? lastMs;
    return stamped(event, lastMs);
  });
}

function stamped<Event extends DurableEvent>(event: Event, timestamp_ms: number) {
  return { event_id: newId(), timestamp_ms, event };
}

function timeOf(time: string | undefined): number | undefined {
  const ms = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}

/** The session as its log has it, and after `opening` if it is new. */
async function snapshotOf(
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

/** About how long the texts of a message are. */
function charactersOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  let sum = 0;
  for (const item of Object.values(value)) sum += charactersOf(item);
  return sum;
}
