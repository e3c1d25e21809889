import { SessionError } from "../../core/errors.ts";
import type { EventStore } from "../../core/event-store.ts";
import type { ImportBatch, ImportedFile, ImportStore } from "../../core/import-store.ts";
import type { SessionStore } from "../../core/session-store.ts";

/** Keeps what was imported in this process only. */
export class EphemeralImportStore implements ImportStore {
  readonly #events: EventStore;
  readonly #sessions: SessionStore;
  readonly #ids = new Set<string>();
  readonly #files = new Map<string, ImportedFile>();

  constructor(events: EventStore, sessions: SessionStore) {
    this.#events = events;
    this.#sessions = sessions;
  }

  async known(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(ids.filter((id) => this.#ids.has(id)));
  }

  async commit({ sessionId, lastSeq, events, snapshot, ids }: ImportBatch): Promise<void> {
    if (ids.some((id) => this.#ids.has(id))) throw importedMeanwhile();
    await this.#events.append(sessionId, lastSeq, events);
    for (const id of ids) this.#ids.add(id);
    await this.#sessions.save(snapshot);
  }

  async files(): Promise<ReadonlyMap<string, ImportedFile>> {
    return new Map(this.#files);
  }

  async saveFile(path: string, file: ImportedFile): Promise<void> {
    this.#files.set(path, file);
  }
}

function importedMeanwhile(): SessionError {
  return new SessionError("SESSION_CONFLICT", {
    detail: "A message was imported meanwhile.",
  });
}
