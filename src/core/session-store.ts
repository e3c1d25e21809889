import type { SessionSnapshot } from "./session-snapshot.ts";
import type { LoggedSource, SourceFilter } from "./session-source.ts";

/**
 * Small snapshots of sessions, for listing and resuming, and leases that allow one writer per
 * session.
 *
 * Contract:
 * - A saved snapshot is loaded as it was saved.
 * - An older snapshot never replaces a newer one.
 * - Who has lost the lease under which a snapshot was made does not save it.
 * - Lists come newest first, and filters hold.
 * - A lease excludes every other owner until it is released.
 * - A lost lease stays lost, however many others end.
 * - A lease that is not renewed can be taken by another owner after its time.
 * - A lease that ends further ahead than twice its length is void.
 * - Only its owner renews or releases a lease.
 * - A lease is released with the last snapshot under it, by its owner only, if the store does that in one step.
 * - A lease that ended, or that another owner had meanwhile, is not renewed, if the store renews leases apart.
 * - A lease that is in force is listed with its owner, if the store lists leases.
 * - The owner of a lease learns that another asked it to stop. Who takes the lease next does not.
 * - A deleted session is neither loaded nor listed.
 * - Sessions are found by their source, archived ones too.
 */
export interface SessionStore {
  /**
   * Saves a snapshot. With `held`, nothing happens when that owner has the lease no more: another one may have deleted
   * the session.
   */
  save(snapshot: SessionSnapshot, held?: HeldLease): Promise<void>;
  load(sessionId: string): Promise<SessionSnapshot | undefined>;
  list(query: SessionQuery): Promise<readonly SessionSnapshot[]>;
  delete(sessionId: string): Promise<void>;

  /** Where these sessions came from. Unknown sessions, and those without a source, are left out. */
  sources(sessionIds: readonly string[]): Promise<ReadonlyMap<string, LoggedSource>>;
  /** Ids of all sessions with a source that pass the filter, or with `passing` false of those that do not. */
  withSource(filter: SourceFilter, passing: boolean): Promise<readonly string[]>;

  /** Takes or renews the lease on `key` for `ttlMs`. Returns false when another owner has it. */
  acquire(key: string, owner: LeaseOwner, ttlMs: number): Promise<boolean>;
  /**
   * Renews a lease that `owner` has taken. Returns false when it was released, or when another owner has had it since: a
   * process that was suspended does not get it back. Without it, `acquire` renews.
   */
  renew?(key: string, owner: LeaseOwner, ttlMs: number): Promise<boolean>;
  release(key: string, owner: LeaseOwner): Promise<void>;
  /** Saves a snapshot and releases the lease under which it was made. Without it, `save` and `release` do. */
  saveAndRelease?(snapshot: SessionSnapshot, held: HeldLease): Promise<void>;
  /** Asks the owner of the lease on `key` to stop. Returns false when no lease is in force. */
  askToStop(key: string): Promise<boolean>;
  /** Keys of the owner's leases that it was asked to stop, until it releases them. */
  askedToStop(owner: LeaseOwner): Promise<readonly string[]>;
  /** Up to `limit` leases that are in force, those that end first before the others. */
  leases?(limit: number): Promise<readonly LeaseInForce[]>;
  /** Ids of sessions whose snapshot has changed since it was stored. Without it, none is known to have. */
  damaged?(): Promise<readonly string[]>;

  close(): Promise<void>;
}

export interface SessionQuery {
  readonly limit?: number;
  readonly offset?: number;
  /** Sessions that have all of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly includeArchived?: boolean;
  /** Only archived sessions whose last change was before this time, in milliseconds. */
  readonly archivedBefore?: number;
  /** Sessions whose id begins with this. */
  readonly idPrefix?: string;
  readonly source?: SourceFilter;
}

/** The owner of a lease. A store may take it from a process of this machine that no longer runs. */
export interface LeaseOwner {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
}

/** A lease that excludes others now. */
export interface LeaseInForce {
  readonly key: string;
  readonly host: string;
  readonly pid: number;
  /** Milliseconds until it ends, unless its owner renews it. */
  readonly leftMs: number;
}

/** A lease that its owner has taken, as far as the owner knows. */
export interface HeldLease {
  readonly key: string;
  readonly owner: LeaseOwner;
}

/**
 * Whether a lease excludes others. One that ends more than two lengths ahead was taken by a clock
 * that runs ahead, perhaps by a day, of a process that may be gone. One length is for clocks that
 * differ a little.
 */
export function isInForce(expiresAtMs: number, lengthMs: number, nowMs: number): boolean {
  return expiresAtMs > nowMs && expiresAtMs <= nowMs + 2 * lengthMs;
}
