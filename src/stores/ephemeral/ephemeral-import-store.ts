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

/** Keeps what was imported in this process only. */
export class EphemeralImportStore implements ImportStore, ImportKeys {
  readonly #events: EventStore;
  readonly #sessions: SessionStore;
  readonly #keys = new Set<string>();
  readonly #files = new Map<string, ImportedFile>();

  constructor(events: EventStore, sessions: SessionStore) {
    this.#events = events;
    this.#sessions = sessions;
  }

  async known(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(ids.filter((id) => this.#keys.has(importKey(id))));
  }

  async commit({ sessionId, lastSeq, events, snapshot, ids }: ImportBatch): Promise<void> {
    if (ids.some((id) => this.#keys.has(importKey(id)))) throw importedMeanwhile();
    await this.#events.append(sessionId, lastSeq, events);
    for (const id of ids) this.#keys.add(importKey(id));
    await this.#sessions.save(snapshot);
  }

  async files(): Promise<ReadonlyMap<string, ImportedFile>> {
    return new Map(this.#files);
  }

  async saveFile(path: string, file: ImportedFile): Promise<void> {
    this.#files.set(path, file);
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

function importedMeanwhile(): SessionError {
  return new SessionError("SESSION_CONFLICT", {
    detail: "A message was imported meanwhile.",
  });
}
