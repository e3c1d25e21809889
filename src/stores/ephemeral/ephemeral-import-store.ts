import { SessionError } from "../../core/errors.ts";
import type { EventStore } from "../../core/event-store.ts";
import {
  type ImportBatch,
  type ImportedFile,
  type ImportKeys,
  type ImportStore,
  importKey,
} from "../../core/import-store.ts";
import type { SessionStore } from "../../core/session-store.ts";
import { WorkQueue } from "../../core/work-queue.ts";

/** Keeps what was imported in this process only. */
export class EphemeralImportStore implements ImportStore, ImportKeys {
  readonly #events: EventStore;
  readonly #sessions: SessionStore;
  readonly #keys = new Set<string>();
  readonly #files = new Map<string, ImportedFile>();
  readonly #commits = new WorkQueue();

  constructor(events: EventStore, sessions: SessionStore) {
    this.#events = events;
    this.#sessions = sessions;
  }

  async known(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(ids.filter((id) => this.#keys.has(importKey(id))));
  }

  commit(
    batches: readonly ImportBatch[],
    files: ReadonlyMap<string, ImportedFile> = new Map(),
  ): Promise<undefined> {
    return this.#commits.run(() => this.#commit(batches, files));
  }

  async #commit(
    batches: readonly ImportBatch[],
    files: ReadonlyMap<string, ImportedFile>,
  ): Promise<undefined> {
    for (const { sessionId, lastSeq, ids } of batches) {
      if (ids.some((id) => this.#keys.has(importKey(id)))) throw conflict("A message");
      if ((await this.#events.lastSeq(sessionId)) !== lastSeq) throw conflict("The session");
    }
    for (const { sessionId, lastSeq, events, snapshot, ids } of batches) {
      await this.#events.append(sessionId, lastSeq, events);
      for (const id of ids) this.#keys.add(importKey(id));
      await this.#sessions.save(snapshot);
    }
    for (const [path, file] of files) this.#files.set(path, file);
  }

  async files(): Promise<ReadonlyMap<string, ImportedFile>> {
    return new Map(this.#files);
  }

  async keys(after: string, limit: number): Promise<readonly string[]> {
    return [...this.#keys]
      .filter((key) => key > after)
      .sort()
      .slice(0, limit);
  }

  async restore(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#keys.add(key);
  }
}

function conflict(what: string): SessionError {
  return new SessionError("SESSION_CONFLICT", { detail: `${what} was imported meanwhile.` });
}
