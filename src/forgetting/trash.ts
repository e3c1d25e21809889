import { SessionError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import { isUnreadable } from "../core/event-shape.ts";
import { type EventStore, isDeleted } from "../core/event-store.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import type { SessionQuery } from "../core/session-store.ts";
import type { AgeLimits, TrashStores } from "../core/stores.ts";
import { textsOf, withoutCopies } from "./forget-event.ts";
import type { ForgottenPhrases } from "./forgotten-phrases.ts";

const DAY_MS = 86_400_000;
const KEEP_DAYS = 7;

/**
 * Deleted sessions that can still be restored: their logs, and nothing that was made from these.
 *
 * A snapshot in the trash has the time of the deletion in `updated_at_ms`.
 */
export class Trash {
  readonly #stores: TrashStores;
  readonly #keepMs: number;

  constructor(stores: TrashStores, keepDays = KEEP_DAYS) {
    this.#stores = stores;
    this.#keepMs = keepDays * DAY_MS;
  }

  /** Whether deleted sessions are kept at all. */
  get keeps(): boolean {
    return this.#keepMs > 0;
  }

  /** The age limits as of now. */
  get limits(): AgeLimits {
    return { deletedMs: Date.now() - this.#keepMs };
  }

  /** Copies a session into the trash. Doing it again changes nothing. */
  async put(snapshot: SessionSnapshot, log: EventStore): Promise<void> {
    const { events, sessions } = this.#stores;
    const { id } = snapshot;
    // A process was killed while it deleted or restored the session.
    if ((await events.lastSeq(id)) > 0) await events.delete(id);
    // The snapshot comes first and goes last: no log is here that nobody would find, and delete for good.
    await sessions.save({ ...snapshot, updated_at_ms: Date.now() });
    await events.append(id, 0, await Array.fromAsync(log.read(id, 0)));
  }

  /**
   * What brings a session back: its snapshot, and the events that its log lacks. The caller then removes it from the
   * trash. It is in both places when a process was killed before the deletion, or after this.
   *
   * @throws SessionError `SESSION_NOT_FOUND` when it is not in the trash
   */
  async copyOf(
    sessionId: string,
    log: EventStore,
  ): Promise<{ readonly snapshot: SessionSnapshot; readonly lacks: readonly StoredEvent[] }> {
    const { events, sessions } = this.#stores;
    const snapshot = await sessions.load(sessionId);
    if (!snapshot || this.#isOld(snapshot)) throw notInTrash(sessionId);
    const isThere = (await log.lastSeq(sessionId)) > 0;
    if (isThere && (await isDeleted(sessionId, log))) throw new SessionError("SESSION_BUSY");
    return { snapshot, lacks: isThere ? [] : await Array.fromAsync(events.read(sessionId, 0)) };
  }

  /** The sessions that can be restored, the last deleted first. */
  async list(query: SessionQuery, log: EventStore): Promise<readonly SessionSnapshot[]> {
    const found = await this.#stores.sessions.list({ ...query, includeArchived: true });
    const kept: SessionSnapshot[] = [];
    for (const snapshot of found.filter((each) => !this.#isOld(each))) {
      if (await isDeleted(snapshot.id, log)) kept.push(snapshot);
    }
    return kept;
  }

  /** Deletes a session for good. Returns its snapshot if it was there. */
  async remove(sessionId: string): Promise<SessionSnapshot | undefined> {
    const { events, sessions } = this.#stores;
    const snapshot = await sessions.load(sessionId);
    // The snapshot goes last: until then, removing it again does the rest.
    await events.delete(sessionId);
    await sessions.delete(sessionId);
    return snapshot;
  }

  /** Deletes each session that says one of the phrases for good. One that cannot be read stays, and is named. */
  async removeSaying(
    phrases: ForgottenPhrases,
  ): Promise<{ readonly removed: number; readonly unreadable: readonly string[] }> {
    let removed = 0;
    const unreadable: string[] = [];
    for (const { id } of await this.#stores.sessions.list({ includeArchived: true })) {
      try {
        if (!(await this.#says(id, phrases))) continue;
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        unreadable.push(id);
        continue;
      }
      await this.remove(id);
      removed += 1;
    }
    return { removed, unreadable };
  }

  async #says(sessionId: string, phrases: ForgottenPhrases): Promise<boolean> {
    for await (const { event } of this.#stores.events.read(sessionId, 0)) {
      const isSaid = textsOf(event).some((text) => phrases.removeFrom(text, "part") !== text);
      if (isSaid || withoutCopies(event, phrases) !== event) return true;
    }
    return false;
  }

  /** Deletes sessions that have been in the trash for too long. */
  async deleteOld(): Promise<void> {
    for (const snapshot of await this.#stores.sessions.list({ includeArchived: true })) {
      if (this.#isOld(snapshot)) await this.remove(snapshot.id);
    }
  }

  #isOld({ updated_at_ms }: SessionSnapshot): boolean {
    return updated_at_ms <= (this.limits.deletedMs ?? 0);
  }
}

export function notInTrash(sessionId: string): SessionError {
  return new SessionError("SESSION_NOT_FOUND", {
    message: `No deleted session has the id "${sessionId}".`,
    hint: "`rkat sessions list --deleted` shows the sessions that you can restore.",
  });
}
