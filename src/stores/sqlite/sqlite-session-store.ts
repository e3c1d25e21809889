import type { SessionSnapshot } from "../../core/session-snapshot.ts";
import type { LoggedSource, SourceFilter } from "../../core/session-source.ts";
import type { LeaseOwner, SessionQuery, SessionStore } from "../../core/session-store.ts";
import { listedSnapshot, readSnapshot } from "../history/snapshot-text.ts";
import { storedSource } from "../stored-json.ts";
import type { Database } from "./database.ts";

/** Keeps snapshots and leases in a SQLite file that several processes may have open at once. */
export class SqliteSessionStore implements SessionStore {
  readonly #database: Database;
  readonly #namespace: string;
  readonly #now: () => number;

  /** Closing the store closes the database. */
  constructor(
    database: Database,
    options: { readonly namespace?: string; readonly now?: () => number } = {},
  ) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
    this.#now = options.now ?? Date.now;
  }

  save(snapshot: SessionSnapshot): Promise<void> {
    return this.#database.run("saveSnapshot", this.#namespace, snapshot);
  }

  async load(sessionId: string): Promise<SessionSnapshot | undefined> {
    const text = await this.#database.run("loadSnapshot", this.#namespace, sessionId);
    return text === undefined ? undefined : readSnapshot(text);
  }

  async list(query: SessionQuery): Promise<readonly SessionSnapshot[]> {
    const texts = await this.#database.run("listSnapshots", this.#namespace, query);
    return texts.map(listedSnapshot);
  }

  delete(sessionId: string): Promise<void> {
    return this.#database.run("deleteSnapshot", this.#namespace, sessionId);
  }

  async sources(sessionIds: readonly string[]): Promise<ReadonlyMap<string, LoggedSource>> {
    if (sessionIds.length === 0) return new Map();
    const rows = await this.#database.run("sessionSources", this.#namespace, sessionIds);
    return new Map(rows.map(({ id, source }) => [id, storedSource(source)]));
  }

  withSource(filter: SourceFilter, passing: boolean): Promise<readonly string[]> {
    return this.#database.run("sessionsWithSource", this.#namespace, filter, passing);
  }

  acquire(key: string, owner: LeaseOwner, ttlMs: number): Promise<boolean> {
    return this.#database.run("acquireLease", this.#namespace, key, owner, this.#now(), ttlMs);
  }

  release(key: string, owner: LeaseOwner): Promise<void> {
    return this.#database.run("releaseLease", this.#namespace, key, owner.id);
  }

  askToStop(key: string): Promise<boolean> {
    return this.#database.run("stopLease", this.#namespace, key, this.#now());
  }

  askedToStop(owner: LeaseOwner): Promise<readonly string[]> {
    return this.#database.run("stoppedLeases", this.#namespace, owner.id);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
