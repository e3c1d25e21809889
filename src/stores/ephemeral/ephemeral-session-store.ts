import { callback, group, requireOptions } from "../../core/options.ts";
import type { SessionSnapshot } from "../../core/session-snapshot.ts";
import { type LoggedSource, passesSource, type SourceFilter } from "../../core/session-source.ts";
import {
  type HeldLease,
  isInForce,
  type LeaseInForce,
  type LeaseOwner,
  type SessionQuery,
  type SessionStore,
} from "../../core/session-store.ts";
import { checkMethods } from "../../core/store-arguments.ts";

/** Keeps snapshots and leases in this process only. */
export class EphemeralSessionStore implements SessionStore {
  static {
    checkMethods("sessions", EphemeralSessionStore);
  }
  readonly #snapshots = new Map<string, SessionSnapshot>();
  readonly #leases = new Map<string, Lease>();
  readonly #now: () => number;

  constructor(options: { readonly now?: () => number } = {}) {
    requireOptions("EphemeralSessionStore", group({ now: callback }), options);
    this.#now = options.now ?? Date.now;
  }

  async save(snapshot: SessionSnapshot, held?: HeldLease): Promise<void> {
    if (held && this.#leases.get(held.key)?.owner.id !== held.owner.id) return;
    const saved = this.#snapshots.get(snapshot.id);
    if (!saved || saved.seq <= snapshot.seq) this.#snapshots.set(snapshot.id, snapshot);
  }

  async load(sessionId: string): Promise<SessionSnapshot | undefined> {
    return this.#snapshots.get(sessionId);
  }

  async list(query: SessionQuery): Promise<readonly SessionSnapshot[]> {
    const offset = query.offset ?? 0;
    return [...this.#snapshots.values()]
      .filter((snapshot) => passes(snapshot, query))
      .sort(newestFirst)
      .slice(offset, query.limit === undefined ? undefined : offset + query.limit);
  }

  async delete(sessionId: string): Promise<void> {
    this.#snapshots.delete(sessionId);
  }

  async sources(sessionIds: readonly string[]): Promise<ReadonlyMap<string, LoggedSource>> {
    return new Map(
      sessionIds.flatMap((id) => {
        const source = this.#snapshots.get(id)?.settings.source;
        return source ? [[id, source] as const] : [];
      }),
    );
  }

  async withSource(filter: SourceFilter, passing: boolean): Promise<readonly string[]> {
    return [...this.#snapshots.values()].flatMap(({ id, settings: { source } }) =>
      source && passesSource(source, filter) === passing ? [id] : [],
    );
  }

  async acquire(key: string, owner: LeaseOwner, ttlMs: number): Promise<boolean> {
    const held = this.#inForce(key);
    if (held && held.owner.id !== owner.id) return false;
    const stop = held?.stop ?? false;
    const expiresAtMs = this.#now() + ttlMs;
    this.#leases.set(key, { owner, expiresAtMs, lengthMs: ttlMs, stop });
    return true;
  }

  async renew(key: string, owner: LeaseOwner, ttlMs: number): Promise<boolean> {
    if (this.#leases.get(key)?.owner.id !== owner.id) return false;
    return await this.acquire(key, owner, ttlMs);
  }

  async release(key: string, owner: LeaseOwner): Promise<void> {
    if (this.#leases.get(key)?.owner.id === owner.id) this.#leases.delete(key);
  }

  async askToStop(key: string): Promise<boolean> {
    const held = this.#inForce(key);
    if (held) this.#leases.set(key, { ...held, stop: true });
    return held !== undefined;
  }

  async askedToStop(owner: LeaseOwner): Promise<readonly string[]> {
    return [...this.#leases].flatMap(([key, lease]) =>
      lease.stop && lease.owner.id === owner.id ? [key] : [],
    );
  }

  async leases(limit: number): Promise<readonly LeaseInForce[]> {
    return [...this.#leases.keys()]
      .flatMap((key) => {
        const held = this.#inForce(key);
        if (!held) return [];
        const { host, pid } = held.owner;
        return [{ key, host, pid, leftMs: held.expiresAtMs - this.#now() }];
      })
      .sort((one, other) => one.leftMs - other.leftMs)
      .slice(0, limit);
  }

  async close(): Promise<void> {}

  #inForce(key: string): Lease | undefined {
    const held = this.#leases.get(key);
    return held && isInForce(held.expiresAtMs, held.lengthMs, this.#now()) ? held : undefined;
  }
}

interface Lease {
  readonly owner: LeaseOwner;
  readonly expiresAtMs: number;
  readonly lengthMs: number;
  /** Its owner was asked to stop. */
  readonly stop: boolean;
}

function passes(snapshot: SessionSnapshot, query: SessionQuery): boolean {
  const { labels, source } = snapshot.settings;
  return (
    (!query.source || passesSource(source, query.source)) &&
    (query.archivedBefore === undefined
      ? query.includeArchived || !snapshot.archived
      : snapshot.archived && snapshot.updated_at_ms < query.archivedBefore) &&
    snapshot.id.startsWith(query.idPrefix ?? "") &&
    Object.entries(query.labels ?? {}).every(([key, value]) => labels[key] === value)
  );
}

function newestFirst(one: SessionSnapshot, other: SessionSnapshot): number {
  return other.updated_at_ms - one.updated_at_ms || (other.id > one.id ? 1 : -1);
}
