import { setImmediate as nextTurn } from "node:timers/promises";
import { SessionError } from "../core/errors.ts";
import type { DurableEvent, SessionSettings } from "../core/event.ts";
import type { PositionedEvent } from "../core/event-store.ts";
import { titled } from "../core/session-facts.ts";
import type { ImportedMessage, ImportedSession } from "../transcripts/imported.ts";
import type { BatchOptions } from "./group-commit.ts";
import type { ImportStores, StoringOptions } from "./import-stores.ts";
import {
  charactersOf,
  groupParts,
  idsOf,
  isPartOf,
  MemoryToolFilter,
  type ReadMessage,
  readMessage,
  unseenParts,
} from "./read-message.ts";
import { SessionLog, snapshotOf, stamped, UNDER_WAY_MAX } from "./session-log.ts";

const BATCH_CHARACTERS = 1_000_000;

/** Two imports of the same file may run at the same time. */
const TRIES = 5;

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
  const { group, batchParts } = options;
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
      const isFull = batch.length >= batchParts || characters >= BATCH_CHARACTERS;
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
  await nameAgain(session.id, log, options);
  return messages;
}

/** A session of a subagent that an earlier import left out of memory comes into it when this one asks for it. */
async function remember(session: ImportedSession, options: StoringOptions): Promise<void> {
  const { settingsOf } = options;
  const { id } = session;
  if (session.parent?.relation !== "subagent") return;
  if (!settingsOf({ ...session, title: undefined }).memory) return;
  await changeSettings(id, options, (settings) =>
    settings.memory
      ? undefined
      : [
          { type: "session_remembered", session_id: id },
          { ...settings, memory: true },
        ],
  );
}

/** Programs name a session after its first answers, and people name it again. */
async function nameAgain(id: string, log: SessionLog, options: StoringOptions): Promise<void> {
  const title = log.newTitle;
  if (title === undefined) return;
  const { events, forgotten } = options.stores;
  if ((await forgotten?.has(id, [title]))?.[0]) return;
  await changeSettings(id, options, async (settings) => {
    const { title: before } = settings.source ?? {};
    if (!settings.source || title === before) return undefined;
    // The first prompt may have become another one: then the title is that of the one before.
    if (log.isPrompts(title) && before !== undefined) return undefined;
    if (await hasForgotten(id, events)) return undefined;
    return [{ type: "session_titled", session_id: id, title }, titled(settings, title)];
  });
}

/** Whether anything of a session was forgotten: a title may repeat it. */
async function hasForgotten(id: string, events: ImportStores["events"]): Promise<boolean> {
  for await (const { event } of events.read(id, 0)) {
    if (event.type === "text_forgotten") return true;
  }
  return false;
}

type Change = readonly [DurableEvent, SessionSettings];

/** Appends an event that changes the settings of a session that is there, unless `change` returns none. */
async function changeSettings(
  id: string,
  { stores, trial, group }: StoringOptions,
  change: (settings: SessionSettings) => Change | undefined | Promise<Change | undefined>,
): Promise<void> {
  if (trial) return;
  for (let tries = 1; ; tries += 1) {
    const lastSeq = await stores.events.lastSeq(id);
    const before = lastSeq > 0 ? await snapshotOf(id, lastSeq, [], stores) : undefined;
    const changed = before && (await change(before.settings));
    if (!changed) return;
    if (group.hasSession(id)) {
      await group.settle();
      continue;
    }
    const [event, settings] = changed;
    const snapshot = { ...before, seq: lastSeq + 1, settings };
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

/** Stores the new ones of some messages, after the batch before them. */
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
    const unseen = kept.flatMap((message) => unseenParts(message, seen, filter));
    // The forgotten text may be a part of a message.
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
